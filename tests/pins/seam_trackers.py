"""The trackers of a flow, fed with recorded facts: a seam of the pins.

`Trackers.take` takes one recorded event and returns what its tracker made of
it, as JSON. What the trackers are called, and how many there are, is known
here alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from mirrorwatch.domain.cluster_view import FlowView
from mirrorwatch.domain.lag.model import FirstRecord, ReadAt
from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.domain.position.model import PositionState
from mirrorwatch.domain.position.tracker import PositionInputs, PositionTracker
from mirrorwatch.domain.skips.model import (
    RangeRequest,
    SkipEvent,
    SuspectedDrop,
)
from mirrorwatch.domain.skips.tracker import SkipTracker
from mirrorwatch.sources.skips import SuspectedDrops

from .neutral import in_order
from .seam_canary import CanaryReplay
from .seam_values import (
    CODEC,
    Json,
    to_assignments,
    to_configs,
    to_connectors,
    to_reading,
    to_syncs,
    to_view,
)

__all__ = ["Trackers", "from_empty", "from_followed", "from_happenings"]
__all__ += ["from_range", "from_ranges", "from_suspects", "from_wanted"]

UNASKED = "the range that was answered is not asked for"


class Trackers:
    """Everything that follows one flow, as new."""

    def __init__(self, setting: Json) -> None:
        self._configs: dict[str, Any] = {}
        self._lag = LagTracker(
            flow=setting["flow"],
            class_of=lambda _: "",
            configs=lambda: self._configs,
        )
        self._position = PositionTracker(
            flow=setting["flow"],
            source=setting["source"],
            target=setting["target"],
            state=PositionState(),
            internal=setting["internal"],
            memory=_span(setting["memory"]),
        )
        self._skips = SkipTracker()
        self._suspects = SuspectedDrops(_span(setting["patience"]))
        self._canary = CanaryReplay(setting)
        self._survey: Json = {}
        self._views: dict[int, Json] = {}
        self._assignments: list[Any] = []
        self._kinds: dict[str, Callable[[Json], Any]] = {
            "survey": self._take_survey,
            "lag": self._take_lag,
            "lag wants": lambda _: from_wanted(self._lag.wanted()),
            "lag reads": self._take_first_records,
            "position": self._take_position,
            "skips": self._follow,
            "skips wants": lambda _: from_ranges(self._skips.requests()),
            "skips reads": self._answer,
            "suspects": self._suspect,
            "suspects count": self._count,
        }

    def take(self, event: Json) -> Any:
        """Take an event; return what is made of it."""
        kind = event["kind"]
        if kind.startswith("canary "):
            return self._canary.take(event)
        return self._kinds[kind](event)

    def _take_survey(self, event: Json) -> None:
        # What did not change since the survey before is not written again.
        self._survey = self._survey | event
        self._views[event["survey"]] = self._survey

    def _take_lag(self, event: Json) -> Any:
        if "configs" in event:
            self._configs = to_configs(event["configs"])
        known = self._views[event["survey"]]
        seen = self._lag.take(
            to_view(known["view"]), to_connectors(known["connectors"])
        )
        return CODEC.encode(seen)

    def _take_first_records(self, event: Json) -> None:
        self._lag.resolve(
            FirstRecord(
                ReadAt((topic, partition), position, end),
                offset,
                None if at is None else datetime.fromisoformat(at),
            )
            for topic, partition, position, end, offset, at in event["heads"]
        )

    def _take_position(self, event: Json) -> Any:
        known = self._views[event["survey"]]
        empty = self._lag.empty_until()
        news = PositionInputs(
            homes=known["homes"],
            empty_until=empty,
            from_end=any(
                c.starts_at_end for c in to_connectors(known["connectors"])
            ),
            problems=known["problems"],
        )
        seen = self._position.take(_to_view(known), news)
        return {"empty_until": from_empty(empty), "seen": CODEC.encode(seen)}

    def _follow(self, event: Json) -> Any:
        known = self._views[event["survey"]]
        self._skips.follow(_to_view(known))
        return from_followed(self._skips)

    def _answer(self, event: Json) -> Any:
        asked = self._asked(self._skips.requests(), event)
        if asked is None:
            return UNASKED
        reading = event["reading"]
        self._skips.events.clear()
        self._skips.answer(
            asked,
            None if reading is None else to_reading(reading),
            datetime.fromisoformat(event["at"]),
        )
        return from_happenings(self._skips, asked.topic, 0)

    def _suspect(self, event: Json) -> Any:
        if "assignments" in event:
            self._assignments = event["assignments"]
        known = self._views[event["survey"]]
        self._suspects.look(
            to_view(known["view"]),
            self._skips,
            to_assignments(self._assignments),
        )
        return from_suspects(self._suspects)

    def _count(self, event: Json) -> Any:
        asked = self._asked(self._suspects.wanted(), event)
        if asked is None:
            return UNASKED
        self._suspects.count(asked, event["records"])
        return from_suspects(self._suspects)

    @staticmethod
    def _asked(
        wanted: Iterable[RangeRequest], event: Json
    ) -> RangeRequest | None:
        place = (event["topic"], event["partition"])
        return next((i for i in wanted if i.place == place), None)


def _to_view(known: Json) -> FlowView:
    """Read a survey, with the syncs that came with it."""
    return replace(to_view(known["view"]), new_syncs=to_syncs(known["syncs"]))


def from_wanted(wanted: Iterable[ReadAt]) -> list[Any]:
    """Write where records are to be read."""
    return [[*w.place, w.position, w.end] for w in wanted]


def from_empty(empty: Any) -> list[Any]:
    """Write up to where no data follows positions."""
    return in_order([*place, offset] for place, offset in empty.items())


def from_range(asked: RangeRequest) -> Json:
    """Write which offsets are to be read on both sides."""
    points = [asked.start, *asked.points]
    return {
        "topic": asked.topic,
        "partition": asked.partition,
        "target_topic": asked.remote,
        "ids": [asked.source_id, asked.target_id],
        "pairs": [[p.upstream, p.downstream] for p in points],
        "source": [[span.first, span.end] for span in asked.source],
        "target": [asked.target.first, asked.target.end],
        "passed": asked.passed,
        "only_count": asked.only_count,
    }


def from_ranges(asked: Iterable[RangeRequest]) -> list[Any]:
    """Write all of them; their order says nothing."""
    return in_order(from_range(request) for request in asked)


def from_followed(books: SkipTracker) -> Json:
    """Write what is known of skips after a survey."""
    found = {t: CODEC.encode(tally) for t, tally in books.tallies.items()}
    return {
        "partitions": len(books.surveyed),
        "blind": books.blind,
        "tallies": dict(sorted(found.items())),
        "positions": from_empty(books.positions(books.surveyed)),
    }


def from_happenings(books: SkipTracker, topic: str, first: int) -> Json:
    """Write what reading a range has shown."""
    new: list[SkipEvent] = books.events[first:]
    tally = books.tallies.get(topic)
    return {
        "new": [CODEC.encode(skip) for skip in new],
        "missing": [books.missing(skip) for skip in new],
        "tally": None if tally is None else CODEC.encode(tally),
    }


def from_suspects(suspects: SuspectedDrops) -> Json:
    """Write what seems to be dropped."""
    found: tuple[SuspectedDrop, ...] = suspects.found()
    return {
        "found": [CODEC.encode(suspicion) for suspicion in found],
        "left_behind": in_order(suspects.left_behind),
        "wants": from_ranges(suspects.wanted()),
    }


def _span(microseconds: int) -> timedelta:
    return timedelta(microseconds=microseconds)
