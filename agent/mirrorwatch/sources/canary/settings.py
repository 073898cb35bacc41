"""Settings of one flow's canary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ...domain.canary.model import WITHIN, ProbeMessage
from ...domain.report import Flow
from .encoding import Encoding, Json

__all__ = ["CanarySettings", "Headers", "SizedProbes", "no_headers"]


Headers = Callable[[ProbeMessage], list[tuple[str, str | bytes | None]]]
"""Gives the headers of a probe."""


def no_headers(_message: ProbeMessage) -> list[tuple[str, str | bytes | None]]:
    """Return no headers: a probe in service has none."""
    return []


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedProbes:
    """Large probes, which one partition gets."""

    bytes: int
    """Size of their value."""

    interval: timedelta
    """How often one is sent."""


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """Settings of the canary of one flow. Defaults are the configuration's."""

    flow: Flow
    """The flow that is watched."""

    topic: str
    """Canary topic at the source."""

    remote_topic: str
    """Its name at the target."""

    interval: timedelta
    """How often every partition gets a probe."""

    deadline: timedelta
    """Longest time to the arrival that is not late."""

    warmup: timedelta
    """How long a new partition may go without arrivals."""

    create: bool
    """Whether the topic may be created, at the source."""

    within: timedelta = WITHIN
    """Bound of the service level of probes."""

    partitions: int | None = None
    """Partitions to cover; `None` for all."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where they are configured."""

    sized: SizedProbes | None = None
    """Large probes beside the small ones; `None` for none."""

    max_request_bytes: int | None = None
    """The mirror producer's ``max.request.size``, where it is known."""

    encoding: Encoding = field(default_factory=Json)
    """How probes are written."""

    keeps_partitions: bool = True
    """Whether the mirror keeps the partition of a record. If not, each probe
    gets a key by which Kafka's producers choose that partition."""

    unflushed: timedelta = timedelta()
    """How long after a commit of the mirror records that it covers may still
    be sent."""

    creates_topic: bool = True
    """Whether the mirror creates the topic at the target."""

    headers: Headers = no_headers
    """Headers of a probe: how a test marks those that it wants dropped."""
