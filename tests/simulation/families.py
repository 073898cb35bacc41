"""Mirrors that keep their positions otherwise than MirrorMaker 2 does.

Each copies as `SimMirror` does: batches, commits, restarts, what is read
again. What differs is where it says how far it is, and where it goes on.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mirrorwatch.config.mirror import MirrorConfig
from mirrorwatch.domain.mirror_traits import MirrorTraits
from mirrorwatch.sources.canary.encoding import murmur2

from .cluster import Kind, Log, Record, SimCluster, SimGroup, SimTopic
from .mirrormaker import (
    CONFIGS,
    OFFSETS,
    STATUS,
    MirrorSettings,
    Partition,
    SimMirror,
)
from .oracle import Oracle

__all__ = ["FAMILIES", "Family", "SimGroupMirror", "SimLink"]
__all__ += ["SimMirus", "traits_of"]

GROUP = "copier"
"""Consumer group of mirrors that commit their positions as one."""


class SimCopier(SimMirror):
    """A consumer and a producer: partitions may not be kept."""

    def _sync_configs(self, topic: SimTopic, copies: SimTopic | None) -> None:
        """Sync none: that is MirrorMaker 2's own."""

    def _to_log(self, topic: str, copies: Log, record: Record) -> Log:
        if self.settings.keeps_partitions:
            return copies
        logs = self.target.topics[self.settings.naming(topic)].logs
        if record.key is None:
            return self._random.choice(logs)
        return logs[(murmur2(record.key) & 0x7FFFFFFF) % len(logs)]


class SimGroupMirror(SimCopier):
    """A mirror that commits as a consumer group at the source.

    What it drops is committed as well, as MirrorMaker 1's offsets are those
    of what it received.
    """

    def _create_topics(self) -> None:
        self._group = self.source.groups.setdefault(GROUP, SimGroup())
        self._group.has_members = lambda: self.running and not self.frozen

    def forget(self, key: tuple[str, int] | None = None) -> None:
        if key is None:
            self._group.offsets.clear()
        else:
            self._group.offsets.pop(key, None)
        for part in self._parts.values():
            part.flushed = None

    def _refresh(self) -> None:
        # Kafka deletes what a group committed of a topic with the topic.
        kept = self._group.offsets
        self.committed = {key: next_ - 1 for key, next_ in kept.items()}
        super()._refresh()

    def _first(self, key: tuple[str, int], log: Log) -> int:
        if key not in self._group.offsets:
            self.committed.pop(key, None)
        return super()._first(key, log)

    def _pass(self, part: Partition, offset: int) -> None:
        part.acked = offset

    def _write_offset(self, key: tuple[str, int], value: object) -> None:
        del value
        self._group.offsets[key] = self.committed[key] + 1


class SimMirus(SimCopier):
    """Mirus: the next offset in Connect's offsets topic.

    Where a position has expired it goes on at the log's end, unless configured
    otherwise; a partition without a position is read from its start.
    """

    @property
    def resumes_at_end(self) -> bool:
        return not self.settings.earliest

    def properties(self) -> dict[str, str]:
        settings = self.settings
        found = {
            "connector.class": "com.salesforce.mirus.MirusSourceConnector",
            "topics.regex": settings.include,
            "monitor.poll.wait.ms": str(int(settings.refresh * 1000)),
        }
        if settings.latest or settings.earliest:
            reset = "latest" if settings.latest else "earliest"
            found["consumer.auto.offset.reset"] = reset
        if settings.committed:
            found["consumer.isolation.level"] = "read_committed"
        return found

    def _assignment(self, parts: Sequence[tuple[str, int]]) -> dict[str, str]:
        given = [{"topic": t, "partition": p} for t, p in parts]
        return {"partitions": json.dumps(given)}

    def _write_offset(self, key: tuple[str, int], value: object) -> None:
        where = {"topic": key[0], "partition": key[1]}
        if value is not None:
            value = {"offset": self.committed[key] + 1}
        self.store(OFFSETS, json.dumps([self.connector, where]), value)


class SimLink(SimMirror):
    """A link: each record has the same offset on both sides.

    It goes on at the target's end, and truncates its copy where the source's
    log was truncated.
    """

    def _create_topics(self) -> None:
        self._epochs: dict[tuple[str, int], int] = {}

    def _copy_one(self, key: tuple[str, int], part: Partition) -> None:
        log = self.source.log(*key)
        copies = self.target.log(self.settings.naming(key[0]), key[1])
        if log is None or log.leader is None or copies is None:
            return
        epoch = self._epochs.setdefault(key, log.epoch)
        if epoch < log.epoch:
            self._epochs[key] = log.epoch
            copies.truncate(log.end_of(epoch))
        if copies.end < log.start:
            while copies.end < log.start:
                copies.append(NOTHING)
            copies.expire(log.start)
        end = log.visible_end(committed=self.settings.committed)
        most = self._random.randint(1, self.settings.batch)
        for _, record in log.span(copies.end, min(end, copies.end + most)):
            copies.append(
                Record(record.key, record.value, record.timestamp, record.kind)
            )
            self.oracle.copy(key, record)
        if copies.end:
            self.committed[key] = copies.end - 1

    def _flush(self) -> None:
        """Write down nothing."""


NOTHING = Record(None, None, 0, Kind.COMPACTED)


@dataclass(frozen=True)
class Family:
    """A kind of mirror in a simulated world."""

    mirror: Callable[
        [SimCluster, SimCluster, MirrorSettings, Oracle, Random], SimMirror
    ]
    config: Mapping[str, Any] = field(default_factory=dict)


MIRUS = {
    "connectors": ["MirrorSourceConnector"],
    "topics": {"offsets": OFFSETS, "configs": CONFIGS, "status": STATUS},
}

FAMILIES: Mapping[str, Family] = {
    "mirrormaker2": Family(SimMirror),
    "mirrormaker1": Family(SimGroupMirror, {"group": GROUP}),
    "brooklin": Family(SimGroupMirror, {"group": GROUP}),
    "group": Family(SimGroupMirror, {"group": GROUP}),
    "redpanda-migrator": Family(SimGroupMirror, {"group": GROUP}),
    "mirus": Family(SimMirus, MIRUS),
    "linked": Family(SimLink),
}


def traits_of(kind: str) -> MirrorTraits:
    """Return what the agent takes for granted of a kind."""
    aliases = {"source_alias": "summit", "target_alias": "ldf"}
    config = {**aliases, "kind": kind, **FAMILIES[kind].config}
    return MirrorConfig.model_validate(config).traits
