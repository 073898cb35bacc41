"""What was told: all that must outlive the agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..verdicts import Health

__all__ = ["Books", "Told"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What people believe of one flow."""

    health: Health = Health.OK
    """As last told. Of a flow nobody was told of, people think well."""

    at: datetime | None = None
    """When it was last told, `None` for never."""

    bad_since: datetime | None = None
    """When it began not to be well, `None` if it is told to be."""

    checks: Mapping[str, Health] = field(default_factory=dict)
    """Checks that were told to be bad."""

    withheld: Health | None = None
    """What is due and found no room."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Books:
    """What people believe, and how often they were told."""

    flows: Mapping[str, Told] = field(default_factory=dict)
    """By name of the flow."""

    times: tuple[datetime, ...] = ()
    """When the notices of the last hour were made."""

    untold: int = 0
    """Changes that found no room and went by, since the last notice."""
