"""The journal: what has room as it is, and what is added."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.copies.journal import CopyEvent, sum_up
from mirrorwatch.domain.copies.pair import EventKind
from tests.domain.copies.world import START

MINUTE = timedelta(minutes=1)


def event(
    kind: EventKind = EventKind.REPEATED,
    *,
    partition: int = 0,
    minute: int = 0,
    first: int = 0,
    count: int = 1,
) -> CopyEvent:
    return CopyEvent(
        kind=kind,
        topic="t",
        partition=partition,
        source_id="s",
        ranges=((first, first + count - 1),),
        count=count,
        at=START + minute * MINUTE,
    )


def test_a_journal_with_room_stays_as_it_is() -> None:
    events = [event(minute=n) for n in range(5)]
    assert sum_up(events, 5) == events


def test_repeats_push_no_loss_out() -> None:
    loss = event(EventKind.SKIPPED, count=5)
    repeats = [
        event(minute=1 + n, partition=p) for n in range(8) for p in range(40)
    ]
    kept = sum_up([loss, *repeats], 200)
    assert loss in kept
    assert sum(e.count for e in kept) == 5 + 320
    assert len(kept) < 320


def test_losses_push_no_loss_out() -> None:
    losses = [
        event(EventKind.SKIPPED, partition=n % 3, first=10 * n, count=2)
        for n in range(1000)
    ]
    kept = sum_up(losses, 50)
    assert sum(e.count for e in kept) == 2000
    assert len(kept) == 50 + 3
    assert kept[-1] == losses[-1]
    assert all(len(e.ranges) <= 20 for e in kept)


def test_what_is_added_keeps_its_time_as_long_as_there_is_room() -> None:
    events = [event(EventKind.HEAD, minute=n, first=9 * n) for n in range(60)]
    kept = sum_up(events, 20)
    times = [e.at - START for e in kept[:3]]
    assert times == [4 * MINUTE, 9 * MINUTE, 14 * MINUTE]
    assert [e.count for e in kept[:3]] == [5, 5, 5]
    assert sum(e.count for e in sum_up(events, 2)) == 60
    assert len(sum_up(events, 2)) == 3


def test_another_incarnation_and_another_kind_are_not_added() -> None:
    other = replace(event(EventKind.TAIL), source_id="another")
    events = [event(EventKind.TAIL), other, event(EventKind.SKIPPED)]
    assert (
        sum_up([*events, *[event(EventKind.SKIPPED)] * 3], 1)[:2] == events[:2]
    )
