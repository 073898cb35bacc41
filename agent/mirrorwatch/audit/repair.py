"""Writes records that the target lacks once more."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Literal

from ..config import Config, FlowConfig
from ..domain.audit.plan import CopyProfile
from ..domain.audit.repair import (
    RepairDiary,
    RepairRange,
    TargetEnds,
    WrittenRange,
)
from ..domain.cluster_view import TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.topics import Selection
from ..kafka.admin import Cluster, describe_topics
from ..kafka.offsets import read_ends, read_starts
from ..kafka.reader import read_range, to_time
from ..kafka.topic_configs import read_configs
from ..kafka.writer import CopiedRecord, RecordWriter

__all__ = ["Repaired", "Repairer"]


Outcome = Literal["written", "there", "late", "to write", "refused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """What became of one range."""

    offsets: RepairRange
    outcome: Outcome
    """`there` where an earlier repair has written it, `late` where the mirror
    has since the audit; `to write` if nothing was to be changed."""

    reason: str = ""
    """Why it was refused, or only written in part."""

    topic: str = ""


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

NOT_KNOWN = (
    "it is not known up to where the audit looked for copies, for its plan is "
    "not in the folder of the run: they may have come since. Write it to a "
    "topic of its own with --to-topic"
)

LEFT_OUT = "{count} of {all} left out, which the target has since the audit"

PREFIX = "mirrorwatch.source."
"""Headers of records in a topic of their own: where each is from."""


_Place = tuple[str, str, int]

_Times = tuple[datetime | None, datetime | None]


class Repairer:
    """Writes ranges of source records to the target.

    Parameters
    ----------
    config
        The whole configuration.
    to_topic
        A topic of the target cluster; `None` for the topics that lack the
        records.
    looked_to
        Up to where the audit looked for copies.
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

    A topic that lacks records is read from where the audit stopped looking:
    what the mirror has copied since is not written a second time. Records are
    told by all that a copy has, so not where it has a timestamp of its own.
    """

    def __init__(
        self,
        config: Config,
        *,
        to_topic: str | None,
        looked_to: TargetEnds,
        diary: RepairDiary,
        save: Callable[[RepairDiary], None],
    ) -> None:
        self._config = config
        self._to_topic = to_topic
        self._looked_to = looked_to
        self._copies: dict[_Place, Counter[bytes]] = {}
        # One range for each stretch of time, of which there are few.
        self._times: dict[_Place, dict[_Times, RepairRange]] = {}
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
        ranges = tuple(ranges)
        for each in ranges:
            of_place = self._times.setdefault(_place_of(each), {})
            of_place.setdefault((each.start, each.end), each)
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
        target = self._cluster(flow.target)
        place, reason = self._place(flow, target, topic, each)
        records: Sequence[CopiedRecord] = ()
        if place is not None:
            records, reason = self._dropped(flow, each)
        if place is None or reason:
            return replace(found, outcome="refused", reason=reason)
        end = read_ends(target, [place]).get(place)
        if end is None:
            reason = MISSING.format(topic=topic, cluster=flow.target)
            return replace(found, outcome="refused", reason=reason)
        copies = self._copies_of(flow, each, place, end)
        if copies is None:
            return replace(found, outcome="refused", reason=NOT_KNOWN)
        left = _left(records, copies, flow.copies)
        if not left and before is None:
            found = replace(found, outcome="late")
        elif 0 < len(left) < len(each):
            count = len(each) - len(left)
            reason = LEFT_OUT.format(count=count, all=len(each))
        if left:
            found = replace(
                found,
                outcome="to write" if dry_run else "written",
                reason=reason,
            )
        if not dry_run:
            begun = before or WrittenRange(
                offsets=each, topic=topic, partition=place[1], begun_at=end
            )
            self._write(flow, begun, left, end)
        return found

    def _dropped(
        self, flow: FlowConfig, each: RepairRange
    ) -> tuple[Sequence[CopiedRecord], str]:
        """Return the records of a range, or why they are not written."""
        reason = self._why_not_read(self._cluster(flow.source), each)
        if reason:
            return (), reason
        records = self._records(flow, each)
        return records, _why_not_written(records, each)

    def _write(
        self,
        flow: FlowConfig,
        begun: WrittenRange,
        records: Sequence[CopiedRecord],
        end: int,
    ) -> None:
        """Write what is left of a range, and note it before and after."""
        self._note(begun)
        place = begun.topic, begun.partition
        there = Counter[CopiedRecord]()
        if self._to_topic is not None:
            there.update(self._read(flow, place, begun.begun_at, end))
        writer = RecordWriter(self._properties(flow.target), flow.target)
        writer.write(*place, records, there)
        self._note(replace(begun, done=True))

    def _copies_of(
        self,
        flow: FlowConfig,
        wanted: RepairRange,
        place: TopicPartition,
        end: int,
    ) -> Counter[bytes] | None:
        """Return what a partition has had since the audit of its dropped
        records; `None` if it is not known since where that is. A topic of
        their own is no mirror's.
        """
        if self._to_topic is not None:
            return Counter()
        key = flow.target, *place
        looked_to = self._looked_to.get(key)
        if looked_to is None or key in self._copies:
            return self._copies.get(key)
        times = self._times[_place_of(wanted)].values()
        start = read_starts(self._cluster(flow.target), [place]).get(place, 0)
        found = Counter(
            _fingerprint(record, flow.copies)
            for record in self._read(flow, place, max(start, looked_to), end)
            if (at := to_time(record.timestamp)) is not None
            and any(each.may_hold(at) for each in times)
        )
        # Of equal records one may be written already, and another not.
        source = self._cluster(flow.source)
        for done in self._diary.written if found else ():
            if (
                done.done
                and done.topic == place[0]
                and _place_of(done.offsets) == _place_of(wanted)
                and not self._why_not_read(source, done.offsets)
            ):
                _left(self._records(flow, done.offsets), found, flow.copies)
        self._copies[key] = found
        return found

    def _read(
        self, flow: FlowConfig, place: TopicPartition, first: int, end: int
    ) -> Iterator[CopiedRecord]:
        for message in read_range(
            self._properties(flow.target),
            cluster=flow.target,
            partition=place,
            offsets=OffsetRange(first, max(first, end)),
            # A copy that was aborted is none; we abort nothing.
            read_committed=self._to_topic is None,
        ):
            yield CopiedRecord.of(message)

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


def _place_of(each: RepairRange) -> _Place:
    return each.flow, each.topic, each.partition


def _left(
    records: Sequence[CopiedRecord],
    there: Counter[bytes],
    copies: CopyProfile,
) -> list[CopiedRecord]:
    """Return records that are not there; each copy stands for one."""
    left = []
    for record in records:
        name = _fingerprint(record, copies)
        if there[name] > 0:
            there[name] -= 1
        else:
            left.append(record)
    return left


def _fingerprint(record: CopiedRecord, copies: CopyProfile) -> bytes:
    """Return what a record and its copy have in common, in few bytes."""
    value = record.value if copies.tombstones else record.value or None
    headers = [h for h in record.headers if h[0] not in copies.added_headers]
    content = repr((record.key, value, headers, record.timestamp))
    return blake2b(content.encode(), digest_size=16).digest()
