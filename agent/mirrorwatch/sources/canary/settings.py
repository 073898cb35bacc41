"""Settings of one flow's canary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ...domain.canary.model import WITHIN, ProbeMessage
from ...domain.report import Flow
from .encoding import Encoding, Json

__all__ = ["CanarySettings", "Headers", "SizedProbes", "no_headers"]


Headers = Callable[[ProbeMessage], list[tuple[str, str | bytes | None]]]


def no_headers(_message: ProbeMessage) -> list[tuple[str, str | bytes | None]]:
    """Return no headers: a probe in service has none."""
    return []


@dataclass(frozen=True, kw_only=True, slots=True)
class SizedProbes:
    """Large probes, which one partition gets."""

    bytes: int
    interval: timedelta


@dataclass(frozen=True, kw_only=True)
class CanarySettings:
    """Settings of the canary of one flow. Defaults are the configuration's."""

    flow: Flow
    topic: str
    remote_topic: str
    interval: timedelta
    deadline: timedelta
    """Longest time to the arrival that is not late."""

    warmup: timedelta
    create: bool
    within: timedelta = WITHIN
    partitions: int | None = None
    """Partitions to cover; `None` for all."""

    cluster_ids: Mapping[str, str] = field(default_factory=dict)
    """Ids that clusters must have, by alias, where they are configured."""

    sized: SizedProbes | None = None
    """Large probes beside the small ones; `None` for none."""

    max_request_bytes: int | None = None
    """The mirror producer's ``max.request.size``, where it is known."""

    encoding: Encoding = field(default_factory=Json)
    keeps_partitions: bool = True
    """The mirror keeps the partition of a record. If not, each probe gets a
    key by which Kafka's producers choose that partition."""

    unflushed: timedelta = timedelta()
    """Longest time after a commit of the mirror in which records that it
    covers may still be sent."""

    creates_topic: bool = True
    headers: Headers = no_headers
