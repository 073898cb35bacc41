"""When probes were sent, as far as that is kept."""

import tracemalloc
from datetime import UTC, datetime, timedelta, timezone

from mirrorwatch.sources.canary.worker import SENT_KEPT, SentTimes

START = datetime(2026, 11, 27, 15, 0, 0, 123456, UTC)
SECOND = timedelta(seconds=1)


def test_it_is_known_to_the_microsecond_when_a_probe_was_sent() -> None:
    sent = SentTimes()
    sent.note(2, 7, START)
    sent.note(2, 8, (START + SECOND).astimezone(timezone(SECOND * 3600)))
    assert sent.get(2, 7) == START
    assert sent.get(2, 8) == START + SECOND
    assert sent.of(2) == {7: START, 8: START + SECOND}


def test_nothing_is_known_of_what_was_not_sent() -> None:
    sent = SentTimes()
    sent.note(2, 7, START)
    assert sent.get(2, 6) is None
    assert sent.get(1, 7) is None
    assert sent.of(1) == {}
    # It has the place of number 7, and that of none.
    assert sent.get(2, 7 + SENT_KEPT) is None
    assert sent.get(2, SENT_KEPT) is None


def test_of_the_newest_probes_it_is_known_when_they_were_sent() -> None:
    sent = SentTimes()
    for n in range(1, SENT_KEPT + 4):
        sent.note(0, n, START + n * SECOND)
    assert sent.get(0, 3) is None
    assert sent.get(0, 4) == START + 4 * SECOND
    assert sent.get(0, SENT_KEPT + 3) == START + (SENT_KEPT + 3) * SECOND
    assert sorted(sent.of(0)) == [*range(4, SENT_KEPT + 4)]


def test_a_number_that_is_given_again_has_the_newer_time() -> None:
    sent = SentTimes()
    sent.note(0, 5, START)
    sent.note(0, 5, START + SECOND)
    assert sent.get(0, 5) == START + SECOND
    assert sent.of(0) == {5: START + SECOND}


def test_more_probes_take_no_more_memory() -> None:
    sent = SentTimes()
    sent.note(0, 1, START)
    tracemalloc.start()
    try:
        for n in range(2, 3 * SENT_KEPT):
            sent.note(0, n, START + n * SECOND)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 10_000
