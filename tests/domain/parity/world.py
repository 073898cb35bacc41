"""Two clusters as they are surveyed, and what the agent says of them."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.conflicts import Conflict
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.parity.metrics import topics_samples
from mirrorwatch.domain.parity.topics import (
    TopicsLimits,
    TopicsObservation,
    judge_topics,
)
from mirrorwatch.domain.report import Flow, Verdict
from mirrorwatch.domain.topics import (
    DefaultNaming,
    IdentityNaming,
    Naming,
    ReplicatedTopics,
    Selection,
)
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.parity import ParitySource
from mirrorwatch.state import Database
from mirrorwatch.state.documents import FirstSeenStore
from tests.support.builders import NOON

FLOW = Flow(name="summit->ldf", source="summit", target="ldf")
MINUTE = timedelta(minutes=1)
IDENTITY = IdentityNaming(alias="summit")
DEFAULT = DefaultNaming(alias="summit")

Topics = Mapping[str, int | TopicFacts]


def facts(
    topic: int | TopicFacts, *, topic_id: str = "id", replicas: int = 1
) -> TopicFacts:
    if isinstance(topic, TopicFacts):
        return topic
    return TopicFacts(
        id=topic_id, partitions=topic, replication_factor=replicas
    )


def cluster(alias: str, at: datetime, topics: Topics) -> ClusterView:
    return ClusterView(
        alias=alias,
        id=f"id of {alias}",
        at=at,
        topics={name: facts(topic) for name, topic in topics.items()},
        ends={},
    )


class World:
    """Two clusters as they are surveyed, and what the agent says of them."""

    def __init__(
        self,
        naming: Naming = IDENTITY,
        *,
        wants: str | None = ".*",
        chosen: bool = True,
        refresh: timedelta = 10 * MINUTE,
        refreshes: bool = True,
        heartbeats_after: str | None = ".",
    ) -> None:
        self.database = Database(None)
        self.carriage = ReplicatedTopics(
            selection=Selection(), naming=naming, target_alias="ldf"
        )
        self.chosen = chosen
        self.lag: LagObservation | None = None
        self.positions = MirrorState()
        self.now = NOON
        self.refresh = refresh
        self.refreshes = refreshes
        self.heartbeats_after = heartbeats_after
        if wants is not None:
            self.configure(wants)
        self.start()

    def configure(self, wants: str) -> None:
        self.positions.note(
            Connector(
                name="MirrorSourceConnector",
                selection=Selection(include=(wants,)),
                refresh=self.refresh,
                refreshes=self.refreshes,
                max_in_flight=1,
                heartbeats_after=self.heartbeats_after,
            )
        )

    def start(self) -> None:
        self.parity = ParitySource(
            flow=FLOW,
            carriage=self.carriage,
            positions=self.positions,
            store=FirstSeenStore(self.database, FLOW.name, "topics"),
            limits=TopicsLimits(),
            chosen=self.chosen,
            interval=timedelta(seconds=5),
        )

    def survey(
        self,
        source: Topics | None,
        target: Topics | None,
        *,
        caught_up: bool = True,
        conflicts: tuple[Conflict, ...] = (),
    ) -> Verdict:
        """Survey both sides, and ask the target for what is missed."""
        names = self.carriage.names(source or {})
        self.parity.take(
            FlowView(
                flow=FLOW.name,
                at=self.now,
                committed={},
                syncs={},
                caught_up=caught_up,
                source=None
                if source is None
                else cluster("summit", self.now, source),
                target=None
                if target is None
                else cluster("ldf", self.now, target),
                names={} if source is None else names,
                conflicts=conflicts,
                problems=("ldf does not answer",) if target is None else (),
            )
        )
        if source is not None:
            self.parity.hidden.set(dict.fromkeys(self.parity.missing(), False))
        return self.verdict()

    def verdict(self) -> Verdict:
        return judge_topics(FLOW.name, self.seen(), self.now, self.lag)

    def seen(self) -> TopicsObservation | None:
        return next(iter(self.parity.observe(self.now)), None)

    def figures(self) -> list[float]:
        seen = self.seen()
        assert seen is not None
        return [
            float(s.value)
            for s in topics_samples(seen, self.now)
            if isinstance(s.value, int | float)
        ]
