"""Journal of events: compares the findings of each tick with those before."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from ..checks import CODES, fill_in_mirror
from ..finding import Finding, Health, Numbers, render
from ..report import Cause, Verdict, conclude
from .model import Event

__all__ = ["FOLD", "EventJournal", "JournalState", "Tracked", "title_of"]


FOLD = timedelta(minutes=5)
"""A finding that comes back this soon after its end continues its event, and
so does a loss that grows: as notices do, which take it for one incident
(`FLAPPING`)."""

HOLD = timedelta(minutes=2)
"""How long a finding must be unknown to be an event: a restart of the agent
or of the mirror takes less (as `UNKNOWN_NOTICE_HOLD`)."""

GRACE = timedelta(minutes=2)
"""How long after the start of the agent nothing ends: sources and checks have
to see again first."""

BLIND = frozenset({"no-data", "stale", "unreadable", "crashed"})
"""Conditions in which a check cannot tell that a finding has ended."""


@dataclass(kw_only=True, slots=True)
class Tracked:
    """Finding that was present, and its event."""

    event: Event
    numbers: Numbers
    """Numbers of the finding when it was last seen."""

    total: int | None = None
    is_present: bool = True
    is_whole: bool = True
    """Event of all that the finding reports, not only of its growth."""


@dataclass(kw_only=True, slots=True)
class JournalState:
    """State of the journal that must survive a restart."""

    last_id: int = 0
    tracked: dict[str, Tracked] = field(default_factory=dict)
    """Findings by flow, code and subject: present ones, and those that ended
    within `FOLD`."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Number of events by flow and code."""


class _Condition(NamedTuple):
    flow: str
    finding: Finding
    since: datetime | None = None


class EventJournal:
    """Turns the findings and causes of ticks into events.

    Parameters
    ----------
    state
        State of the journal before.
    """

    def __init__(self, state: JournalState) -> None:
        self.state = state
        self._started: datetime | None = None
        self._first_unknown: dict[str, datetime] = {}
        self._first_missing: dict[str, datetime] = {}
        self._changed: list[Event] = []
        self._told: list[Event] = []

    def take(
        self,
        verdicts: Iterable[Verdict],
        causes: Iterable[Cause],
        now: datetime,
    ) -> tuple[list[Event], list[Event]]:
        """Take the findings and causes of one tick.

        Returns
        -------
        tuple
            Events to store; and those of them that began, ended or grew.
        """
        self._changed, self._told = [], []
        self._started = self._started or now
        verdicts, causes = list(verdicts), list(causes)
        found: dict[str, _Condition] = {}
        for condition in _conditions(verdicts, causes):
            key = _key(condition)
            # One that is ok was acknowledged.
            is_bad = condition.finding.health > Health.OK
            if is_bad or key in self.state.tracked:
                found.setdefault(key, condition)
        self._first_unknown = {
            key: self._first_unknown.get(key, now)
            for key, (_, finding, _) in found.items()
            if finding.health is Health.UNKNOWN
        }
        for key, condition in found.items():
            self._first_missing.pop(key, None)
            self._see(key, condition, now)
        blind = {
            (verdict.flow, verdict.check)
            for verdict in verdicts
            if any(code.partition(".")[2] in BLIND for code in verdict.codes)
        }
        for key in self.state.tracked.keys() - found.keys():
            self._miss(key, blind, now)
        return self._changed, self._told

    def acknowledge(
        self, verdict: Verdict, acknowledged: Mapping[int, datetime]
    ) -> Verdict:
        """Return a verdict in which acknowledged losses are ok, unless they
        have grown since.

        Parameters
        ----------
        verdict
            Verdict of this tick.
        acknowledged
            Ends of the events when they were acknowledged, by number.
        """

        def is_known(finding: Finding) -> bool:
            key = _key(_Condition(verdict.flow, finding))
            known = self.state.tracked.get(key)
            return (
                finding.past
                and known is not None
                and known.event.until is not None
                and acknowledged.get(known.event.id) == known.event.until
                and not _growth(known, finding)
            )

        if not any(map(is_known, verdict.findings)):
            return verdict
        return conclude(
            [
                replace(f, health=Health.OK) if is_known(f) else f
                for f in verdict.findings
            ],
            flow=verdict.flow,
            check=verdict.check,
            now=verdict.since,
            evidence=verdict.evidence,
        )

    def _see(self, key: str, condition: _Condition, now: datetime) -> None:
        flow, finding, since = condition
        first = self._first_unknown.get(key)
        known = self.state.tracked.get(key)
        is_new = known is None or not known.is_present
        if is_new and first is not None and now - first < HOLD:
            return
        at = since or first or now
        if known is None:
            event = self._begin(flow, finding, at, now)
            self.state.tracked[key] = Tracked(
                event=event, numbers=finding.numbers, total=finding.total
            )
            return
        grown = _growth(known, finding)
        event = known.event
        numbers = _sum(event.numbers, finding.numbers, grown)
        if not finding.past and known.is_whole:
            numbers = finding.numbers
        if not known.is_whole:
            numbers = _without_ranges(numbers)
        continued = replace(
            event, health=max(event.health, finding.health), numbers=numbers
        )
        is_folded = event.until is None or now - event.until <= FOLD
        if finding.past and event.until is not None and not grown:
            pass  # it is known
        elif not is_folded:
            rest = _without_ranges(_sum({}, finding.numbers, grown))
            part = replace(finding, numbers=rest)
            known.event = self._begin(flow, part, at, now)
            known.is_whole = False
        elif finding.past:
            known.event = replace(continued, until=now)
            self._change(known.event, is_told=True)
        elif event.until is not None:
            known.event = replace(continued, until=None, times=event.times + 1)
            self._change(known.event, is_told=True)
        elif continued != event:
            known.event = continued
            self._change(continued)
        known.numbers, known.total = finding.numbers, finding.total
        known.is_present = True

    def _begin(
        self, flow: str, finding: Finding, at: datetime, now: datetime
    ) -> Event:
        state = self.state
        state.last_id += 1
        counts = state.counts.setdefault(flow, {})
        counts[finding.code] = counts.get(finding.code, 0) + 1
        event = Event(
            id=state.last_id,
            flow=flow,
            code=finding.code,
            health=finding.health,
            at=at,
            until=now if finding.past else None,
            subject=finding.subject,
            numbers=finding.numbers,
        )
        self._change(event, is_told=True)
        return event

    def _miss(
        self, key: str, blind: set[tuple[str, str]], now: datetime
    ) -> None:
        known = self.state.tracked[key]
        event = known.event
        if known.is_present:
            if (event.flow, event.code.partition(".")[0]) in blind:
                return
            since = self._first_missing.setdefault(key, now)
            if self._started is None or now - self._started < GRACE:
                return
            del self._first_missing[key]
            known.is_present = False
            if event.until is None:
                event = known.event = replace(event, until=since)
                self._change(event, is_told=True)
        if event.until is not None and now - event.until > FOLD:
            del self.state.tracked[key]

    def _change(self, event: Event, *, is_told: bool = False) -> None:
        self._changed.append(event)
        if is_told:
            self._told.append(event)


def title_of(event: Event, mirror: str) -> str:
    """Return the catalogue's sentence of an event; its code if the catalogue
    has none.
    """
    values = {"mirror": "{mirror}", **event.numbers, **event.subject}
    try:
        title = render(CODES[event.code].title, values)
    except KeyError:  # kept by an agent with another catalogue
        return event.code
    return fill_in_mirror(title, mirror)


def _conditions(
    verdicts: Iterable[Verdict], causes: Iterable[Cause]
) -> Iterator[_Condition]:
    """Yield findings that have a catalogue entry of their own, and causes.

    A check that is unknown because of a cause adds nothing to it.
    """
    symptoms = {
        (cause.flow, check) for cause in causes for check in cause.symptoms
    }
    for cause in causes:
        health = Health.CRITICAL if cause.stops else Health.WARNING
        finding = Finding(cause.code, health, cause.reason, cause.subject)
        yield _Condition(cause.flow, finding, cause.since)
    for verdict in verdicts:
        is_symptom = (verdict.flow, verdict.check) in symptoms
        for finding in verdict.findings:
            code, health = CODES.get(finding.code), finding.health
            if code is None or not code.meaning:
                continue
            if health <= Health.OK and not finding.past:
                continue
            if health is not Health.UNKNOWN or not is_symptom:
                yield _Condition(verdict.flow, finding)


def _key(condition: _Condition) -> str:
    """Return the identity of a finding: its partition is not part of it, as
    more partitions of a topic may follow; the night of an audit is.
    """
    flow, finding, _ = condition
    subject = {k: v for k, v in finding.subject.items() if k != "partition"}
    night = finding.numbers.get("audited_until")
    identity = [flow, finding.code, sorted(subject.items()), night]
    return json.dumps(identity)


def _is_loss(name: str, value: object) -> bool:
    return "records" in name and type(value) is int


def _growth(known: Tracked, finding: Finding) -> Numbers:
    """Return by how much numbers of records grew."""
    before, now = dict(known.numbers), dict(finding.numbers)
    if finding.total is not None:
        before["records"], now["records"] = known.total, finding.total
    grown: dict[str, int] = {}
    for name, value in now.items():
        if isinstance(value, int) and _is_loss(name, value):
            old = before.get(name)
            more = value - (old if isinstance(old, int) else 0)
            if more > 0:
                grown[name] = more
    return grown


def _sum(old: Numbers, new: Numbers, grown: Numbers) -> Numbers:
    """Return new numbers; of records, the old ones plus growth."""
    summed = dict(new)
    for name, value in new.items():
        if _is_loss(name, value):
            before, more = old.get(name), grown.get(name)
            summed[name] = (before if isinstance(before, int) else 0) + (
                more if isinstance(more, int) else 0
            )
    return summed


def _without_ranges(numbers: Numbers) -> Numbers:
    return {
        name: None if name.endswith("ranges") else value
        for name, value in numbers.items()
    }
