"""Freezes offsets of both sides, in the order that makes them comparable."""

from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from types import TracebackType
from typing import Protocol, Self, TypeVar

from ..config import Config
from ..domain.audit.facts import (
    AuditFound,
    FirstSince,
    Log,
    PairedLogs,
    Question,
    RecordAt,
    SourceLog,
)
from ..domain.audit.plan import AuditedEnd
from ..domain.cluster_view import TopicConfigs, TopicPartition
from ..domain.lag.model import ReadAt
from ..kafka.admin import Cluster, Described, describe
from ..kafka.offsets import read_ends, read_first_since, read_starts
from ..kafka.reader import read_first_records
from ..kafka.topic_configs import find_hidden, read_configs

__all__ = [
    "Answers",
    "AuditedSite",
    "AuditedSites",
    "Key",
    "MirrorFacts",
    "Offsets",
    "OffsetsReader",
    "freeze_offsets",
]


MARKERS = timedelta(seconds=10)
"""Longest wait for the markers of an exactly-once mirror's transactions,
which follow the positions by milliseconds."""

PAUSE = timedelta(milliseconds=200)

Key = tuple[str, TopicPartition]
"""A partition, with the alias of its cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offsets:
    """Offsets of both sides; partitions without a leader are left out."""

    starts: Mapping[Key, int]
    sources: Mapping[tuple[Key, bool], int]
    """Ends of the sources, by whether they were read committed."""

    targets: Mapping[Key, int]
    """Ends of the targets, read after all positions."""

    later: Mapping[tuple[Key, bool], int]
    """Ends of the sources, read after those of the targets."""

    unsure: frozenset[Key]
    """Targets whose end need not cover what is below the positions."""


class OffsetsReader(Protocol):
    """Reads starts and ends of one cluster's logs: `AuditedSite`.

    A fake of the tests is the other one: what is read in which order decides
    what counts as dropped, and no broker lets a test see that.
    """

    def ends(
        self, partitions: Iterable[TopicPartition], *, read_committed: bool
    ) -> Mapping[TopicPartition, int]: ...

    def starts(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...


class MirrorFacts(Protocol):
    """Positions, syncs and settings of the mirror of one flow: `MirrorReader`.

    A fake of the tests is the other one, for the reason of `OffsetsReader`.
    """

    @property
    def read_committed(self) -> bool | None: ...

    @property
    def starts_at_end(self) -> bool | None: ...

    def read_positions(self, floors: Mapping[TopicPartition, int]) -> None: ...

    def position(self, partition: TopicPartition) -> int | None: ...

    def syncs(
        self, partition: TopicPartition
    ) -> tuple[tuple[int, int], ...]: ...


def freeze_offsets(
    pairs: Sequence[PairedLogs],
    mirrors: Mapping[str, MirrorFacts],
    sites: Mapping[str, OffsetsReader],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    *,
    markers: timedelta = MARKERS,
) -> Offsets:
    """Freeze offsets of both sides, and read the mirrors' positions.

    Parameters
    ----------
    pairs
        Pairs of logs to audit.
    mirrors
        Mirrors by flow, whose configuration was read.
    sites
        The clusters.
    ends
        Up to where partitions were audited.
    markers
        Timeout for the markers of a mirror's transactions.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.

    Notes
    -----
    The order is: ends of the sources, positions, ends of the targets, ends of
    the sources again.

    A position that is read before the target's end proves a loss: what is
    below it, and was written, is below that end. In the other order, what was
    copied in between would look dropped. The first ends of the sources are
    those that are compared: later ones would cover records that nobody had
    time to copy. Where the second one is the same as the first, the target's
    end covers no record above it, so both ends belong together.

    Of the target only committed records are read. An exactly-once mirror
    commits a position together with the records that it covers, but the
    markers that let others read these follow a little later. So the target's
    end is waited for.
    """
    sources = [source for pair in pairs for source in pair.sources]
    wanted = {
        (_key(source.log), bool(mirrors[source.flow].read_committed))
        for source in sources
    }
    source_ends = _read_ends(wanted, sites)
    starts = _read_starts({key for key, _ in wanted}, sites)
    for name, mirror in mirrors.items():
        mirror.read_positions(
            {
                source.log.topic_partition: _floor(source, starts, ends)
                for source in sources
                if source.flow == name
            }
        )
    targets = {_key(pair.target) for pair in pairs if pair.target is not None}
    target_ends, unsure = _target_ends(targets, sites, markers)
    later = _read_ends(wanted, sites)
    starts |= _read_starts(targets, sites)
    return Offsets(
        starts=starts,
        sources=source_ends,
        targets=target_ends,
        later=later,
        unsure=unsure,
    )


def _key(log: Log) -> Key:
    return log.cluster, log.topic_partition


def _floor(
    source: SourceLog,
    starts: Mapping[Key, int],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
) -> int:
    """Return the offset below which syncs are of no concern."""
    end = ends.get(source.key)
    audited = 0 if end is None else end.source_end
    return max(starts.get(_key(source.log), 0), audited)


def _target_ends(
    targets: set[Key], sites: Mapping[str, OffsetsReader], markers: timedelta
) -> tuple[dict[Key, int], frozenset[Key]]:
    """Return ends as they are read, and where positions may be ahead."""
    written = _read_ends({(key, False) for key in targets}, sites)
    waiting = {key for key in targets if (key, False) in written}
    ends: dict[Key, int] = {}
    pause = Event()
    for attempt in range(markers // PAUSE):
        if not waiting:
            break
        if attempt:
            pause.wait(PAUSE.total_seconds())
        found = _read_ends({(key, True) for key in waiting}, sites)
        ends |= {key: end for (key, _), end in found.items()}
        waiting = {
            key for key in waiting if ends.get(key, -1) < written[key, False]
        }
    return ends, frozenset(waiting)


def _read_ends(
    wanted: Iterable[tuple[Key, bool]], sites: Mapping[str, OffsetsReader]
) -> dict[tuple[Key, bool], int]:
    found: dict[tuple[Key, bool], int] = {}
    for committed in (False, True):
        keys = {key for key, reads in wanted if reads is committed}
        for alias, partitions in _by_site(keys):
            ends = sites[alias].ends(partitions, read_committed=committed)
            found |= {((alias, p), committed): end for p, end in ends.items()}
    return found


def _read_starts(
    keys: set[Key], sites: Mapping[str, OffsetsReader]
) -> dict[Key, int]:
    return {
        (alias, partition): start
        for alias, partitions in _by_site(keys)
        for partition, start in sites[alias].starts(partitions).items()
    }


def _by_site(keys: set[Key]) -> Iterator[tuple[str, set[TopicPartition]]]:
    for alias in sorted({alias for alias, _ in keys}):
        yield alias, {p for cluster, p in keys if cluster == alias}


class AuditedSite:
    """Cluster whose topics and offsets an audit reads.

    Parameters
    ----------
    alias
        Our alias of it.
    properties
        librdkafka properties.

    Raises
    ------
    SourceError
        Raised by every method if the cluster cannot be asked, or refuses.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self.properties = properties
        self.cluster = Cluster(alias, properties)

    def describe(self) -> Described:
        """Describe all topics."""
        return describe(self.cluster)

    def configs(
        self, topics: Iterable[str]
    ) -> tuple[dict[str, TopicConfigs], list[str]]:
        """Read how topics are configured, and which may not be asked for."""
        return read_configs(self.cluster, topics)

    def hidden(self, topics: Collection[str]) -> set[str]:
        """Return which of these topics the agent may not know of."""
        if not topics:
            return set()
        found = find_hidden(self.cluster, sorted(topics))
        return {topic for topic, denied in found.items() if denied}

    def ends(
        self, partitions: Iterable[TopicPartition], *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        """Read ends; partitions without a leader are left out."""
        return read_ends(
            self.cluster, partitions, read_committed=read_committed
        )

    def starts(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Read log starts; partitions without a leader are left out."""
        return read_starts(self.cluster, partitions)

    def close(self) -> None:
        """Let go of connections."""
        self.cluster.close()


class AuditedSites(Mapping[str, AuditedSite]):
    """The clusters of a configuration, by alias; made when first asked for.

    Parameters
    ----------
    config
        The configuration.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sites: dict[str, AuditedSite] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def __getitem__(self, alias: str) -> AuditedSite:
        if alias not in self._sites:
            kafka = self._config.clusters[alias].kafka
            site = self._sites[alias] = AuditedSite(alias, dict(kafka))
            self._open.callback(site.close)
        return self._sites[alias]

    def __iter__(self) -> Iterator[str]:
        return iter(self._config.clusters)

    def __len__(self) -> int:
        return len(self._config.clusters)


T = TypeVar("T", FirstSince, RecordAt)

AT_ONCE = 500
"""Partitions of which a record is read at once: at most 8 MiB of fetches."""

ATTEMPTS = 3
"""Attempts to read a record that does not come within a second."""


class Answers:
    """Asks the clusters.

    Parameters
    ----------
    sites
        The clusters.
    """

    def __init__(self, sites: AuditedSites) -> None:
        self._sites = sites

    def __call__(
        self, questions: Collection[Question]
    ) -> Mapping[Question, AuditFound]:
        """Answer all of these questions.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        found: dict[Question, AuditFound] = {}
        times = [q for q in questions if isinstance(q, FirstSince)]
        for alias, asked in _by_cluster(times):
            for partitions in _rounds(asked):
                firsts = read_first_since(
                    self._sites[alias].cluster,
                    {partition: q.time for partition, q in partitions.items()},
                )
                for partition, question in partitions.items():
                    found[question] = AuditFound(*firsts[partition])
        records = [q for q in questions if isinstance(q, RecordAt)]
        for alias, read in _by_cluster(records):
            for committed in (False, True):
                level = [q for q in read if q.read_committed is committed]
                for heads in _rounds(level):
                    found |= self._read(alias, heads, committed=committed)
        return found

    def _read(
        self,
        alias: str,
        questions: Mapping[TopicPartition, RecordAt],
        *,
        committed: bool,
    ) -> dict[Question, AuditFound]:
        found: dict[Question, AuditFound] = {}
        partitions = sorted(questions)
        for first in range(0, len(partitions), AT_ONCE):
            left = set(partitions[first : first + AT_ONCE])
            for _ in range(ATTEMPTS):
                if not left:
                    break
                heads = read_first_records(
                    self._sites[alias].properties,
                    cluster=alias,
                    wanted=[
                        ReadAt(
                            partition,
                            questions[partition].offset,
                            questions[partition].log.retained.end,
                        )
                        for partition in sorted(left)
                    ],
                    read_committed=committed,
                )
                for head in heads:
                    partition = head.wanted.place
                    left.discard(partition)
                    found[questions[partition]] = AuditFound(
                        head.offset, head.written_at
                    )
            for partition in left:
                found[questions[partition]] = AuditFound(None, failed=True)
        return found


def _by_cluster(questions: Iterable[T]) -> Iterator[tuple[str, list[T]]]:
    found: dict[str, list[T]] = {}
    for question in questions:
        found.setdefault(question.log.cluster, []).append(question)
    yield from sorted(found.items())


def _rounds(questions: Sequence[T]) -> list[dict[TopicPartition, T]]:
    """Deal questions out, so that a partition is once in each round."""
    rounds: list[dict[TopicPartition, T]] = []
    for question in questions:
        partition = question.log.topic_partition
        free = next((r for r in rounds if partition not in r), None)
        if free is None:
            rounds.append({partition: question})
        else:
            free[partition] = question
    return rounds
