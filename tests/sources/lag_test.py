"""How long the worker that reads records for `lag` rests."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.exceptions import SourceError
from mirrorwatch.sources.lag import LOOK_AGAIN, LagWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import FirstSeenStore
from tests.support.builders import NOON
from tests.support.surveys import FakeCluster, an_unseen_view

SECOND = timedelta(seconds=1)


def test_it_rests_only_after_all_was_done() -> None:
    now, source = [NOON], FakeCluster("summit", [])
    source.topics = {"hidden": ("id", 1)}
    worker = LagWorker(
        flow="f",
        tracker=LagTracker(flow="f", class_of=lambda _: "", configs=dict),
        store=FirstSeenStore(Database(None), "f", "lag"),
        positions=MirrorState(),
        source=source,
        properties={},
        carries=lambda _: True,
        clock=lambda: now[0],
        known=lambda: {"hidden"},
    )
    worker.take(an_unseen_view("f", {}))
    assert worker.news.is_set()
    worker.step()
    # It looks twice at first.
    assert worker.interval == SECOND
    worker.step()
    assert worker.interval == 5 * SECOND
    now[0] += LOOK_AGAIN
    source.up = False
    with pytest.raises(SourceError):
        worker.step()
    assert worker.interval == SECOND
    source.up = True
    worker.step()
    assert worker.interval == 5 * SECOND
