"""What the canary of one flow is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ...domain.canary import Message
from ...domain.verdicts import Flow
from .encoding import Encoding, Json

__all__ = ["CanarySettings", "Headers", "no_headers"]

Headers = Callable[[Message], list[tuple[str, str | bytes | None]]]
"""Gives the headers of a probe."""


def no_headers(_message: Message) -> list[tuple[str, str | bytes | None]]:
    """Return no headers: a probe in service has none."""
    return []


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """What the canary of one flow is told."""

    flow: Flow
    """The flow that is watched."""

    topic: str
    """Canary topic at the source."""

    remote_topic: str
    """Its name at the target."""

    interval: timedelta = timedelta(seconds=1)
    """How often every partition gets a probe."""

    deadline: timedelta = timedelta(seconds=30)
    """Longest time to the arrival that is not late."""

    warmup: timedelta = timedelta(minutes=10, seconds=30)
    """How long a new partition may go without arrivals."""

    create: bool = True
    """Whether the topic may be created, at the source."""

    partitions: int | None = None
    """Partitions to cover; `None` for all."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where they are configured."""

    sized_bytes: int | None = None
    """Size of the large probes' value; `None` for none."""

    sized_interval: timedelta = timedelta(hours=1)
    """How often a large one is sent."""

    sized_partition: int = 0
    """The partition that gets them."""

    max_request_bytes: int | None = None
    """The mirror producer's ``max.request.size``, where it is known."""

    encoding: Encoding = field(default_factory=Json)
    """How probes are written."""

    headers: Headers = no_headers
    """Headers of a probe: how a test marks those that it wants dropped."""
