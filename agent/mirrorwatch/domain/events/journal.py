"""Journal of events: compares the findings of each tick with those before."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from ..checks import CODES, fill_in_mirror
from ..finding import Finding, Health, render
from ..report import Cause, Verdict, conclude
from .model import Event

__all__ = ["FOLD", "EventJournal", "JournalState", "Tracked", "title_of"]


FOLD = timedelta(minutes=5)
"""A finding that comes back this soon after its end continues its event, and
so does a loss that grows: as notices do, which take it for one incident
(`FLAPPING`)."""

HOLD = timedelta(minutes=2)
"""Hold before an unknown finding becomes an event: a restart of the agent or
of the mirror takes less (as `UNKNOWN_NOTICE_HOLD`)."""

GRACE = timedelta(minutes=2)
"""Grace period after the start of the agent in which no event ends: sources
and checks have to read again first."""

BLIND = frozenset({"no-data", "stale", "unreadable", "crashed"})
"""Conditions in which a check cannot tell that a finding has ended."""


@dataclass(kw_only=True, slots=True)
class Tracked:
    """Finding that was present, and its event."""

    event: Event
    records: dict[str, int]
    """Numbers of records when the finding was last seen."""

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
        self.unacknowledged: dict[str, list[int]] = {}
        """Losses that make a flow critical, by the numbers of their events."""

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
        self.unacknowledged = {}
        for key, (flow, finding, _) in found.items():
            if finding.past and finding.health is Health.CRITICAL:
                number = self.state.tracked[key].event.id
                self.unacknowledged.setdefault(flow, []).append(number)
        blind = {
            (verdict.flow, verdict.check)
            for verdict in verdicts
            if any(code.partition(".")[2] in BLIND for code in verdict.codes)
        }
        for key in self.state.tracked.keys() - found.keys():
            self._miss(key, blind, now)
        return self._changed, self._told

    def without_acknowledged(
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
                event=event, records=_records(finding)
            )
            return
        event, grown = known.event, _growth(known, finding)
        known.records, known.is_present = _records(finding), True
        was_over = event.until is not None
        if was_over and finding.past and not grown:
            pass  # it is known
        elif event.until is not None and now - event.until > FOLD:
            known.event = self._begin(flow, _part(finding, grown), at, now)
            known.is_whole = False
        else:
            if finding.past or not known.is_whole:
                so_far = Counter(_records(event)) + grown
                finding = _part(finding, so_far, is_whole=known.is_whole)
            known.event = replace(
                event,
                health=max(event.health, finding.health),
                numbers=finding.numbers,
                until=now if finding.past else None,
                times=event.times + (was_over and not finding.past),
            )
            if known.event != event:
                is_told = was_over or finding.past
                self._change(known.event, is_told=is_told)

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


def _records(of: Finding | Event) -> Counter[str]:
    """Return the numbers of records; since the installation, if known."""
    counts = Counter(
        {
            name: value
            for name, value in of.numbers.items()
            if "records" in name and type(value) is int
        }
    )
    if isinstance(of, Finding) and of.total is not None:
        counts["records"] = of.total
    return counts


def _growth(known: Tracked, finding: Finding) -> Counter[str]:
    """Return by how much numbers of records grew."""
    return _records(finding) - Counter(known.records)


def _part(
    finding: Finding, records: Counter[str], *, is_whole: bool = False
) -> Finding:
    """Return a finding of other numbers of records; their ranges are known
    only of the whole.
    """
    numbers = {
        name: value if is_whole or not name.endswith("ranges") else None
        for name, value in finding.numbers.items()
    }
    numbers |= {name: records[name] for name in _records(finding)}
    return replace(finding, numbers=numbers)
