"""Heartbeats: made, copied, and missed."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

import pytest

from mirrorwatch.domain.heartbeats import (
    HeartbeatsLimits,
    HeartbeatsObservation,
    HeartbeatTracker,
    LastHeartbeat,
    judge_heartbeats,
)
from mirrorwatch.domain.mirror_records import Heartbeat
from mirrorwatch.domain.report import Health, Verdict
from tests.support.builders import FLOW, NOON
from tests.support.findings import find

SECOND = timedelta(seconds=1)
PAIR = ("ldf", "summit")
OWN = ("summit", "ldf")


def beat(
    at: datetime,
    place: Literal["source", "carried", "target"] = "target",
    pair: tuple[str, str] = OWN,
) -> Heartbeat:
    return Heartbeat(
        source=pair[0],
        target=pair[1],
        place=place,
        beat_at=at,
        written_at=at,
    )


def judged(**more: Any) -> Verdict:
    seen = replace(HeartbeatsObservation(flow=FLOW.name, at=NOON), **more)
    return judge_heartbeats(FLOW.name, seen, HeartbeatsLimits(), NOON)


def alive(seconds: float) -> LastHeartbeat:
    at = NOON - seconds * SECOND
    return LastHeartbeat(beat_at=at, seen_at=at)


def test_a_mirror_without_heartbeats_is_off() -> None:
    assert judged().health is Health.OFF
    assert judged(problems=("refused",)).health is Health.UNKNOWN
    verdict = judge_heartbeats(FLOW.name, None, HeartbeatsLimits(), NOON)
    assert verdict.health is Health.UNKNOWN


def test_a_worker_that_falls_silent_is_missed() -> None:
    assert judged(interval=SECOND, worker=alive(59)).health is Health.OK
    verdict = judged(interval=SECOND, worker=alive(61))
    assert verdict.health is Health.WARNING
    find(verdict, "heartbeats.missing", seconds=61, interval_seconds=1)
    slow = judged(interval=60 * SECOND, worker=alive(599))
    assert slow.health is Health.OK


def test_a_worker_that_never_wrote_one_is_missed_after_a_while() -> None:
    young = judged(interval=SECOND, expected_since=NOON - 59 * SECOND)
    assert young.health is Health.OK
    old = judged(interval=SECOND, expected_since=NOON - 61 * SECOND)
    assert old.health is Health.WARNING


def carried(source: float, target: float) -> Verdict:
    book = HeartbeatTracker()
    book.note([beat(NOON - source * SECOND, "source", PAIR)], NOON)
    book.note([beat(NOON - target * SECOND, "carried", PAIR)], NOON)
    return judged(carried=book.carried())


def followed(
    made: Iterable[int], copied: Iterable[int], **more: Any
) -> Verdict:
    """Judge heartbeats that were made and copied so many seconds ago, each
    seen at that time.
    """
    book = HeartbeatTracker()
    made, copied = set(made), set(copied)
    newest: datetime | None = None
    for ago in range(max(made), -1, -1):
        now = NOON - ago * SECOND
        if ago in made:
            book.note([beat(now, "source", PAIR)], now)
        if ago in copied:
            newest = now
        if newest is not None:
            book.note([beat(newest, "carried", PAIR)], now)
    return judged(carried=book.carried(), **more)


def test_copies_that_are_late_are_a_warning() -> None:
    made = range(201)
    assert followed(made, range(60, 201)).health is Health.OK
    late = followed(made, range(62, 201))
    assert late.health is Health.WARNING
    find(late, "heartbeats.late", connection="->".join(PAIR), seconds=61)


def test_copies_that_go_on_and_stay_behind_are_a_warning() -> None:
    book = HeartbeatTracker()
    for ago in range(300, -1, -1):
        now = NOON - ago * SECOND
        behind = beat(now - 120 * SECOND, "carried", PAIR)
        book.note([beat(now, "source", PAIR), behind], now)
    late = judged(carried=book.carried())
    assert late.health is Health.WARNING
    find(late, "heartbeats.late", seconds=119)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(range(240, 2401, 300), id="one in five minutes"),
        pytest.param(range(240, 2401), id="none for four minutes"),
    ],
)
def test_copies_stay_late_between_two_heartbeats(made: range) -> None:
    verdict = followed(made, [made[-1]])
    assert verdict.health is Health.WARNING
    found = find(verdict, "heartbeats.late")
    assert found.numbers["seconds"] == made[-2]
    assert followed(made, made).health is Health.OK


def test_copies_whose_writer_stopped_are_late_as_long_as_they_wait() -> None:
    verdict = followed(range(70, 131, 5), [130])
    find(verdict, "heartbeats.late", seconds=125)


def test_the_first_reading_after_a_gap_says_how_old_a_heartbeat_is() -> None:
    book = HeartbeatTracker()
    book.note([beat(NOON - 600 * SECOND, "target", PAIR)], NOON - 600 * SECOND)
    book.note([beat(NOON - 300 * SECOND, "target", PAIR)], NOON)
    worker = book.worker(PAIR)
    assert worker is not None
    assert worker.seen_at == NOON - 300 * SECOND


def test_copies_after_a_gap_are_not_called_on_time() -> None:
    book = HeartbeatTracker()
    for ago, copied in ((700, 700), (0, 500)):
        now = NOON - ago * SECOND
        copy = beat(NOON - copied * SECOND, "carried", PAIR)
        book.note([beat(now, "source", PAIR), copy], now)
    verdict = judged(carried=book.carried())
    assert verdict.health is Health.UNKNOWN
    find(verdict, "heartbeats.lag-unknown", seconds=500)


def test_heartbeats_that_ceased_uncopied_are_not_on_time() -> None:
    """Whatever those that its own worker writes prove."""
    own: dict[str, Any] = {"interval": SECOND, "worker": alive(1)}
    made = range(660, 2401)
    assert followed(made, made, **own).health is Health.OK
    verdict = followed(made, [made[-1]], **own)
    assert verdict.health is Health.UNKNOWN
    find(verdict, "heartbeats.ceased", seconds=660)


def test_the_first_heartbeat_after_a_pause_is_not_called_late() -> None:
    """A mirror that was down for six minutes makes one, and has not copied it
    yet.
    """
    assert followed([400, 0], [400]).health is Health.OK
    # But it is if that stays so.
    assert followed([400, *range(62)], [400]).health is Health.WARNING


def test_how_late_copies_are_is_not_known_when_an_agent_starts() -> None:
    """They may be late for an hour, or none were made for one."""
    verdict = carried(1, 3600)
    assert verdict.health is Health.UNKNOWN
    find(verdict, "heartbeats.lag-unknown", seconds=3599)
    assert carried(1, 3).health is Health.OK
    # One that copied all of them once is followed from then on.
    assert followed([400, 0], [400]).health is Health.OK


def test_heartbeats_that_nobody_makes_any_more_are_nobodys_fault() -> None:
    verdict = carried(700, 800)
    assert verdict.health is Health.UNKNOWN
    find(verdict, "heartbeats.ceased", seconds=700)


def test_heartbeats_that_ceased_prove_nothing() -> None:
    verdict = carried(3 * 86400, 3 * 86400)
    assert verdict.health is Health.UNKNOWN
    find(verdict, "heartbeats.ceased", seconds=3 * 86400)


def test_those_that_were_never_copied_are_not_expected() -> None:
    book = HeartbeatTracker()
    book.note([beat(NOON, "source", PAIR)], NOON)
    assert book.carried() == ()


def test_age_is_counted_from_when_a_new_one_was_read() -> None:
    book = HeartbeatTracker()
    # Of a clock that is an hour late; believed at first sight only.
    hour = timedelta(hours=1)
    book.note([beat(NOON - hour)], NOON)
    first = book.worker(OWN)
    assert first is not None
    assert first.seen_at == NOON - hour
    book.note([beat(NOON - hour + SECOND)], NOON + SECOND)
    book.note([beat(NOON - hour + SECOND)], NOON + 9 * SECOND)
    second = book.worker(OWN)
    assert second is not None
    assert second.seen_at == NOON + SECOND
