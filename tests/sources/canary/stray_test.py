"""Probes that a mirror puts into other partitions than their own."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.canary.model import (
    CanarySurvey,
    MirrorPosition,
    ProbeMessage,
    TopicState,
)
from mirrorwatch.sources.canary.consumer import ReadProbe
from mirrorwatch.sources.canary.encoding import Json
from mirrorwatch.sources.canary.producer import SendResult
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.worker import LedgerKeeper
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from tests.support.builders import FLOW, NOON

SECOND = timedelta(seconds=1)


class Canary:
    """Two partitions on both sides, and a mirror that committed all."""

    def __init__(self, *, keeps_partitions: bool = False) -> None:
        settings = CanarySettings(
            flow=FLOW,
            topic="c",
            remote_topic="c",
            interval=SECOND,
            deadline=5 * SECOND,
            warmup=SECOND,
            create=False,
            keeps_partitions=keeps_partitions,
        )
        self.keeper = LedgerKeeper(
            settings, CanaryStore(Database(None), FLOW.name)
        )
        self.keeper.reload()
        self.survey(0, copied=0)

    def survey(self, seconds: int, *, copied: int, targets: int = 2) -> None:
        at = NOON + seconds * SECOND
        topic = TopicState(id="t", partitions=frozenset({0, 1}))
        there = TopicState(id="t", partitions=frozenset(range(targets)))
        position = MirrorPosition(
            origin="committed", position=copied, seen_at=at, counts_at=at
        )
        self.keeper.follow(
            CanarySurvey(
                at=at,
                positions={0: (position,), 1: (position,)},
                target=there,
                ends={0: copied, 1: copied},
                source=topic,
                source_cluster="s",
                target_cluster="t",
            )
        )

    def send(
        self, partition: int, after: int = 0, at: int = 0
    ) -> ProbeMessage:
        now = NOON + after * SECOND
        message = self.keeper.make_probe(partition, now)
        sent = SendResult(message=message, source_offset=at, took=SECOND)
        self.keeper.note_result(sent, now + SECOND)
        return message

    def doubts(self) -> bool:
        """Return whether no loss is proved, as probes may be elsewhere."""
        return self.keeper.stray is not None

    def arrive(
        self, message: ProbeMessage, partition: int, at: int, after: int = 2
    ) -> None:
        seen_at = NOON + after * SECOND
        self.keeper.read(
            ReadProbe(
                partition=partition,
                offset=at,
                value=Json().encode(message, 200),
                seen_at=seen_at,
                absent_until=seen_at,
            )
        )


@pytest.mark.parametrize("keeps", [False, True])
def test_one_that_arrives_elsewhere_arrives_and_no_loss_is_proved(
    keeps: bool,
) -> None:
    """Whatever the mirror is expected to do."""
    canary = Canary(keeps_partitions=keeps)
    first, _ = canary.send(0), canary.send(1)
    canary.arrive(first, 1, 0)
    here, there = (canary.keeper.tracker.ledgers[p] for p in (0, 1))
    assert here.counts.delivered == 1
    assert there.counts.delivered == 0
    # What is read of each partition is what was read there.
    assert (here.next_offset, there.next_offset) == (0, 1)
    # Read again, after a restart, it is no duplicate.
    canary.arrive(first, 1, 0)
    assert here.counts.duplicates == 0
    assert canary.keeper.stray is not None
    assert canary.keeper.stray.code == "canary.unverifiable"
    assert canary.keeper.stray.numbers == {"partition": 0, "arrived_in": 1}
    canary.survey(60, copied=1)
    canary.survey(120, copied=1)
    canary.keeper.settle(NOON + 300 * SECOND, None)
    assert there.counts.lost == 0
    assert len(there.outstanding) == 1


@pytest.mark.parametrize("keeps", [True, False])
def test_one_that_arrives_at_home_is_as_ever(keeps: bool) -> None:
    canary = Canary(keeps_partitions=keeps)
    canary.arrive(canary.send(1), 1, 0)
    ledger = canary.keeper.tracker.ledgers[1]
    assert ledger.counts.delivered == 1
    assert ledger.next_offset == 1
    assert canary.keeper.stray is None


@pytest.mark.parametrize("restarts", [False, True])
def test_one_with_a_key_for_fewer_partitions_is_expected_elsewhere(
    restarts: bool,
) -> None:
    """The topic had grown while the mirror was down (seed 9993000182)."""
    canary = Canary()
    canary.survey(1, copied=0, targets=1)
    first, second = canary.send(0), canary.send(1)
    canary.arrive(canary.send(0, 0, 1), 0, 0)
    # Before the agent sees that it has grown.
    canary.arrive(second, 0, 1)
    assert canary.doubts()
    canary.survey(5, copied=0)
    assert not canary.doubts()
    if restarts:
        canary.keeper.save(None)
        canary.keeper.reload()
    # And after that.
    canary.arrive(first, 1, 0)
    assert not canary.doubts()
    counts = canary.keeper.tracker.ledgers[0].counts
    assert (counts.unverifiable, counts.recovered) == (1, 1)
    # One that was sent since is not.
    canary.arrive(canary.send(0, 6, 2), 1, 1, 8)
    assert canary.doubts()


def test_losses_are_proved_again_an_hour_after_the_last_one() -> None:
    canary = Canary()
    ledger = canary.keeper.tracker.ledgers[1]
    canary.arrive(canary.send(1), 1, 0)
    canary.arrive(canary.send(0), 1, 1)
    canary.send(1, 10, 1)
    canary.arrive(canary.send(0, 1800, 1), 1, 2, 1802)
    canary.send(1, 1900, 2)
    for seconds in (1800, 3600, 5402):
        canary.survey(seconds, copied=3)
        canary.keeper.settle(NOON + seconds * SECOND, None)
        assert canary.keeper.stray is not None
        assert ledger.counts.lost == 0
    # Where those went that were sent until then, nobody knows.
    canary.keeper.settle(NOON + 5403 * SECOND, None)
    assert canary.keeper.stray is None
    assert (ledger.counts.unverifiable, ledger.counts.lost) == (1, 1)
