"""What watches positions: of the configuration, the tails, the state file."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.position.model import PositionObservation, ResetKind
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.history import History
from mirrorwatch.wiring.context import FlowParts, WiringContext, to_mirror
from mirrorwatch.wiring.flows import wire_position
from tests.domain.position.world import TICK, World
from tests.support.builders import NOON

OLD = NOON - timedelta(minutes=1)


class Agent:
    """The part of an agent that watches positions in a world.

    It reads the mirror's topics from their start, as after a restart.
    """

    def __init__(self, world: World, state: Path, **topics: Any) -> None:
        self.world = world
        self.database = Database(state)
        flow = {"source": "summit", "target": "ldf", "naming": "identity"}
        clusters: dict[str, Any] = {
            alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
            for alias in ("summit", "ldf")
        }
        clusters["ldf"] |= topics.pop("ldf", {})
        config = Config.from_mapping(
            {
                "clusters": clusters,
                "flows": [flow | {"topics": {"include": ["t"], **topics}}],
            }
        )
        self.positions = MirrorState()
        parts = FlowParts(
            config=config.flows[0],
            mirror=to_mirror(config.flows[0]),
            positions=self.positions,
        )
        ids = {a: c.cluster_id for a, c in config.clusters.items()}
        around = WiringContext(
            clusters={},
            properties={"summit": {}},
            database=self.database,
            history=History(self.database, TICK),
            interval=TICK,
            clock=Clock(),
            logger=structlog.get_logger("mirrorwatch"),
            cluster_ids={a: i for a, i in ids.items() if i is not None},
        )
        (self.source,) = wire_position(parts, around).sources
        (self.reader,) = parts.listeners
        self.positions.move("offsets", "o1")
        self.commit(100)

    def commit(self, position: int) -> None:
        self.positions.note(
            Committed(
                topic="t",
                partition=0,
                position=position,
                written_at=OLD if position == 100 else self.world.now,
            )
        )

    def tick(self, times: int = 1) -> PositionObservation:
        for _ in range(times):
            self.world.now += TICK
            self.world.committed = dict(self.positions.all_committed())
            self.reader.take(self.world.view())
        (seen,) = self.source.observe(self.world.now)
        assert isinstance(seen, PositionObservation)
        return seen

    def die(self) -> None:
        self.database.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_nothing_is_said_before_the_first_survey(state: Path) -> None:
    agent = Agent(World(), state)
    assert agent.source.observe(NOON) == []
    agent.die()


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5])
def test_a_loss_is_told_once_whenever_the_agent_dies(
    state: Path, after: int
) -> None:
    world = World()
    agent = Agent(world, state)
    assert agent.tick(3).resets == ()
    world.source["t"].ends[0], world.source["t"].starts[0] = 500, 250
    agent.tick(after) if after else None
    agent.die()
    agent = Agent(world, state)
    (reset,) = agent.tick(45).resets
    assert (reset.kind, reset.first, reset.end) == (
        ResetKind.EXPIRED,
        100,
        250,
    )
    agent.commit(350)
    agent.tick(3)
    agent.die()
    agent = Agent(world, state)
    agent.commit(350)
    seen = agent.tick(3)
    (reset,) = seen.resets
    assert (reset.count, reset.settled is None) == (150, False)
    assert seen.counts == {"t": 1}
    agent.die()


def test_merged_topics_are_told_by_patterns(state: Path) -> None:
    world = World()
    agent = Agent(world, state, merged=["t.*", "never"])
    agent.tick(3)
    world.source["t"].ends[0], world.source["t"].starts[0] = 500, 250
    world.target["t"].ends[0] = 900  # others write there
    (reset,) = agent.tick(45).resets
    assert (reset.first, reset.end) == (100, 250)
    agent.die()


def test_the_id_in_the_configuration_rules(state: Path) -> None:
    agent = Agent(World(), state, ldf={"cluster_id": "M"})
    (reset,) = agent.tick(2).resets
    assert (reset.kind, reset.before, reset.now) == (
        ResetKind.OTHER_CLUSTER,
        "M",
        "L",
    )
    agent.die()


def test_another_offsets_topic_is_seen_though_the_agent_was_away(
    state: Path,
) -> None:
    world = World()
    agent = Agent(world, state)
    agent.tick(3)
    agent.die()
    agent = Agent(world, state)
    agent.positions.move("offsets", "o2")
    (reset,) = agent.tick(2).resets
    assert (reset.kind, reset.topic) == (
        ResetKind.OFFSETS_GONE,
        "mm2-offsets.summit.internal",
    )
    assert agent.tick(2).counts == {"t": 1}
    agent.die()
