"""The journal of events: one event for each thing that happened."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mirrorwatch.domain.canary import texts as canary
from mirrorwatch.domain.events.journal import (
    EventJournal,
    JournalState,
    title_of,
)
from mirrorwatch.domain.events.model import Event
from mirrorwatch.domain.finding import Finding, Health
from mirrorwatch.domain.lag import texts as lag
from mirrorwatch.domain.position import texts as position
from mirrorwatch.domain.report import Cause, Verdict, conclude
from mirrorwatch.domain.skips import texts as skips
from mirrorwatch.state import Database
from mirrorwatch.state.documents import from_json, to_json
from mirrorwatch.state.events import MOST_KEPT, EventStore
from tests.support.builders import FLOW, NOON, a_cause

TICK = timedelta(seconds=5)
LONG = NOON - timedelta(hours=1)


def lost(records: int, total: int | None = None, **subject: Any) -> Finding:
    found = skips.DROPPED.found(
        Health.CRITICAL,
        {"topic": "a"} | subject,
        records=records,
        ranges="0: 3",
    )
    return replace(found, total=total)


def expired(records: int, *, past: bool = False) -> Finding:
    found = position.EXPIRED_UNREAD.found(
        Health.CRITICAL,
        {"topic": "a"},
        expired_records=records,
        source="summit",
    )
    return replace(found, past=past)


OVERDUE = canary.OVERDUE.found(
    Health.CRITICAL,
    {"topic": "canary"},
    partitions=1,
    all_partitions=6,
    seconds=31.0,
)
SILENT = canary.SILENT.found(
    Health.UNKNOWN,
    {"topic": "canary"},
    partitions=1,
    all_partitions=6,
    seconds=30.0,
)
NO_DATA = canary.NO_DATA.found(Health.UNKNOWN)
OK = canary.OK.found(
    Health.OK, partitions=6, warming_partitions=0, new_partitions=None
)
STALE = lag.STALE.found(Health.UNKNOWN, seconds=70.0)


def verdicts(found: Sequence[Finding], now: datetime) -> list[Verdict]:
    return [
        conclude(
            [f for f in found if f.code.startswith(f"{check}.")] or [OK],
            flow=FLOW.name,
            check=check,
            now=now,
            evidence={},
        )
        for check in ("canary", "lag", "skips", "position")
    ]


def play(
    *ticks: tuple[float, Sequence[Finding]],
    causes: Sequence[Cause] = (),
) -> list[Event]:
    """Return the events of ticks, by the seconds of each, of an agent that
    has run for an hour and is restarted at each tick.
    """
    state, events = JournalState(), dict[int, Event]()
    for seconds, found in ticks:
        journal = EventJournal(JournalState())
        journal.take([], [], LONG)
        journal.state = from_json(JournalState, to_json(state))
        now = NOON + timedelta(seconds=seconds)
        changed, _ = journal.take(verdicts(found, now), causes, now)
        events |= {event.id: event for event in changed}
        state = journal.state
    return list(events.values())


def told(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    def seconds(at: datetime | None) -> float | None:
        return None if at is None else (at - NOON).total_seconds()

    return [
        (
            event.code,
            seconds(event.at),
            seconds(event.until),
            event.numbers.get("records", event.numbers.get("expired_records")),
            event.times,
        )
        for event in events
    ]


OPEN = "canary.overdue"
LOST, EXPIRED = "skips.dropped", "position.expired-unread"


@pytest.mark.parametrize(
    ("ticks", "events"),
    [
        pytest.param([(0, [OK, NO_DATA, STALE])], [], id="nothing happened"),
        pytest.param(
            [(0, []), (5, [OVERDUE]), (10, [OVERDUE]), (15, [])],
            [(OPEN, 5, 15, None, 1)],
            id="it began and ended",
        ),
        pytest.param(
            [(0, [OVERDUE]), (5, [NO_DATA]), (10, [OVERDUE])],
            [(OPEN, 0, None, None, 1)],
            id="a check that cannot see ends nothing",
        ),
        pytest.param(
            [(0, [OVERDUE]), (5, []), (200, [OVERDUE]), (210, [])],
            [(OPEN, 0, 210, None, 2)],
            id="flapping is one event",
        ),
        pytest.param(
            [(0, [OVERDUE]), (5, []), (400, [OVERDUE])],
            [(OPEN, 0, 5, None, 1), (OPEN, 400, None, None, 1)],
            id="later it is another one",
        ),
        pytest.param(
            [(0, [lost(5)]), (5, [lost(5)]), (4000, [])],
            [(LOST, 0, 0, 5, 1)],
            id="a loss is a moment",
        ),
        pytest.param(
            [(0, [lost(5, partition=0)]), (5, [lost(7)]), (10, [lost(7)])],
            [(LOST, 0, 5, 7, 1)],
            id="a loss that grows on another partition is one event",
        ),
        pytest.param(
            [(0, [lost(5)]), (900, [lost(7)]), (910, [lost(8)])],
            [(LOST, 0, 0, 5, 1), (LOST, 900, 910, 3, 1)],
            id="what is lost later is another event",
        ),
        pytest.param(
            [(0, [lost(5, 5)]), (5, [lost(5, 8)]), (9, [lost(2, 8)])],
            [(LOST, 0, 5, 8, 1)],
            id="records that leave the window hide no new ones",
        ),
        pytest.param(
            [(0, [lost(5)]), (5, [lost(2)]), (9, [lost(3)])],
            [(LOST, 0, 9, 6, 1)],
            id="an event never shrinks",
        ),
        pytest.param(
            [
                (0, [expired(10)]),
                (400, [expired(600)]),
                (405, [expired(605, past=True)]),
                (410, [expired(605, past=True)]),
            ],
            [(EXPIRED, 0, 405, 605, 1)],
            id="records expire until the mirror goes on",
        ),
        pytest.param(
            [
                (0, [expired(10, past=True)]),
                (900, [expired(30)]),
                (905, [expired(35, past=True)]),
            ],
            [(EXPIRED, 0, 0, 10, 1), (EXPIRED, 900, 905, 25, 1)],
            id="the second loss of a topic is an event of its own",
        ),
    ],
)
def test_events_of_findings(
    ticks: list[tuple[float, Sequence[Finding]]],
    events: list[tuple[Any, ...]],
) -> None:
    assert told(play(*ticks)) == events


def test_what_is_unknown_is_an_event_once_it_lasts() -> None:
    journal, events = EventJournal(JournalState()), list[Event]()
    for seconds in (0, 60, 115, 120, 180):
        now = NOON + timedelta(seconds=seconds)
        _, begun = journal.take(verdicts([SILENT], now), [], now)
        events += begun
    assert told(events) == [("canary.silent", 0, None, None, 1)]
    quiet = EventJournal(JournalState())
    for seconds in (0, 600):
        now = NOON + timedelta(seconds=seconds)
        # It is a symptom of the cause.
        _, begun = quiet.take(verdicts([SILENT], now), [a_cause()], now)
        assert "canary.silent" not in {event.code for event in begun}


def test_nothing_ends_until_a_new_agent_has_seen_for_a_while() -> None:
    journal = EventJournal(JournalState())
    journal.take(verdicts([OVERDUE], NOON), [], NOON)
    ends = list[tuple[float, datetime | None]]()
    again = EventJournal(journal.state)
    for seconds in (5, 60, 124, 125, 130):
        now = NOON + timedelta(seconds=seconds)
        changed, _ = again.take(verdicts([], now), [], now)
        ends += [(seconds, event.until) for event in changed]
    assert ends == [(125, NOON + timedelta(seconds=5))]


def test_a_cause_is_an_event_since_its_first_sign() -> None:
    cause = replace(a_cause(), subject={"cluster": "summit"})
    journal = EventJournal(JournalState())
    journal.take([], [], LONG)
    _, begun = journal.take([], [cause], NOON)
    other = replace(cause, code="mirror.stopped")
    _, changed = journal.take([], [other], NOON + TICK)
    assert told(begun) == [("link.broken", -120, None, None, 1)]
    assert told(changed) == [
        ("mirror.stopped", -120, None, None, 1),
        ("link.broken", -120, 5, None, 1),
    ]
    assert journal.state.counts == {
        FLOW.name: {"link.broken": 1, "mirror.stopped": 1}
    }


def test_the_sentence_is_that_of_the_catalogue_with_the_numbers() -> None:
    first, later = play((0, [lost(5)]), (900, [lost(7)]))
    assert "5 records of a (0: 3)" in title_of(first, "MM2")
    # The ranges are those of both.
    assert title_of(later, "MM2").endswith("2 records of a")
    assert title_of(replace(first, code="gone.by"), "MM2") == "gone.by"


def test_events_are_kept_with_their_journal_or_not_at_all() -> None:
    database = Database(None)
    store = EventStore(database, {})

    def codes(of: EventStore) -> list[str]:
        return [event.code for event in of.read(NOON, 10)]

    store.take(verdicts([OVERDUE], NOON), [], NOON)
    # The agent is killed before it writes.
    assert codes(store) == []
    assert EventStore(database, {}).counts == {}
    store.save(NOON)
    assert codes(store) == [OPEN]
    restarted = EventStore(database, {})
    told_ = restarted.take(verdicts([OVERDUE, lost(1)], NOON), [], NOON + TICK)
    assert [event.code for event in told_] == [LOST]
    assert restarted.counts == {FLOW.name: {OPEN: 1, LOST: 1}}
    restarted.save(NOON + TICK)
    assert codes(restarted) == [LOST, OPEN]
    # An hour later only the open one is not over.
    later = restarted.read(NOON + timedelta(hours=1), 10)
    assert [event.code for event in later] == [OPEN]


@pytest.mark.parametrize(
    ("later", "health"),
    [
        ([lost(5)], Health.OK),
        ([lost(6)], Health.CRITICAL),
        ([lost(5), expired(3, past=True)], Health.CRITICAL),
        ([lost(5), OVERDUE], Health.OK),
        ([], Health.OK),
    ],
    ids=["known", "it grew", "another one", "another check", "over"],
)
def test_an_acknowledged_loss_is_critical_no_more_until_it_grows(
    later: list[Finding], health: Health
) -> None:
    database = Database(None)
    store = EventStore(database, {})
    store.take(verdicts([lost(5)], NOON), [], NOON)
    store.save(NOON)
    (event,) = store.read(NOON, 10)
    EventStore(database, {}).acknowledge(event)
    now = NOON + TICK
    for tick in range(200):
        if tick % 60 == 0:  # a restart
            again = EventStore(database, {})
        seen = verdicts(later, now)
        shown = again.without_acknowledged(seen)
        again.take(shown, [], now)
        again.save(now)
        worst = max(
            v.health for v in shown if v.check in {"skips", "position"}
        )
        assert worst is health
        assert [v.health for v in shown if v.check == "canary"] == [
            v.health for v in seen if v.check == "canary"
        ]
        now += TICK
    (first,) = [e for e in again.read(NOON, 10) if e.id == event.id]
    assert first.health is Health.CRITICAL
    assert again.counts[event.flow][event.code] == 1


def test_what_is_not_over_cannot_be_acknowledged() -> None:
    database = Database(None)
    store = EventStore(database, {})
    (event,) = store.take(verdicts([OVERDUE], NOON), [], NOON)
    store.save(NOON)
    EventStore(database, {}).acknowledge(event)
    assert EventStore(database, {}).acknowledged == {}


def test_old_events_and_too_many_are_dropped() -> None:
    database = Database(None)

    def ids(now: datetime, *found: Finding) -> list[int]:
        store = EventStore(database, {})
        store.take(verdicts(found, NOON), [], NOON)
        store.save(now)
        with database.transaction() as sql:
            return [row for (row,) in sql.execute("SELECT id FROM events")]

    assert ids(NOON, OVERDUE, lost(1)) == [1, 2]
    # The open one stays.
    assert ids(NOON + timedelta(days=91), lost(2)) == [1]
    with database.transaction() as sql:
        sql.execute("DELETE FROM documents")
        sql.execute("UPDATE events SET id = ?", (MOST_KEPT,))
    assert ids(NOON, lost(1)) == [MOST_KEPT, MOST_KEPT + 1]
    with database.transaction() as sql:
        sql.execute("DELETE FROM documents")
        sql.execute("UPDATE events SET id = 1 WHERE id = ?", (MOST_KEPT,))
    assert ids(NOON, lost(1)) == [MOST_KEPT + 1, MOST_KEPT + 2]
