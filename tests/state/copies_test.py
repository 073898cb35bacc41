"""The journal of skips in the state file."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.copies.journal import CopyEvent
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.state import Database
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
def store() -> CopiesStore:
    return CopiesStore(Database(None), "f")


def note(store: CopiesStore, *events: CopyEvent) -> None:
    store.save(CopyTracker(events=list(events)), START)


def test_repeats_push_no_loss_out_of_the_file(store: CopiesStore) -> None:
    loss = event(EventKind.SKIPPED, 0)
    note(store, loss)
    for _ in range(60):
        note(store, *(event(EventKind.REPEATED, p) for p in range(100)))
    kept = store.events()
    assert loss in kept
    repeats = [e.count for e in kept if e.kind is EventKind.REPEATED]
    assert sum(repeats) == 3 * 6000
    assert len(repeats) <= 2000


def test_where_every_partition_lost_records_all_stay(
    store: CopiesStore,
) -> None:
    losses = [event(EventKind.SKIPPED, p) for p in range(5000)]
    note(store, *losses)
    note(store, *losses)
    places = {e.place for e in store.events()}
    assert len(places) == 5000
    assert sum(e.count for e in store.events()) == 2 * 15_000


def test_what_is_older_than_its_window_is_not_added(
    store: CopiesStore,
) -> None:
    note(store, event(EventKind.SKIPPED, 0, -HOUR))
    note(store, *[event(EventKind.SKIPPED, 0)] * 3000)
    assert sum(e.count for e in store.events()) == 9000
