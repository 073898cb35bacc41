"""Writes source records once more that an audit found dropped."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Literal

from ..config import Config, FlowConfig
from ..domain.audit.result import AuditFinding, AuditResult
from ..domain.cluster_view import TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.topics import Selection
from ..kafka.admin import Cluster, describe_topics
from ..kafka.offsets import read_ends, read_starts
from ..kafka.reader import read_range, to_time
from ..kafka.topic_configs import read_configs
from ..kafka.writer import CopiedRecord, RecordWriter
from .planner import APPENDED

__all__ = ["Repaired", "Repairer"]


MOST_AT_ONCE = 1000
"""Offsets whose records are held in memory: of the largest ones that brokers
take by default, 1 GB."""

ROUNDED = timedelta(seconds=1)
"""More than what is lost of a timestamp that a finding tells."""

ELSEWHERE = "Write it to a topic of its own with --to-topic"

MERGED = "several source topics feed the target's: its source is not known"

COMPACTED = (
    "the topic is compacted: an older value would replace a newer one of its "
    f"key. {ELSEWHERE}"
)

IN_PLACE = (
    "the mirror keeps offsets, and a record that is written at the log end "
    f"would take the offset of another. {ELSEWHERE}"
)

UNTIMED = (
    "copies have timestamps of the target's own, by which nothing shows "
    f"whether a record is there by now. {ELSEWHERE}"
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
    f"not in the folder of the run: they may have come since. {ELSEWHERE}"
)

PREFIX = "mirrorwatch.source."
"""Headers of records in a topic of their own: where each is from."""


Outcome = Literal["written", "to write", "there", "refused"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repaired:
    """Outcome of the repair of one range of source offsets."""

    topic: str
    partition: int
    offsets: OffsetRange
    outcome: Outcome
    """`there` if the target has all of it by now."""

    to: str
    records: int = 0
    """Records written; in a dry run those that would be."""

    reason: str = ""


class _RefusedError(Exception):
    """Raised with the reason if a range is not written."""


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
        Up to where the audit looked for copies, by cluster, topic and
        partition of the target.

    Notes
    -----
    A record goes to the topic that lacks it as it is, for one with another
    header would be an altered copy. In a topic of its own it has headers that
    name its source. What the target has by now is not written: that is read
    from where the audit stopped looking, or from the begin of a topic of its
    own. Of equal records each copy stands for one.
    """

    def __init__(
        self,
        config: Config,
        *,
        to_topic: str | None,
        looked_to: Mapping[tuple[str, str, int], int],
    ) -> None:
        self._config = config
        self._to_topic = to_topic
        self._looked_to = looked_to
        self._dropped: list[AuditFinding] = []
        self._there: dict[tuple[str, TopicPartition], Counter[bytes]] = {}

    def repair(
        self, result: AuditResult, *, dry_run: bool
    ) -> Iterator[Repaired]:
        """Write what was dropped, or say what would be written. An altered
        record is not written: it would stand beside the altered one.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked, or does not take a record.
        """
        self._dropped = [f for f in result.errors if f.kind == "dropped"]
        for finding in self._dropped:
            for first, last in finding.source_offsets:
                for start in range(first, last + 1, MOST_AT_ONCE):
                    offsets = OffsetRange(
                        start, min(last + 1, start + MOST_AT_ONCE)
                    )
                    yield self._one(finding, offsets, dry_run=dry_run)

    def _one(
        self, finding: AuditFinding, offsets: OffsetRange, *, dry_run: bool
    ) -> Repaired:
        found = Repaired(
            topic=finding.topic,
            partition=finding.partition,
            offsets=offsets,
            outcome="there",
            to=self._to_topic or "",
        )
        try:
            flow = self._flow(finding)
            place = self._place(flow, finding)
            left = self._lacking(
                flow, place, self._records(flow, finding, offsets)
            )
        except _RefusedError as e:
            return replace(found, outcome="refused", reason=str(e))
        if left and not dry_run:
            target = flow.target
            writer = RecordWriter(self._properties(target), target)
            writer.write(*place, left)
        if left:
            outcome: Outcome = "to write" if dry_run else "written"
            found = replace(found, outcome=outcome, records=len(left))
        return replace(found, to=place[0])

    def _flow(self, finding: AuditFinding) -> FlowConfig:
        for flow in self._config.flows:
            if flow.name == finding.flow:
                return flow
        raise _RefusedError(f"no flow {finding.flow} is configured")

    def _place(
        self, flow: FlowConfig, finding: AuditFinding
    ) -> TopicPartition:
        """Return where the records of a finding go to."""
        if Selection(include=flow.topics.merged).matches(finding.topic):
            raise _RefusedError(MERGED)
        topic = self._to_topic or str(flow.topic_naming.remote(finding.topic))
        target = self._cluster(flow.target)
        facts = describe_topics(target, [topic]).get(topic)
        if facts is None:
            missing = MISSING.format(topic=topic, cluster=flow.target)
            raise _RefusedError(missing)
        if self._to_topic is not None:
            return topic, finding.partition % facts.partitions
        if flow.copies.offsets:
            raise _RefusedError(IN_PLACE)
        configs = read_configs(target, [topic])[0].get(topic)
        # Where it may not be known, it may be.
        if configs is None or configs.compacted:
            raise _RefusedError(COMPACTED)
        if not flow.copies.timestamps or configs.timestamp_type == APPENDED:
            raise _RefusedError(UNTIMED)
        if (flow.target, topic, finding.partition) not in self._looked_to:
            raise _RefusedError(NOT_KNOWN)
        return topic, finding.partition

    def _records(
        self, flow: FlowConfig, finding: AuditFinding, offsets: OffsetRange
    ) -> Sequence[CopiedRecord]:
        """Return the records of a range of the source."""
        place = finding.topic, finding.partition
        start = read_starts(self._cluster(flow.source), [place]).get(place)
        if start is None:
            missing = MISSING.format(topic=finding.topic, cluster=flow.source)
            raise _RefusedError(missing)
        if start > offsets.first:
            raise _RefusedError(EXPIRED.format(start=start))
        messages = read_range(
            self._properties(flow.source),
            cluster=flow.source,
            partition=place,
            offsets=offsets,
        )
        found = [(m.offset(), CopiedRecord.of(m)) for m in messages]
        if len(found) != len(offsets):
            cut = CUT.format(found=len(found), wanted=len(offsets))
            raise _RefusedError(cut)
        for _, record in found:
            at = to_time(record.timestamp)
            # Kafka's library takes 0 for the time of writing.
            if at is None or record.timestamp <= 0:
                raise _RefusedError(NO_TIME)
            if not _is_of(finding, at):
                raise _RefusedError(OTHERS)
        if self._to_topic is None:
            return [record for _, record in found]
        return [
            _marked(record, flow, finding, offset) for offset, record in found
        ]

    def _lacking(
        self,
        flow: FlowConfig,
        place: TopicPartition,
        records: Sequence[CopiedRecord],
    ) -> Sequence[CopiedRecord]:
        """Return the records that a partition of the target does not have."""
        key = flow.target, place
        if key not in self._there:
            target = self._cluster(flow.target)
            start = read_starts(target, [place]).get(place, 0)
            end = read_ends(target, [place]).get(place)
            if end is None:
                missing = MISSING.format(topic=place[0], cluster=flow.target)
                raise _RefusedError(missing)
            start = max(start, self._looked_to.get((flow.target, *place), 0))
            if self._to_topic is not None:
                start = 0
            messages = read_range(
                self._properties(flow.target),
                cluster=flow.target,
                partition=place,
                offsets=OffsetRange(start, max(start, end)),
                read_committed=True,
            )
            copies = map(CopiedRecord.of, messages)
            self._there[key] = Counter(
                self._fingerprint(copy, flow)
                for copy in copies
                if self._to_topic is not None or self._may_be_wanted(copy)
            )
        there, lacking = self._there[key], []
        for record in records:
            name = self._fingerprint(record, flow)
            if there[name]:
                there[name] -= 1
            else:
                lacking.append(record)
        return lacking

    def _may_be_wanted(self, copy: CopiedRecord) -> bool:
        at = to_time(copy.timestamp)
        return at is not None and any(_is_of(f, at) for f in self._dropped)

    def _fingerprint(self, record: CopiedRecord, flow: FlowConfig) -> bytes:
        """Return what a record and its copy have in common, in few bytes."""
        copies = flow.copies
        value = record.value if copies.tombstones else record.value or None
        headers = [
            h for h in record.headers if h[0] not in copies.added_headers
        ]
        content: object = (record.key, value, headers, record.timestamp)
        if self._to_topic is not None:
            content = [h for h in headers if h[0].startswith(PREFIX)]
        return blake2b(repr(content).encode(), digest_size=16).digest()

    def _properties(self, alias: str) -> dict[str, str]:
        return dict(self._config.clusters[alias].kafka)

    def _cluster(self, alias: str) -> Cluster:
        return Cluster(alias, self._properties(alias))


def _is_of(finding: AuditFinding, at: datetime) -> bool:
    after = finding.start is None or at >= finding.start - ROUNDED
    return after and (finding.end is None or at <= finding.end + ROUNDED)


def _marked(
    record: CopiedRecord,
    flow: FlowConfig,
    finding: AuditFinding,
    offset: int | None,
) -> CopiedRecord:
    source = {
        "cluster": flow.source,
        "topic": finding.topic,
        "partition": str(finding.partition),
        "offset": str(offset),
    }
    marks = tuple((PREFIX + k, v.encode()) for k, v in source.items())
    return replace(record, headers=(*record.headers, *marks))
