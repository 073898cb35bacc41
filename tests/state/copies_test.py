"""The journal of skips in the state file."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.copies.journal import CopyEvent
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.state import Database, copies
from mirrorwatch.state.copies import CopiesStore
from tests.domain.copies.world import START

HOUR = timedelta(hours=1)


def event(
    kind: EventKind, partition: int, after: timedelta = HOUR
) -> CopyEvent:
    return CopyEvent(
        kind=kind,
        topic="t",
        partition=partition,
        source_id="s",
        ranges=((1, 3),),
        count=3,
        at=START + after,
    )


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> CopiesStore:
    monkeypatch.setattr(copies, "EVENTS_KEPT", 20)
    return CopiesStore(Database(None), "f")


def note(store: CopiesStore, *events: CopyEvent) -> None:
    store.save(CopyTracker(events=list(events)), START)


def test_repeats_push_no_loss_out_of_the_file(store: CopiesStore) -> None:
    loss = event(EventKind.SKIPPED, 0)
    note(store, loss)
    for _ in range(60):
        note(store, *(event(EventKind.REPEATED, p) for p in range(9)))
    kept = store.events()
    assert loss in kept
    repeats = [e.count for e in kept if e.kind is EventKind.REPEATED]
    assert sum(repeats) == 3 * 540
    assert len(repeats) <= 2 * (20 + 9)


def test_where_every_partition_lost_records_all_stay(
    store: CopiesStore,
) -> None:
    losses = [event(EventKind.SKIPPED, p) for p in range(100)]
    note(store, *losses)
    note(store, *losses)
    places = {e.place for e in store.events()}
    assert len(places) == 100
    assert sum(e.count for e in store.events()) == 2 * 300


def test_what_is_older_than_its_window_is_not_added(
    store: CopiesStore,
) -> None:
    note(store, event(EventKind.SKIPPED, 0, -HOUR))
    note(store, *[event(EventKind.SKIPPED, 0)] * 60)
    assert sum(e.count for e in store.events()) == 180
