"""What goes wrong with topics, their configs, heartbeats, and retention.

It is added to worlds that are drawn already, by a random stream of its own, so
that these stay as they are. An episode is a list of plain steps, as in
`episodes`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .cluster import SimTopic
from .episodes import Episode, Step
from .mirrormaker import HEARTBEATS, heartbeat
from .world import World

__all__ = ["TOPICS_DEEDS", "TOPICS_EPISODES", "TOPICS_MENDED", "Addition"]
__all__ += ["add"]

MINUTE = 60.0

RETENTION = 5 * MINUTE
"""Seconds of ``log.retention.check.interval.ms``."""

BEATS = 5.0
"""Seconds between two heartbeats."""


@dataclass(frozen=True)
class Addition:
    """What is in a world beside what was drawn first."""

    retention: Mapping[str, float] = field(default_factory=dict)
    """Seconds for which topics keep records, where it is not a week."""

    every: float = 300.0
    """How often the agent reads configs, in seconds."""

    chosen: bool = False
    other_beats: bool = False
    mirror: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    features: frozenset[str] = frozenset()

    def flow(self) -> dict[str, Any]:
        """Return more of the flow's configuration."""
        found: dict[str, Any] = {}
        if self.every != Addition.every:
            found["limits"] = {"configs": {"every": f"{self.every:.0f}s"}}
        if self.chosen:
            found["topics"] = {"include": [".*"]}
        return found

    def begin(self, world: World) -> None:
        """Let it begin, before the mirror starts."""
        for topic, seconds in self.retention.items():
            kept = str(round(seconds * 1000))
            world.source.configure(topic, "retention.ms", kept)
        if self.retention:
            world.schedule.every(lambda: RETENTION, world.source.expire_old)
        if self.other_beats:
            world.source.create(HEARTBEATS, 1, cleanup_policy="compact")
            world.other_beats = True
            world.schedule.every(lambda: BEATS, lambda: _beat(world))


def _beat(world: World) -> None:
    log = world.source.log(HEARTBEATS, 0)
    if world.other_beats and log is not None and world.source.up:
        now = world.source.milliseconds()
        log.append(heartbeat("ldf", "summit", now))


def add(
    seed: int,
    topics: Mapping[str, int],
    length: float,
    *,
    mm2: bool,
    alters: bool,
) -> Addition:
    """Draw what is added to a world.

    Parameters
    ----------
    seed
        Its seed.
    topics
        Partitions of the topics that records may expire of.
    length
        Its length in seconds.
    mm2
        Whether its mirror is MirrorMaker 2, and known to be.
    alters
        Whether a transform alters each record: heartbeats, too, so that no
        copies of them are known.
    """
    random = Random(f"topics {seed}")  # noqa: S311 - no secret
    retention = {
        name: random.choice([20, 40, 60]) * MINUTE
        for name in topics
        if random.random() < 0.4
    }
    mirror: dict[str, Any] = {}
    beats = mm2 and random.random() < 0.6
    if mm2:
        mirror["syncs_configs"] = random.random() < 0.8
        mirror["heartbeats"] = BEATS if beats else 0.0
    other_beats = mm2 and random.random() < 0.5 and not alters
    names = [
        name for name in TOPICS_EPISODES if mm2 or name not in OF_MIRRORMAKER_2
    ]
    drawn: list[str] = []
    steps: list[Step] = []
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        topic = random.choice(list(topics))
        episode = Episode(
            random=random,
            at=random.uniform(5 * MINUTE, length),
            lasts=random.choice([30.0, 5 * MINUTE, 25 * MINUTE]),
            topic=topic,
            partition=random.randrange(topics[topic]),
        )
        name = random.choice(names)
        drawn.append(name)
        steps += TOPICS_EPISODES[name](episode)
    chosen = random.random() < 0.3
    features = {
        "short retention": bool(retention),
        "configured topics": chosen,
        "heartbeats": beats,
        "heartbeats of another mirror": other_beats,
    }
    return Addition(
        retention=retention,
        every=random.choice([60.0, 300.0]),
        chosen=chosen,
        other_beats=other_beats,
        mirror=mirror,
        steps=tuple(steps),
        features=frozenset(drawn) | {n for n, has in features.items() if has},
    )


def _config(episode: Episode, side: str, *, alone: bool) -> list[Step]:
    """Change a config; unless alone, the mirror may not mend it."""
    name = episode.random.choice(list(CHANGES))
    return [
        *([episode.step("configs may not be altered")] * (not alone)),
        episode.step(f"{name} of the {side} changes", 1.0),
        episode.step("configs are put back", episode.lasts),
        episode.step("configs may be altered", episode.lasts + 30),
    ]


CHANGES = {
    "retention.ms": "172800000",
    "max.message.bytes": "2000000",
    "min.insync.replicas": "2",
}

TOPICS_EPISODES: Mapping[str, Callable[[Episode], list[Step]]] = {
    "config of the source": lambda e: _config(e, "source", alone=True),
    "config of the target": lambda e: _config(e, "target", alone=True),
    "config not synced": lambda e: _config(
        e, e.random.choice(["source", "target"]), alone=False
    ),
    "source configs denied": lambda e: e.pair(
        "source configs are denied", "configs are readable"
    ),
    "target configs denied": lambda e: e.pair(
        "target configs are denied", "configs are readable"
    ),
    "slow mirror": lambda e: e.pair("mirror slows", "mirror is fast"),
    "mirror stands": lambda e: e.pair("mirror dies", "mirror starts"),
    "topic not created": lambda e: [
        e.step("topics may not be created"),
        e.step("topic appears", 1.0),
        e.step("topics may be created", e.lasts),
    ],
    "partitions not added": lambda e: [
        e.step("topics may not be created"),
        e.step("topic grows", 1.0),
        e.step("topics may be created", e.lasts),
    ],
    "target topic stays away": lambda e: [
        e.step("topics may not be created"),
        e.step("target topic is deleted", 1.0),
        e.step("topics may be created", e.lasts),
    ],
    "partitions added at the target": lambda e: e.pair(
        "copies grow", "topic grows"
    ),
    "unwanted topic": lambda e: e.pair(
        "allow-list narrows", "allow-list widens"
    ),
    "heartbeats stop": lambda e: e.pair(
        "heartbeats stop", "heartbeats are written"
    ),
    "other heartbeats stop": lambda e: e.pair(
        "other heartbeats stop", "heartbeats are written"
    ),
}

OF_MIRRORMAKER_2 = {
    "config not synced",
    "heartbeats stop",
    "other heartbeats stop",
    "topic not created",
    "partitions not added",
    "partitions added at the target",
    "target topic stays away",
    "unwanted topic",
}
"""Those that only it has: of others it is not known which topics they want,
and what they create."""

TOPICS_MENDED = [
    "configs are put back",
    "configs may be altered",
    "configs are readable",
    "topics may be created",
    "heartbeats are written",
    "mirror is fast",
    "partitions are alike",
]
"""What is done to a world before it is left alone."""


def _change(side: str, name: str) -> Callable[[World, Step], None]:
    def work(world: World, step: Step) -> None:
        topic = _find(world, side, step.topic)
        if topic is not None:
            world.changed.setdefault(
                (side, topic.name, name), topic.configs.get(name)
            )
            topic.configs[name] = CHANGES[name]

    return work


def _find(world: World, side: str, topic: str) -> SimTopic | None:
    if side == "source":
        return world.source.topics.get(topic)
    return world.target.topics.get(world.remote(topic))


def _put_back(world: World, step: Step) -> None:
    del step
    for (_, topic, name), before in world.changed.items():
        # Copies that were created meanwhile have what was changed.
        for cluster in (world.source, world.target):
            cluster.configure(topic, name, before)
    world.changed.clear()


def _deny_configs(side: str) -> Callable[[World, Step], None]:
    def work(world: World, step: Step) -> None:
        topic = _find(world, side, step.topic)
        if topic is not None:
            getattr(world, side).denied_configs.add(topic.name)

    return work


def _allow_configs(world: World, _: Step) -> None:
    world.source.denied_configs.clear()
    world.target.denied_configs.clear()


def _grow_copies(world: World, step: Step) -> None:
    topic = _find(world, "target", step.topic)
    if topic is not None:
        world.target.grow(topic.name, len(topic.logs) + 1)


def _divide_alike(world: World, _: Step) -> None:
    for name, topic in world.source.topics.items():
        copies = world.target.topics.get(world.remote(name))
        if copies is not None and len(copies.logs) > len(topic.logs):
            world.source.grow(name, len(copies.logs))


def _stop_other_beats(world: World, _: Step) -> None:
    world.other_beats = False


def _write_beats(world: World, _: Step) -> None:
    world.mirror.beats = world.other_beats = True


def _mirror(name: str, value: object) -> Callable[[World, Step], None]:
    return lambda world, _: setattr(world.mirror, name, value)


TOPICS_DEEDS: Mapping[str, Callable[[World, Step], None]] = {
    **{
        f"{name} of the {side} changes": _change(side, name)
        for name in CHANGES
        for side in ("source", "target")
    },
    "configs are put back": _put_back,
    "configs may not be altered": _mirror("may_configure", value=False),
    "configs may be altered": _mirror("may_configure", value=True),
    "source configs are denied": _deny_configs("source"),
    "target configs are denied": _deny_configs("target"),
    "configs are readable": _allow_configs,
    "mirror slows": _mirror("slowness", value=20),
    "mirror is fast": _mirror("slowness", value=1),
    "topics may not be created": _mirror("may_create", value=False),
    "topics may be created": _mirror("may_create", value=True),
    "copies grow": _grow_copies,
    "partitions are alike": _divide_alike,
    "heartbeats stop": _mirror("beats", value=False),
    "other heartbeats stop": _stop_other_beats,
    "heartbeats are written": _write_beats,
}
"""What may be done to such a world, beside `episodes.do`."""
