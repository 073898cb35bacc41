"""How values of the product are written in recordings: a seam of the pins.

What is asked and answered is written by hand, so that it outlives names and
shapes of the code; what the code concludes is written field by field.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from mirrorwatch.domain.audit.flow_result import AuditObservation
from mirrorwatch.domain.bottleneck.model import (
    ErrorCounters,
    MirrorObservation,
)
from mirrorwatch.domain.canary.model import (
    CanaryObservation,
    CanaryPartition,
    Probe,
)
from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.domain.checkpoints import CheckpointsObservation
from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicConfigs,
    TopicFacts,
)
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.heartbeats import HeartbeatsObservation
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.latency import LatencyObservation
from mirrorwatch.domain.mirror_records import (
    Assignment,
    Committed,
    Connector,
    Sync,
)
from mirrorwatch.domain.notices.model import LastNotified
from mirrorwatch.domain.offsets import RangeSet
from mirrorwatch.domain.parity.configs import ConfigsObservation
from mirrorwatch.domain.parity.topics import TopicsObservation
from mirrorwatch.domain.position.model import (
    PartitionPosition,
    PositionObservation,
    Reset,
)
from mirrorwatch.domain.readers.model import ReadersObservation
from mirrorwatch.domain.report import Health, Observation
from mirrorwatch.domain.schemas.model import SchemasObservation
from mirrorwatch.domain.skips.model import (
    SkipCounters,
    SkipEvent,
    SkipsObservation,
    SuspectedDrop,
)
from mirrorwatch.domain.skips.partition import PartitionState
from mirrorwatch.domain.skips.settle import RangeContent
from mirrorwatch.domain.tasks.model import TasksObservation
from mirrorwatch.sources.audit.worker import FlowAudits

from .neutral import Codec, in_order

__all__ = ["CODEC", "Json", "from_assignments", "from_observation"]
__all__ += ["from_reading", "from_sync", "from_view", "to_assignments"]
__all__ += ["to_configs", "to_connectors", "to_observation", "to_reading"]
__all__ += ["to_syncs", "to_view"]

Json = dict[str, Any]

KINDS: Mapping[str, type[Observation]] = {
    "audit": AuditObservation,
    "bottleneck": MirrorObservation,
    "canary": CanaryObservation,
    "checkpoints": CheckpointsObservation,
    "configs": ConfigsObservation,
    "failover": FailoverObservation,
    "heartbeats": HeartbeatsObservation,
    "lag": LagObservation,
    "latency": LatencyObservation,
    "position": PositionObservation,
    "readers": ReadersObservation,
    "schemas": SchemasObservation,
    "skips": SkipsObservation,
    "tasks": TasksObservation,
    "topics": TopicsObservation,
}
"""What is seen in a tick, by its neutral name."""

CODEC = Codec()
CODEC.register(
    RangeSet,
    lambda found: [list(pair) for pair in found],
    lambda pairs: RangeSet((first, last) for first, last in pairs),
)
CODEC.register(Health, lambda h: h.label, lambda name: Health[name.upper()])
CODEC.rename(SkipsObservation, events="happenings")
CODEC.leave_out(
    Reset,
    "at_least",
    "at_most",
    "former_end",
    "offsets",
    "proved",
    "summed",
    "unseen",
)
CODEC.leave_out(
    PartitionPosition,
    "is_seen",
    "passed",
    "source_end",
    "target_end",
    "truncation",
)
CODEC.leave_out(LastNotified, "cause")
CODEC.leave_out(ErrorCounters, "last_errors")
CODEC.leave_out(FlowAudits, "ahead")
CODEC.leave_out(PositionObservation, "moved_at")
CODEC.leave_out(CheckpointsObservation, "denied", "missing_since")
CODEC.leave_out(LatencyObservation, "watched")
CODEC.leave_out(LagObservation, "configs_refused", "hidden")
CODEC.leave_out(
    PartitionState,
    "again",
    "again_count",
    "copies",
    "first_copy",
    "tells_first",
    "unconfirmed",
    "unnamed",
)
CODEC.leave_out(Ledger, "level", "due_at")
CODEC.leave_out(Probe, "overdue")
CODEC.leave_out(CanaryPartition, "level")
CODEC.leave_out(SkipsObservation, "excesses")
CODEC.leave_out(SkipCounters, "filtered", "passed", "samples", "excess")
CODEC.leave_out(SkipEvent, "filtered")
CODEC.leave_out(SuspectedDrop, "filtered")


def from_observation(seen: Observation) -> Json:
    """Write an observation with its kind."""
    (kind,) = [name for name, k in KINDS.items() if type(seen) is k]
    return {"kind": kind, "seen": CODEC.encode(seen)}


def to_observation(written: Json) -> Observation:
    """Read an observation."""
    return CODEC.decode(KINDS[written["kind"]], written["seen"])


def from_view(view: FlowView) -> Json:
    """Write what a survey saw."""
    return {
        "flow": view.flow,
        "at": view.at.isoformat(),
        "committed": [
            [c.topic, c.partition, c.position, c.written_at.isoformat()]
            for c in view.committed.values()
        ],
        "syncs": [from_sync(sync) for sync in view.syncs.values()],
        "caught_up": view.caught_up,
        "target": _from_cluster(view.target),
        "source": _from_cluster(view.source),
        "names": dict(view.names),
        "problems": list(view.problems),
    }


def to_view(written: Json) -> FlowView:
    """Read what a survey saw."""
    committed = [
        Committed(topic=t, partition=p, position=position, written_at=_at(at))
        for t, p, position, at in written["committed"]
    ]
    syncs = to_syncs(written["syncs"])
    return FlowView(
        flow=written["flow"],
        at=_at(written["at"]),
        committed={(c.topic, c.partition): c for c in committed},
        syncs={(s.topic, s.partition): s for s in syncs},
        caught_up=written["caught_up"],
        target=_to_cluster(written["target"]),
        source=_to_cluster(written["source"]),
        names=written["names"],
        problems=tuple(written["problems"]),
    )


def from_sync(sync: Sync) -> list[Any]:
    """Write a pair of offsets that the mirror told."""
    at = sync.written_at.isoformat()
    return [sync.topic, sync.partition, sync.upstream, sync.downstream, at]


def to_syncs(written: Iterable[Any]) -> tuple[Sync, ...]:
    """Read pairs of offsets."""
    return tuple(
        Sync(
            topic=topic,
            partition=partition,
            upstream=upstream,
            downstream=downstream,
            written_at=_at(at),
        )
        for topic, partition, upstream, downstream, at in written
    )


def from_assignments(assignments: Iterable[Assignment]) -> list[Any]:
    """Write what the mirror's tasks were given."""
    return [
        [a.connector, a.task, in_order(a.partitions), a.written_at.isoformat()]
        for a in assignments
    ]


def to_connectors(written: Iterable[Any]) -> tuple[Connector, ...]:
    """Read how the mirror is configured."""
    return tuple(CODEC.decode(Connector, c) for c in written)


def to_assignments(written: Iterable[Any]) -> tuple[Assignment, ...]:
    """Read what the mirror's tasks were given."""
    return tuple(
        Assignment(
            connector=connector,
            task=task,
            partitions=frozenset((t, p) for t, p in partitions),
            written_at=_at(at),
        )
        for connector, task, partitions, at in written
    )


def to_configs(written: Json) -> dict[str, TopicConfigs]:
    """Read how topics of the source are configured."""
    return {t: CODEC.decode(TopicConfigs, c) for t, c in written.items()}


def from_reading(reading: RangeContent, number: Callable[[int], int]) -> Json:
    """Write what was read of both sides, each look as a number."""
    return {
        "source": [[o, number(look)] for o, look in reading.source.items()],
        "target": [[o, number(look)] for o, look in reading.target.items()],
        "starts": [reading.source_start, reading.target_start],
        "compacted": [reading.source_compacted, reading.target_compacted],
    }


def to_reading(written: Json) -> RangeContent:
    """Read what was read of both sides."""
    source_start, target_start = written["starts"]
    source_compacted, target_compacted = written["compacted"]
    return RangeContent(
        source=dict(written["source"]),
        target=dict(written["target"]),
        source_start=source_start,
        target_start=target_start,
        source_compacted=source_compacted,
        target_compacted=target_compacted,
    )


def _from_cluster(view: ClusterView | None) -> Json | None:
    if view is None:
        return None
    return {
        "alias": view.alias,
        "id": view.id,
        "at": view.at.isoformat(),
        "topics": {
            name: [facts.id, facts.partitions, facts.replication_factor]
            for name, facts in view.topics.items()
        },
        "ends": [[*place, end] for place, end in view.ends.items()],
        "starts": [[*place, start] for place, start in view.starts.items()],
    }


def _to_cluster(written: Json | None) -> ClusterView | None:
    if written is None:
        return None
    return ClusterView(
        alias=written["alias"],
        id=written["id"],
        at=_at(written["at"]),
        topics={
            name: TopicFacts(
                id=id_, partitions=partitions, replication_factor=factor
            )
            for name, (id_, partitions, factor) in written["topics"].items()
        },
        ends={(t, p): end for t, p, end in written["ends"]},
        starts={(t, p): start for t, p, start in written["starts"]},
    )


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)
