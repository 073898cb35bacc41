"""What the canary writes down, and how soon."""

from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.canary.model import CanarySurvey, TopicState
from mirrorwatch.sources.canary.consumer import ReadProbe
from mirrorwatch.sources.canary.encoding import Json
from mirrorwatch.sources.canary.producer import SendResult
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.worker import LedgerKeeper
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from tests.support.builders import FLOW, NOON

SECOND = timedelta(seconds=1)

SETTINGS = CanarySettings(
    flow=FLOW,
    topic="c",
    remote_topic="c",
    interval=SECOND,
    deadline=5 * SECOND,
    warmup=SECOND,
    create=False,
)


def kept() -> tuple[LedgerKeeper, CanaryStore]:
    """Return a keeper that has written down a probe, and its file."""
    store = CanaryStore(Database(None), FLOW.name)
    keeper = LedgerKeeper(SETTINGS, store)
    topic = TopicState(id="t", partitions=frozenset({0}))
    keeper.follow(
        CanarySurvey(
            at=NOON,
            positions={},
            target=topic,
            ends={0: 0},
            source=topic,
            source_cluster="s",
            target_cluster="t",
        )
    )
    return keeper, store


def test_an_acknowledgement_alone_waits_for_what_is_written_next() -> None:
    keeper, store = kept()
    message = keeper.make_probe(0, NOON)
    keeper.save(None)
    keeper.note_result(SendResult(message=message, source_offset=7), NOON)
    keeper.settle(NOON + SECOND, None)
    assert (keeper.has_acks, keeper.has_changes) == (True, False)
    assert store.load()[0].outstanding[1].source_offset is None
    keeper.save(None)
    assert (keeper.has_acks, keeper.has_changes) == (False, False)
    assert store.load()[0].outstanding[1].source_offset == 7


def test_a_send_that_failed_is_written_soon() -> None:
    keeper, _ = kept()
    message = keeper.make_probe(0, NOON)
    keeper.save(None)
    keeper.note_result(SendResult(message=message, refused="no"), NOON)
    assert (keeper.has_acks, keeper.has_changes) == (False, True)


def test_an_overdue_probe_is_written_soon_behind_its_acknowledgement() -> None:
    keeper, _ = kept()
    first, second = (keeper.make_probe(0, NOON) for _ in range(2))
    keeper.save(None)
    keeper.note_result(SendResult(message=first, source_offset=0), NOON)
    keeper.save(None)
    keeper.note_result(SendResult(message=second, source_offset=1), NOON)
    keeper.note_overdue(NOON + 20 * SECOND, [0])
    keeper.settle(NOON + 20 * SECOND, None)
    assert keeper.has_changes


def test_a_probe_from_before_an_older_state_arrives_for_no_other() -> None:
    keeper, _ = kept()
    ledger = keeper.tracker.ledgers[0]
    message = keeper.make_probe(0, NOON)
    # The same number was given to one before; its copy is read first.
    before = replace(message, sent_at=NOON - timedelta(minutes=20))
    for offset, probe in enumerate((before, message)):
        keeper.read(
            ReadProbe(
                partition=0,
                offset=offset,
                value=Json().encode(probe, 200),
                seen_at=NOON + SECOND,
                absent_until=NOON + SECOND,
            )
        )
        assert ledger.counts.delivered == offset
        assert ledger.next_offset == offset + 1
    assert (ledger.counts.duplicates, ledger.counts.late) == (0, 0)
