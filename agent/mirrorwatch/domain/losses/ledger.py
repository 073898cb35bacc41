"""Ledger of the records of one flow that are lost for good.

It reads counters that others keep, so that nothing is counted twice, and only
adds the time at which they grew.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..position.model import PositionObservation, resets_of
from ..skips.model import SkipsObservation
from .model import LossesObservation, LostRecords, TopicLosses

__all__ = ["LossLedger"]

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

TOGETHER = timedelta(minutes=1)
"""Time within which losses of a topic are one entry."""

NAMED = 1000
"""Entries that keep their topic, the newest: a broken transform must not fill
the disk."""


@dataclass(kw_only=True, slots=True)
class LossLedger:
    """Losses of one flow since the installation, and when they were found."""

    since: datetime | None = None
    totals: dict[str, LostRecords] = field(default_factory=dict)
    """Highest counters by topic: they survive a topic that is gone."""

    recent: list[TopicLosses] = field(default_factory=list)
    """Losses within a day."""

    def take(
        self,
        skips: SkipsObservation | None,
        position: PositionObservation | None,
        now: datetime,
    ) -> bool:
        """Take what was observed in one tick; return whether to save it."""
        is_new = self.since is None
        self.since = self.since or now
        grown = []
        for topic, lost in _counters(skips, position):
            before = self.totals.get(topic, LostRecords())
            after = before | lost
            if after != before:
                self.totals[topic] = after
                loss = TopicLosses(topic=topic, at=now, lost=after - before)
                grown.append(loss)
        if grown:
            within = [e for e in self.recent if now - e.at < DAY]
            self.recent = _bound([*within, *grown])
        return is_new or bool(grown)

    def observe(
        self,
        flow: str,
        skips: SkipsObservation | None,
        position: PositionObservation | None,
        now: datetime,
    ) -> LossesObservation:
        """Return the losses of all time, and of the last hour and day.

        What expires while the mirror is stopped is part of all of them; how
        much it is in the end is known once the mirror goes on.
        """
        opened = list(self._open_losses(skips, position, now))
        recent = [e for e in self.recent if now - e.at < DAY]
        hour = [e for e in recent if now - e.at < HOUR]
        lost = sum((e.lost for e in opened), LostRecords())
        topics: dict[str, TopicLosses] = {}
        for each in sorted([*recent, *opened], key=lambda e: e.at):
            if each.lost.records or each.lost.at_most:
                before = topics.pop(each.topic, None)
                topics[each.topic] = _join(before, each)
        known = () if skips is None else skips.counters
        return LossesObservation(
            flow=flow,
            at=now,
            since=self.since or now,
            hour=sum((e.lost for e in hour), lost),
            day=sum((e.lost for e in recent), lost),
            total=sum(self.totals.values(), lost),
            topics=tuple(reversed(topics.values())),
            counters={topic: LostRecords() for topic, _ in known}
            | self.totals,
        )

    def _open_losses(
        self,
        skips: SkipsObservation | None,
        position: PositionObservation | None,
        now: datetime,
    ) -> Iterator[TopicLosses]:
        """Yield what open resets lost beyond what is counted."""
        if position is None:
            return
        opened: dict[str, LostRecords] = {}
        for reset in resets_of(position, skips):
            if reset.settled is None and reset.lost:
                before = opened.get(reset.topic, LostRecords())
                opened[reset.topic] = before + reset.lost
        yield from (
            TopicLosses(topic=topic, at=now, lost=lost)
            for topic, lost in opened.items()
        )


def _counters(
    skips: SkipsObservation | None, position: PositionObservation | None
) -> Iterator[tuple[str, LostRecords]]:
    for topic, counted in () if skips is None else skips.counters:
        if counted.skipped or counted.expired:
            yield (
                topic,
                LostRecords(
                    dropped=counted.skipped - counted.filtered,
                    expired=counted.expired,
                    recovered=counted.recovered,
                ),
            )
    if position is not None:
        yield from position.lost.items()


def _bound(losses: list[TopicLosses]) -> list[TopicLosses]:
    """Return losses of a topic and minute as one, and the oldest of too many
    without their topic.
    """
    named = [each for each in losses if each.topic]
    if len(named) > NAMED:
        first = set(map(id, named[:-NAMED]))
        losses = [
            replace(each, topic="") if id(each) in first else each
            for each in losses
        ]
    return list(_merge(losses))


def _merge(losses: Iterable[TopicLosses]) -> Iterable[TopicLosses]:
    found: dict[tuple[str, float], TopicLosses] = {}
    for each in losses:
        minute = each.at.timestamp() // TOGETHER.total_seconds()
        before = found.get((each.topic, minute))
        found[each.topic, minute] = _join(before, each)
    return found.values()


def _join(before: TopicLosses | None, newer: TopicLosses) -> TopicLosses:
    if before is None:
        return newer
    return replace(newer, lost=before.lost + newer.lost)
