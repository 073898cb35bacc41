"""Lanes that are hashed alike, and other spans of theirs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit import Lane, SourceRange, Span

from .tables import small_table

__all__ = [
    "NAMES",
    "Group",
    "LaneName",
    "after",
    "before",
    "groups",
    "name",
    "named",
]
__all__ += ["narrowed", "spanned"]

LaneName = tuple[str, str, int]
"""Flow, target topic and partition."""

NAMES = "flow string, target_topic string, partition int"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Lanes whose records are hashed and counted alike."""

    timestamps: bool
    """As in `Lane`."""

    compacted: bool
    """As in `Lane`."""

    lanes: tuple[Lane, ...]
    """The lanes."""


def groups(lanes: Sequence[Lane]) -> list[Group]:
    """Return the lanes in groups; there are at most four."""
    found: dict[tuple[bool, bool], list[Lane]] = defaultdict(list)
    for lane in lanes:
        found[lane.timestamps, lane.compacted].append(lane)
    return [
        Group(timestamps=timestamps, compacted=compacted, lanes=tuple(members))
        for (timestamps, compacted), members in sorted(
            found.items(), key=lambda item: item[0]
        )
    ]


def name(lane: Lane) -> LaneName:
    """Return what a lane is called in every table."""
    return lane.flow, lane.target_topic, lane.partition


def named(session: SparkSession, lanes: Iterable[Lane]) -> DataFrame:
    """Return the names of lanes as a table, in columns as in `LANE`."""
    return small_table(session, map(name, lanes), NAMES)


def spanned(lane: Lane, span: Callable[[Lane | SourceRange], Span]) -> Lane:
    """Return the lane with other spans on both sides."""
    sources = tuple(replace(s, span=span(s)) for s in lane.sources)
    return replace(lane, span=span(lane), sources=sources)


def narrowed(
    lane: Lane,
    source: Mapping[tuple[str, str], Span],
    target: Span | None,
) -> Lane:
    """Return the lane with no more than some stretches of its spans.

    Parameters
    ----------
    lane
        The lane.
    source
        Stretches of its sources, by flow and topic.
    target
        Stretch of the target.
    """
    sources = tuple(
        replace(s, span=_within(s.span, source.get((s.flow, s.topic))))
        for s in lane.sources
    )
    return replace(lane, span=_within(lane.span, target), sources=sources)


def _within(span: Span, stretch: Span | None) -> Span:
    if stretch is None:
        return Span(span.start, span.start)
    start, end = max(span.start, stretch.start), min(span.end, stretch.end)
    return Span(start, max(start, end))


def after(lane: Lane) -> Lane:
    """Return the lane with what comes after its spans."""
    return spanned(lane, lambda x: Span(x.span.end, x.retained.end))


def before(lane: Lane) -> Lane:
    """Return the lane with what is still there from before its spans."""
    return spanned(
        lane, lambda x: Span(x.retained.start, min(x.span.start, x.span.end))
    )
