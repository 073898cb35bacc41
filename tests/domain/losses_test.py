"""The ledger of records that are lost for good."""

from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.copies.out_of_range import OutOfRange
from mirrorwatch.domain.losses import ledger as ledgers
from mirrorwatch.domain.losses.ledger import LossLedger
from mirrorwatch.domain.losses.model import LossesObservation, LostRecords
from mirrorwatch.domain.position.model import (
    PositionObservation,
    PositionState,
    Reset,
    ResetKind,
)
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.state import Database
from mirrorwatch.state.documents import from_json, to_json
from mirrorwatch.state.losses import LossStore
from tests.support.builders import FLOW, NOON

MINUTE = timedelta(minutes=1)


def dropped(skipped: int, **more: Any) -> SkipsObservation:
    counters = CopyCounters(skipped=skipped, **more)
    return SkipsObservation(
        flow=FLOW.name, at=NOON, partitions=1, counters=(("a", counters),)
    )


def at(state: PositionState) -> PositionObservation:
    return PositionObservation(
        flow=FLOW.name,
        at=NOON,
        source=FLOW.source,
        target=FLOW.target,
        resets=tuple(state.resets.values()),
        counts=state.counts,
        lost=dict(state.lost),
    )


def expiring(**what: Any) -> tuple[PositionState, Reset]:
    """Return a state with 60 records of `b` that expired uncopied."""
    state = PositionState()
    given: dict[str, Any] = {
        "kind": ResetKind.EXPIRED,
        "first": 10,
        "end": 70,
    } | what
    return state, state.begin(topic="b", at=NOON, partition=0, **given)


def total(state: PositionState) -> LostRecords:
    ledger = LossLedger()
    ledger.take(None, at(state), NOON)
    return ledger.observe(FLOW.name, None, at(state), NOON).total


SETTLED = {"settled": NOON}


@pytest.mark.parametrize(
    ("reset", "lost"),
    [
        ({}, LostRecords(expired=60)),
        (SETTLED, LostRecords(expired=60)),
        ({"at_most": True}, LostRecords(at_most=60)),
        (SETTLED | {"at_most": True}, LostRecords(at_most=60)),
        # What the mirror left out of a log that holds it is counted as
        # dropped.
        (SETTLED | {"kind": ResetKind.BEYOND}, LostRecords()),
        (SETTLED | {"kind": ResetKind.REWIND}, LostRecords()),
        (
            SETTLED | {"kind": ResetKind.TARGET_RECREATED, "gone": 7},
            LostRecords(at_most=7),
        ),
        (
            {"kind": ResetKind.SOURCE_RECREATED, "gone": 7},
            LostRecords(at_most=7),
        ),
    ],
)
def test_resets_count_by_what_they_lost(
    reset: dict[str, object], lost: LostRecords
) -> None:
    assert total(expiring(**reset)[0]) == lost


def watched(
    *, expired: int = 0, expiring: tuple[int, int, int] | None = None
) -> SkipsObservation:
    """Return copies of `b`: records that expired, and that still do from an
    offset on, for sure from another one on, to a third.
    """
    found: tuple[OutOfRange, ...] = ()
    if expiring is not None:
        first, sure_from, end = expiring
        found = (
            OutOfRange(
                topic="b",
                partition=0,
                first=first,
                sure_from=sure_from,
                end=end,
                since=NOON,
                log_end=99,
                copies_end=9,
            ),
        )
    return replace(
        dropped(0),
        counters=(("b", CopyCounters(expired=expired)),),
        out_of_range=found,
    )


def test_what_expires_counts_once_from_the_first_moment_on() -> None:
    ledger, position = LossLedger(), at(PositionState())
    for skips, lost in (
        (watched(expiring=(10, 10, 70)), LostRecords(expired=60)),
        (watched(expiring=(10, 20, 70)), LostRecords(expired=50, at_most=10)),
        (watched(expired=60), LostRecords(expired=60)),
        (
            watched(expired=60, expiring=(80, 80, 85)),
            LostRecords(expired=65),
        ),
        (watched(expired=65), LostRecords(expired=65)),
    ):
        ledger.take(skips, position, NOON)
        found = ledger.observe(FLOW.name, skips, position, NOON)
        assert (found.hour, found.day, found.total) == (lost, lost, lost)


def windows(seen: LossesObservation) -> tuple[int, int, int]:
    return seen.hour.records, seen.day.records, seen.total.records


def test_windows_end_and_the_total_stays() -> None:
    ledger, now = LossLedger(), NOON
    assert ledger.take(dropped(7), None, now)
    assert not ledger.take(dropped(7), None, now + 5 * MINUTE)
    for minutes, counted, seen in (
        (59, 7, (7, 7, 7)),
        (61, 7, (0, 7, 7)),
        (62, 9, (2, 9, 9)),
        # Counters that could not be written are those of before.
        (63, 8, (2, 9, 9)),
        (64, 9, (2, 9, 9)),
        # Out of the selection: what it lost is lost all the same.
        (24 * 60 - 1, None, (0, 9, 9)),
        (24 * 60 + 1, None, (0, 2, 9)),
        (25 * 60 + 3, 9, (0, 0, 9)),
    ):
        at, skips = NOON + minutes * MINUTE, counted and dropped(counted)
        ledger.take(skips or None, None, at)
        found = ledger.observe(FLOW.name, skips or None, None, at)
        assert windows(found) == seen
        assert found.counters == {"a": LostRecords(dropped=seen[2])}
        assert bool(found.topics) is (seen[1] > 0)
        assert found.since == NOON


@pytest.mark.parametrize(
    ("counted", "records", "missing"),
    [
        (dropped(7), 7, 7),
        (dropped(7, recovered=5), 7, 2),
        (dropped(7, filtered=4), 3, 3),
        # Some of what was copied later was to be filtered.
        (dropped(7, filtered=4, recovered=5), 3, 0),
        (dropped(7, filtered=7), 0, 0),
    ],
)
def test_dropped_records_count_and_those_copied_later_are_told(
    counted: SkipsObservation, records: int, missing: int
) -> None:
    ledger = LossLedger()
    ledger.take(counted, None, NOON)
    lost = ledger.observe(FLOW.name, counted, None, NOON).total
    assert (lost.records, lost.missing) == (records, missing)


def test_records_of_a_topic_that_were_dropped_and_that_expired_add_up() -> (
    None
):
    state, reset = expiring()
    state.change(reset, settled=NOON)
    skips = replace(dropped(7), counters=(("b", CopyCounters(skipped=7)),))
    ledger = LossLedger()
    ledger.take(skips, at(state), NOON)
    found = ledger.observe(FLOW.name, skips, at(state), NOON)
    assert found.total == LostRecords(dropped=7, expired=60)
    assert found.counters == {"b": found.total}


def test_the_newest_topic_comes_first_with_all_its_losses() -> None:
    ledger = LossLedger()
    state, reset = expiring()
    ledger.take(dropped(2), at(state), NOON)
    state.change(reset, settled=NOON)
    ledger.take(dropped(2), at(state), NOON + MINUTE)
    ledger.take(dropped(3), at(state), NOON + 2 * MINUTE)
    seen = ledger.observe(FLOW.name, None, at(state), NOON + 3 * MINUTE)
    assert [(t.topic, t.lost.records) for t in seen.topics] == [
        ("a", 3),
        ("b", 60),
    ]
    assert seen.day.records == seen.total.records == 63


def test_a_restart_between_two_writes_neither_loses_nor_repeats() -> None:
    database = Database(None)
    store = LossStore(database, FLOW.name)
    store.take(dropped(7), None, NOON)
    # Counted and written by the other, and not yet by the ledger.
    again = LossStore(database, FLOW.name)
    again.take(dropped(9), None, NOON + MINUTE)
    assert again.ledger is not None
    seen = again.ledger.observe(FLOW.name, None, None, NOON + MINUTE)
    assert windows(seen) == (9, 9, 9)
    kept = from_json(LossLedger, to_json(again.ledger))
    assert kept == again.ledger


def test_sums_stay_exact_however_many_topics_lose_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledgers, "NAMED", 10)
    ledger, numbers = LossLedger(), count()
    seen = dropped(1)
    for minute in range(100):
        (_, counters) = seen.counters[0]
        added = tuple((f"t{next(numbers)}", counters) for _ in range(3))
        seen = replace(seen, counters=added)
        ledger.take(seen, None, NOON + minute / 4 * MINUTE)
    found = ledger.observe(FLOW.name, None, None, NOON + 26 * MINUTE)
    assert windows(found) == (300, 300, 300)
    assert len(ledger.recent) <= 10 + 26
    assert found.topics[0].topic == "t299"
    assert {t.topic for t in found.topics[10:]} == {""}
