"""Freezes offsets of both sides, in the order that makes them comparable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Protocol

from ..domain.audit import End
from ..domain.audit.drafts import Drafts, Origin
from ..domain.view import TopicPartition

__all__ = ["Key", "Offsets", "freeze_offsets"]

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
    """A cluster that tells offsets; see `Site`."""

    def ends(
        self, places: Iterable[TopicPartition], *, read_committed: bool
    ) -> Mapping[TopicPartition, int]: ...

    def starts(
        self, places: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...


class AskedSites(Protocol):
    """Clusters by their aliases; see `Sites`."""

    def __getitem__(self, alias: str) -> AskedSite: ...


class AskedMirror(Protocol):
    """A mirror that tells its positions; see `MirrorReader`."""

    @property
    def read_committed(self) -> bool | None: ...

    def read_positions(self, floors: Mapping[TopicPartition, int]) -> None: ...


def freeze_offsets(
    drafts: Drafts,
    mirrors: Mapping[str, AskedMirror],
    sites: AskedSites,
    ends: Mapping[tuple[str, str, int], End],
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


def _key(origin: Origin) -> Key:
    return origin.cluster, origin.place


def _floor(
    origin: Origin,
    starts: Mapping[Key, int],
    ends: Mapping[tuple[str, str, int], End],
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
