"""Writes records that the target lacks once more."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..config import Config, FlowConfig
from ..domain.audit.repair import RepairDiary, RepairRange, WrittenRange
from ..domain.cluster_view import TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.topics import Selection
from ..kafka.admin import Cluster, describe_topics
from ..kafka.offsets import read_ends, read_starts
from ..kafka.reader import read_range, to_time
from ..kafka.topic_configs import read_configs
from ..kafka.writer import CopiedRecord, RecordWriter

__all__ = ["Repaired", "Repairer"]


Outcome = Literal["written", "there", "to write", "refused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """What became of one range."""

    offsets: RepairRange
    """The range."""

    outcome: Outcome
    """`there` where an earlier repair has written it; `to write` if nothing
    was to be changed."""

    reason: str = ""
    """Why it was refused."""

    topic: str = ""
    """Topic at the target that it goes to."""


MERGED = "several source topics feed the target's: its source is not known"

COMPACTED = (
    "the topic is compacted: an older value would replace a newer one of its "
    "key. Write it to a topic of its own with --to-topic"
)

ANYWHERE = (
    "the mirror does not keep partitions: which one lacks the record is not "
    "known. Write it to a topic of its own with --to-topic"
)

IN_PLACE = (
    "the mirror keeps offsets, and a record that is written at the log end "
    "would take the offset of another. Write it to a topic of its own with "
    "--to-topic"
)

MISSING = "{topic} does not exist at {cluster}, or may not be seen"

EXPIRED = "the source holds no records below offset {start} any more"

CUT = "{found} of {wanted} records were read at the source"

NO_TIME = (
    "a record has no timestamp that a copy can have: none, or before 1970"
)

OTHERS = (
    "records at these offsets have other timestamps than those that the audit "
    "read: the topic was recreated or truncated since"
)

PREFIX = "mirrorwatch.source."
"""Headers of records in a topic of their own: where each is from."""


class Repairer:
    """Writes ranges of source records to the target.

    Parameters
    ----------
    config
        The whole configuration.
    to_topic
        A topic of the target cluster; `None` for the topics that lack the
        records.
    diary
        What was written before.
    save
        Keeps the diary.

    Notes
    -----
    A record goes to the topic that lacks it as it is, for one with another
    header would be an altered copy. In a topic of its own it has headers that
    name its source. What is about to be written is noted first, with the end
    of the partition: after a kill, what stands behind that end is not
    written again.
    """

    def __init__(
        self,
        config: Config,
        *,
        to_topic: str | None,
        diary: RepairDiary,
        save: Callable[[RepairDiary], None],
    ) -> None:
        self._config = config
        self._to_topic = to_topic
        self._diary = diary
        self._save = save

    def repair(
        self, ranges: Iterable[RepairRange], *, dry_run: bool
    ) -> Iterator[Repaired]:
        """Write ranges, or say what would be written.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked, or does not take a record.
        """
        flows = {flow.name: flow for flow in self._config.flows}
        for each in ranges:
            flow = flows.get(each.flow)
            if flow is None:
                yield Repaired(
                    offsets=each,
                    outcome="refused",
                    reason=f"no flow {each.flow} is configured",
                )
                continue
            yield self._one(flow, each, dry_run=dry_run)

    def _one(
        self, flow: FlowConfig, each: RepairRange, *, dry_run: bool
    ) -> Repaired:
        remote = str(flow.topic_naming.remote(each.topic))
        topic = self._to_topic or remote
        found = Repaired(offsets=each, outcome="there", topic=topic)
        before = next(
            (
                w
                for w in self._diary.written
                if w.offsets == each and w.topic == topic
            ),
            None,
        )
        if before is not None and before.done:
            return found
        source = self._cluster(flow.source)
        target = self._cluster(flow.target)
        place, reason = self._place(flow, target, topic, each)
        reason = reason or self._why_not_read(source, each)
        if reason or place is None:
            return replace(found, outcome="refused", reason=reason)
        if dry_run:
            return replace(found, outcome="to write")
        records = self._records(flow, each)
        reason = _why_not_written(records, each)
        if reason:
            return replace(found, outcome="refused", reason=reason)
        ends = read_ends(target, [place])
        if place not in ends:
            reason = MISSING.format(topic=topic, cluster=flow.target)
            return replace(found, outcome="refused", reason=reason)
        begun = before or WrittenRange(
            offsets=each,
            topic=topic,
            partition=place[1],
            begun_at=ends[place],
        )
        self._note(begun)
        there = Counter(
            CopiedRecord.of(message)
            for message in read_range(
                self._properties(flow.target),
                cluster=flow.target,
                partition=place,
                offsets=OffsetRange(begun.begun_at, ends[place]),
            )
        )
        writer = RecordWriter(self._properties(flow.target), flow.target)
        writer.write(*place, records, there)
        self._note(replace(begun, done=True))
        return replace(found, outcome="written")

    def _place(
        self,
        flow: FlowConfig,
        target: Cluster,
        topic: str,
        each: RepairRange,
    ) -> tuple[TopicPartition | None, str]:
        """Return where a range goes to, or why not."""
        if Selection(include=flow.topics.merged).matches(each.topic):
            return None, MERGED
        copies = flow.copies
        if self._to_topic is None and (
            copies.offsets or not copies.partitions
        ):
            return None, IN_PLACE if copies.offsets else ANYWHERE
        facts = describe_topics(target, [topic]).get(topic)
        if facts is None:
            return None, MISSING.format(topic=topic, cluster=flow.target)
        if self._to_topic is not None:
            return (topic, each.partition % facts.partitions), ""
        configs, _ = read_configs(target, [topic])
        # Where it may not be known, it may be.
        if topic not in configs or configs[topic].compacted:
            return None, COMPACTED
        return (topic, each.partition), ""

    def _why_not_read(self, source: Cluster, each: RepairRange) -> str:
        place = (each.topic, each.partition)
        start = read_starts(source, [place]).get(place)
        if start is None:
            return MISSING.format(topic=each.topic, cluster=source.alias)
        return EXPIRED.format(start=start) if start > each.first else ""

    def _records(
        self, flow: FlowConfig, each: RepairRange
    ) -> Sequence[CopiedRecord]:
        messages = read_range(
            self._properties(flow.source),
            cluster=flow.source,
            partition=(each.topic, each.partition),
            offsets=OffsetRange(each.first, each.last + 1),
        )
        return [
            self._marked(
                flow, each, message.offset() or 0, CopiedRecord.of(message)
            )
            for message in messages
        ]

    def _marked(
        self,
        flow: FlowConfig,
        each: RepairRange,
        offset: int,
        record: CopiedRecord,
    ) -> CopiedRecord:
        """Return a record with its source, in a topic of its own."""
        if self._to_topic is None:
            return record
        source = {
            "cluster": flow.source,
            "topic": each.topic,
            "partition": str(each.partition),
            "offset": str(offset),
        }
        marks = tuple((PREFIX + k, v.encode()) for k, v in source.items())
        return replace(record, headers=(*record.headers, *marks))

    def _note(self, written: WrittenRange) -> None:
        others = tuple(
            w
            for w in self._diary.written
            if (w.offsets, w.topic) != (written.offsets, written.topic)
        )
        self._diary = RepairDiary(written=(*others, written))
        self._save(self._diary)

    def _properties(self, alias: str) -> dict[str, str]:
        return dict(self._config.clusters[alias].kafka)

    def _cluster(self, alias: str) -> Cluster:
        return Cluster(alias, self._properties(alias))


def _why_not_written(
    records: Sequence[CopiedRecord], wanted: RepairRange
) -> str:
    if len(records) != len(wanted):
        return CUT.format(found=len(records), wanted=len(wanted))
    times = [to_time(record.timestamp) for record in records]
    if any(time is not None and not wanted.may_hold(time) for time in times):
        return OTHERS
    # Kafka's library takes 0 for the time of writing.
    return NO_TIME if any(r.timestamp <= 0 for r in records) else ""
