"""One thing that is not yet as the configuration says."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from ..config.durations import format_duration

__all__ = ["NEW_RETENTION", "Step", "change_retention", "tell_retention"]

NEW_RETENTION = timedelta(days=30)
"""How long points are kept where nothing was configured and nothing exists:
nobody looks at the ticks of last month one by one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to be done."""

    says: str
    """What it does, as in "make bucket 'a', kept for 30d"."""

    do: Callable[[], object]
    """Does it."""

    deletes: bool = False
    """Whether points would be lost by it."""


def change_retention(
    what: str,
    has: timedelta,
    wants: timedelta | None,
    do: Callable[[], object],
) -> list[Step]:
    """Return what changes how long something existing is kept.

    Parameters
    ----------
    what
        What it is called.
    has
        How long it is kept; zero for ever.
    wants
        How long it should be; `None` if nobody has said.
    do
        Changes it.
    """
    if wants is None or wants == has:
        return []
    deletes = not has or wants < has
    return [
        Step(
            f"keep {what} for {format_duration(wants)}, "
            f"no longer {tell_retention(has)}",
            do,
            deletes,
        )
    ]


def tell_retention(retention: timedelta) -> str:
    """Say how long something is kept."""
    return f"for {format_duration(retention)}" if retention else "for ever"
