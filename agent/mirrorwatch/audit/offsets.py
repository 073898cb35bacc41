"""Freezes offsets of both sides, in the order that makes them comparable."""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Event
from types import TracebackType
from typing import Protocol, Self, TypeVar

from ..config import Config
from ..domain.audit.facts import (
    AuditFound,
    FirstSince,
    PairBuilder,
    Question,
    RecordAt,
    SourceTopic,
)
from ..domain.audit.plan import AuditedEnd
from ..domain.cluster_view import TopicConfigs, TopicPartition
from ..domain.lag.model import ReadAt
from ..kafka.admin import Cluster, Described, describe
from ..kafka.offsets import EndOffsets, read_first_since
from ..kafka.reader import read_first_records
from ..kafka.topic_configs import find_hidden, read_configs

__all__ = [
    "Answers",
    "AuditedSite",
    "AuditedSites",
    "Key",
    "Offsets",
    "freeze_offsets",
]


MARKERS = timedelta(seconds=10)
"""Longest wait for the markers of an exactly-once mirror's transactions,
which follow the positions by milliseconds."""

PAUSE = timedelta(milliseconds=200)
"""Between two looks for them."""

Key = tuple[str, TopicPartition]
"""A partition, with the alias of its cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offsets:
    """Offsets of both sides; partitions without a leader are left out."""

    starts: Mapping[Key, int]
    """Log starts of both sides."""

    sources: Mapping[tuple[Key, bool], int]
    """Ends of the sources, by whether they were read committed: both, where
    it is not known how the mirror reads."""

    targets: Mapping[Key, int]
    """Ends of the targets, read after all positions."""

    later: Mapping[tuple[Key, bool], int]
    """Ends of the sources, read after those of the targets."""

    unsure: frozenset[Key]
    """Targets whose end need not cover what is below the positions."""


class AskedSite(Protocol):
    """A cluster that tells offsets; see `AuditedSite`."""

    def ends(
        self, places: Iterable[TopicPartition], *, read_committed: bool
    ) -> Mapping[TopicPartition, int]: ...

    def starts(
        self, places: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...


class AskedSites(Protocol):
    """Clusters by their aliases; see `AuditedSites`."""

    def __getitem__(self, alias: str) -> AskedSite: ...


class AskedMirror(Protocol):
    """A mirror that tells its positions; see `MirrorReader`."""

    @property
    def read_committed(self) -> bool | None: ...

    def read_positions(self, floors: Mapping[TopicPartition, int]) -> None: ...


def freeze_offsets(
    drafts: PairBuilder,
    mirrors: Mapping[str, AskedMirror],
    sites: AskedSites,
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    *,
    markers: timedelta = MARKERS,
) -> Offsets:
    """Freeze offsets of both sides, and read the mirrors' positions.

    Parameters
    ----------
    drafts
        What the audit is about.
    mirrors
        Mirrors by flow, whose configuration was read.
    sites
        The clusters.
    ends
        Up to where partitions were audited.
    markers
        How long to wait for the markers of a mirror's transactions.

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
    commits a position together with the records that it speaks of, but the
    markers that let others read these follow a little later. So the target's
    end is waited for.
    """
    origins = [o for draft in drafts.lanes for o in draft.origins]
    wanted = {
        (_key(origin), level)
        for origin in origins
        for level in _levels(mirrors[origin.flow])
    }
    sources = _read_ends(wanted, sites)
    starts = _read_starts({key for key, _ in wanted}, sites)
    for name, mirror in mirrors.items():
        mirror.read_positions(
            {
                origin.place: _floor(origin, starts, ends)
                for origin in origins
                if origin.flow == name
            }
        )
    goals = {
        (draft.cluster, draft.place)
        for draft in (*drafts.lanes, *drafts.surplus)
        if draft.topic_id is not None
    }
    targets, unsure = _target_ends(goals, sites, markers)
    later = _read_ends(wanted, sites)
    starts |= _read_starts(goals, sites)
    return Offsets(
        starts=starts,
        sources=sources,
        targets=targets,
        later=later,
        unsure=unsure,
    )


def _levels(mirror: AskedMirror) -> tuple[bool, ...]:
    known = mirror.read_committed
    return (False, True) if known is None else (known,)


def _key(origin: SourceTopic) -> Key:
    return origin.cluster, origin.place


def _floor(
    origin: SourceTopic,
    starts: Mapping[Key, int],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
) -> int:
    """Return the offset below which syncs are of no concern."""
    end = ends.get((origin.flow, *origin.place))
    audited = 0 if end is None else end.source_end
    return max(starts.get(_key(origin), 0), audited)


def _target_ends(
    goals: set[Key], sites: AskedSites, markers: timedelta
) -> tuple[dict[Key, int], frozenset[Key]]:
    """Return ends as they are read, and where positions may be ahead."""
    written = _read_ends({(key, False) for key in goals}, sites)
    waiting = {key for key in goals if (key, False) in written}
    ends: dict[Key, int] = {}
    pause = Event()
    for attempt in range(markers // PAUSE):
        if not waiting:
            break
        if attempt:
            pause.wait(PAUSE.total_seconds())
        found = _read_ends({(key, True) for key in waiting}, sites)
        for (key, _), end in found.items():
            ends[key] = end
        waiting = {
            key for key in waiting if ends.get(key, -1) < written[key, False]
        }
    return ends, frozenset(waiting)


def _read_ends(
    wanted: Iterable[tuple[Key, bool]], sites: AskedSites
) -> dict[tuple[Key, bool], int]:
    found: dict[tuple[Key, bool], int] = {}
    for committed in (False, True):
        keys = {key for key, reads in wanted if reads is committed}

        read = partial(_ask_ends, read_committed=committed)
        for key, end in _read(keys, sites, read).items():
            found[key, committed] = end
    return found


def _ask_ends(
    site: AskedSite, places: set[TopicPartition], *, read_committed: bool
) -> Mapping[TopicPartition, int]:
    return site.ends(places, read_committed=read_committed)


def _read_starts(keys: set[Key], sites: AskedSites) -> dict[Key, int]:
    return _read(keys, sites, lambda site, places: site.starts(places))


def _read(
    keys: set[Key],
    sites: AskedSites,
    read: Callable[
        [AskedSite, set[TopicPartition]], Mapping[TopicPartition, int]
    ],
) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for alias in sorted({alias for alias, _ in keys}):
        places = {place for cluster, place in keys if cluster == alias}
        for place, offset in read(sites[alias], places).items():
            found[alias, place] = offset
    return found


class AuditedSite:
    """One cluster.

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
        self._ends = EndOffsets(self.cluster, properties)

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
        self, places: Iterable[TopicPartition], *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        """Read ends; partitions without a leader are left out."""
        return self._ends.read(places, read_committed=read_committed)

    def starts(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Read log starts; partitions without a leader are left out."""
        return self._ends.read_starts(places)

    def close(self) -> None:
        """Let go of connections."""
        self._ends.close()


class AuditedSites:
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


T = TypeVar("T", FirstSince, RecordAt)

AT_ONCE = 500
"""Partitions of which a record is read at once: at most 8 MiB of fetches."""

ATTEMPTS = 3
"""How often a record is asked for that did not come within a second."""


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
            for places in _rounds(asked):
                firsts = read_first_since(
                    self._sites[alias].cluster,
                    {place: q.time for place, q in places.items()},
                )
                for place, question in places.items():
                    found[question] = AuditFound(*firsts[place])
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
        places = sorted(questions)
        for first in range(0, len(places), AT_ONCE):
            left = set(places[first : first + AT_ONCE])
            for _ in range(ATTEMPTS):
                if not left:
                    break
                heads = read_first_records(
                    self._sites[alias].properties,
                    cluster=alias,
                    wanted=[
                        ReadAt(
                            place,
                            questions[place].offset,
                            questions[place].log.retained.end,
                        )
                        for place in sorted(left)
                    ],
                    read_committed=committed,
                )
                for head in heads:
                    place = head.wanted.place
                    left.discard(place)
                    found[questions[place]] = AuditFound(
                        head.offset, head.written_at
                    )
            for place in left:
                found[questions[place]] = AuditFound(None, failed=True)
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
        place = question.log.place
        free = next((r for r in rounds if place not in r), None)
        if free is None:
            rounds.append({place: question})
        else:
            free[place] = question
    return rounds
