"""Records what lag, position and skips are given, and what they return."""

from collections.abc import Callable, Iterator
from typing import Any

from mirrorwatch.domain import conservation, lag, resets
from mirrorwatch.domain.view import FlowView
from mirrorwatch.sources.skips.suspects import Suspects

from .seam_trackers import (
    from_empty,
    from_followed,
    from_happenings,
    from_ranges,
    from_suspects,
    from_wanted,
)
from .seam_values import CODEC, from_assignments, from_reading

__all__ = ["tracker_wrappers"]

Wrap = Callable[[Any, Callable[..., Any]], Any]


def tracker_wrappers() -> Iterator[tuple[type, str, Wrap]]:
    """Return what to wrap: class, name of the method, how."""
    yield lag.LagTracker, "take", _take_lag
    yield lag.LagTracker, "wanted", _want_lag
    yield lag.LagTracker, "resolve", _read_lag
    yield resets.ResetWatch, "take", _take_position
    yield conservation.Books, "follow", _follow
    yield conservation.Books, "inquiries", _want_ranges
    yield conservation.Books, "answer", _answer
    yield Suspects, "look", _suspect
    yield Suspects, "count", _count


def _take_lag(recorder: Any, original: Callable[..., Any]) -> Any:
    def take(self: Any, view: FlowView, connectors: Any = ()) -> Any:
        known = self._configs
        configs = known()
        self._configs = lambda: configs
        seen = original(self, view, connectors)
        self._configs = known
        written = {t: CODEC.encode(c) for t, c in configs.items()}
        recorder.put(
            "lag",
            survey=recorder.number(view),
            **recorder.news(configs=written),
            returned=CODEC.encode(seen),
        )
        return seen

    return take


def _want_lag(recorder: Any, original: Callable[..., Any]) -> Any:
    def wanted(self: Any) -> Iterator[Any]:
        found = list(original(self))
        if found:
            recorder.put("lag wants", returned=from_wanted(found))
        return iter(found)

    return wanted


def _read_lag(recorder: Any, original: Callable[..., Any]) -> Any:
    def resolve(self: Any, heads: Any) -> None:
        heads = list(heads)
        original(self, heads)
        recorder.put(
            "lag reads",
            heads=[
                [
                    *h.wanted.place,
                    h.wanted.position,
                    h.wanted.end,
                    h.offset,
                    h.written_at and h.written_at.isoformat(),
                ]
                for h in heads
            ],
        )

    return resolve


def _take_position(recorder: Any, original: Callable[..., Any]) -> Any:
    def take(self: Any, view: FlowView, news: Any) -> Any:
        seen = original(self, view, news)
        recorder.put(
            "position",
            survey=recorder.number(view),
            returned={
                "empty_until": from_empty(news.empty_until),
                "seen": CODEC.encode(seen),
            },
        )
        return seen

    return take


def _follow(recorder: Any, original: Callable[..., Any]) -> Any:
    def follow(self: Any, view: FlowView, syncs: Any) -> None:
        original(self, view, syncs)
        recorder.put(
            "skips",
            survey=recorder.number(view),
            taken=len(list(syncs)),
            returned=from_followed(self),
        )

    return follow


def _want_ranges(recorder: Any, original: Callable[..., Any]) -> Any:
    def inquiries(self: Any) -> Any:
        found = original(self)
        if written := recorder.news(ranges=from_ranges(found)):
            recorder.put("skips wants", returned=written["ranges"])
        return found

    return inquiries


def _answer(recorder: Any, original: Callable[..., Any]) -> Any:
    def answer(self: Any, inquiry: Any, reading: Any, now: Any) -> None:
        before = len(self.happenings)
        original(self, inquiry, reading, now)
        recorder.put(
            "skips reads",
            topic=inquiry.topic,
            partition=inquiry.partition,
            at=now.isoformat(),
            reading=reading and from_reading(reading, recorder.numbered),
            returned=from_happenings(self, inquiry.topic, before),
        )

    return answer


def _suspect(recorder: Any, original: Callable[..., Any]) -> Any:
    def look(self: Any, view: Any, books: Any, assignments: Any) -> None:
        given = list(assignments)
        original(self, view, books, given)
        recorder.put(
            "suspects",
            survey=recorder.number(view),
            **recorder.news(assignments=from_assignments(given)),
            returned=from_suspects(self),
        )

    return look


def _count(recorder: Any, original: Callable[..., Any]) -> Any:
    def count(self: Any, inquiry: Any, records: int) -> None:
        original(self, inquiry, records)
        recorder.put(
            "suspects count",
            topic=inquiry.topic,
            partition=inquiry.partition,
            records=records,
            returned=from_suspects(self),
        )

    return count
