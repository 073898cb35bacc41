"""A position and the records that it covers become visible one by one."""

from datetime import timedelta
from typing import Any

from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.kafka.admin import Brokers, Cluster, Topic
from mirrorwatch.kafka.reader import PartitionEnd
from mirrorwatch.sources.canary.consumer import ReadProbe
from mirrorwatch.sources.canary.encoding import Json
from mirrorwatch.sources.canary.producer import SendResult
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.surveyor import CanarySurveyWorker
from mirrorwatch.sources.canary.worker import CanaryState, LedgerKeeper
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from tests.support.builders import FLOW, NOON

SECOND = timedelta(seconds=1)
SETTINGS = CanarySettings(
    flow=FLOW,
    topic="c",
    remote_topic="c",
    interval=SECOND,
    deadline=30 * SECOND,
    warmup=600 * SECOND,
    create=False,
)


class Site(Cluster):
    """One partition; its log, and what of it is committed."""

    def __init__(self, alias: str) -> None:  # no client
        self.alias = alias
        self.log_end = self.stable = 0

    def describe_topic(self, name: str, *, right: str = "") -> Topic:
        del right
        return Topic(name=name, id=self.alias, leaders={0: 1}, allowed=None)

    def brokers(self) -> Brokers:
        return Brokers(cluster_id=self.alias, ids=frozenset({1}))

    def offsets(self, wanted: Any, **how: Any) -> Any:
        end = self.stable if how.get("read_committed") else self.log_end
        return dict.fromkeys(wanted, end)


def test_a_record_whose_marker_is_on_its_way_is_not_lost() -> None:
    """The coordinator writes markers to each partition of a transaction by
    itself. That of the offsets topic is there, that of the copy is not yet:
    its broker is busy, or the leader moves.
    """
    source, target = Site("summit"), Site("ldf")
    mirror, state = MirrorState(), CanaryState()
    keeper = LedgerKeeper(SETTINGS, CanaryStore(Database(None), FLOW.name))
    now = NOON
    surveyor = CanarySurveyWorker(
        settings=SETTINGS,
        source=source,
        target=target,
        positions=mirror,
        settler=None,  # type: ignore[arg-type]
        state=state,
        interval=5 * SECOND,
        clock=lambda: now,
    )

    def survey() -> None:
        surveyor.step()
        for found in state.surveys.take_all():
            keeper.follow(found)

    def read(offset: int, message: Any) -> None:
        keeper.read(
            ReadProbe(
                partition=0,
                offset=offset,
                value=Json().encode(message, 200),
                seen_at=now,
                absent_until=now,
            )
        )

    survey()
    first = keeper.make_probe(0, now)
    keeper.note_result(SendResult(message=first, source_offset=0), now)
    now += SECOND
    read(0, first)
    keeper.read(PartitionEnd("c", 0, 2))  # behind its marker
    target.log_end = target.stable = 2

    now += 60 * SECOND
    second = keeper.make_probe(0, now)
    keeper.note_result(SendResult(message=second, source_offset=1), now)
    # It is copied, and the transaction committed: its position is visible.
    target.log_end = 3
    mirror.note(Committed(topic="c", partition=0, position=2, written_at=now))
    survey()
    keeper.settle(now, None)
    ledger = keeper.tracker.ledgers[0]
    assert ledger.counts.lost == 0

    # A moment later the marker is there, too.
    now += SECOND
    target.log_end = target.stable = 4
    read(2, second)
    assert (ledger.counts.delivered, ledger.counts.recovered) == (2, 0)
