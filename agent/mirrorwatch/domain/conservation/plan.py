"""Which stretches of both logs must be read to explain some offsets."""

from dataclasses import dataclass

from .epoch import Epoch
from .inquiry import Inquiry, Point, Span, unite

__all__ = ["Ends", "plan_count", "plan_gap", "plan_tail", "position_of"]

_WIDE = 10
"""How many times wider the source is read where target records were found
that are no copy of what was read: filters and marks of transactions put
copies further away than the target has room for, by any number."""

_TOGETHER = 5_000
"""Target offsets of stretches in a row that are read at once. Two writers at
a time make such rows, and each look costs the same whatever its size."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What a survey saw of one partition."""

    source: int
    """End of the source, as the mirror reads it."""

    source_start: int
    """Lowest offset that the source still has."""

    target: int
    """End of the target, read before."""

    remote: str
    """Name of the topic at the target."""


def plan_gap(epoch: Epoch, ends: Ends) -> Inquiry | None:
    """Return what to read before the next pair can be booked."""
    start = epoch.cursor
    if start is None or not epoch.ahead:
        return None
    points = [epoch.ahead[0]]
    for point in epoch.ahead[1:]:
        span = point.downstream - start.downstream
        if span > _TOGETHER or epoch.explains(points[-1], point):
            break
        points.append(point)
    return _inquiry(epoch, ends, start, tuple(points))


def plan_tail(epoch: Epoch, ends: Ends, position: int) -> Inquiry | None:
    """Return what to read before a committed position is believed.

    Parameters
    ----------
    epoch
        Books of the partition.
    ends
        Ends of both sides, read after the position.
    position
        Position that the mirror committed.
    """
    start = epoch.cursor
    if start is None or epoch.ahead or position > ends.source:
        return None
    # The target has room for so many copies since.
    room = ends.target - start.downstream - 1
    if room < 0 or position - 1 <= max(start.upstream + room, epoch.frontier):
        return None
    return _inquiry(epoch, ends, start, (), position)


def position_of(epoch: Epoch, ends: Ends) -> int | None:
    """Return where the mirror is; `None` while pairs wait."""
    if epoch.upstream is None or epoch.ahead:
        return None
    # Where others write, too, only what was told is believed.
    room = 0 if epoch.noisy else ends.target - epoch.downstream - 1
    return max(epoch.upstream + room, epoch.frontier) + 1


def plan_count(epoch: Epoch, ends: Ends, span: Span) -> Inquiry:
    """Return what to read to know how many records a span holds."""
    first = max(span.first, ends.source_start)
    return Inquiry(
        topic=epoch.topic,
        partition=epoch.partition,
        remote=ends.remote,
        source_id=epoch.source_id,
        target_id=epoch.target_id,
        start=Point(span.first - 1, ends.target - 1),
        points=(),
        source=(Span(first, min(span.end, ends.source)),),
        target=Span(ends.target, ends.target),
        only_count=True,
    )


def _inquiry(
    epoch: Epoch,
    ends: Ends,
    start: Point,
    points: tuple[Point, ...],
    passed: int | None = None,
) -> Inquiry:
    end = ends.target if passed is not None else points[-1].downstream + 1
    target = Span(start.downstream + 1, end)
    room = len(target)
    if epoch.widened:
        room = _WIDE * room + 1000
    known = [p.upstream for p in points]
    tips = [start.upstream, *epoch.heads, *known]
    # Copies of later records may stand before the target's end, too.
    highest = max(
        [*known, start.upstream + room]
        if passed is None
        else [start.upstream + room, passed - 1 + room]
    )
    spans = [Span(epoch.frontier + 1, highest + 1)]
    # Every writer goes on behind where it was, and was before where it is.
    spans += [Span(tip + 1, tip + room + 1) for tip in tips]
    spans += [Span(place - room, place + 1) for place in known]
    return Inquiry(
        topic=epoch.topic,
        partition=epoch.partition,
        remote=ends.remote,
        source_id=epoch.source_id,
        target_id=epoch.target_id,
        start=start,
        points=points,
        source=unite(
            Span(max(ends.source_start, s.first), min(s.end, ends.source))
            for s in spans
        ),
        target=target,
        passed=passed,
    )
