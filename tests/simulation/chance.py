"""Worlds by chance: what is in them, what goes wrong, and what must hold.

One seed gives one world. It is drawn as a list of plain steps first, so that
a failing world can be made smaller by leaving steps out, and replayed.
"""

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from mirrorwatch.domain.report import Health, Report

from .cluster import Kind, Record
from .mirrormaker import MirrorSettings
from .world import CANARY, World

__all__ = ["Plan", "Step", "ViolationError", "draw", "run", "shrink"]

MINUTE, HOUR = 60.0, 3600.0

REPORTED_WITHIN = 15 * MINUTE
"""How soon a loss must be told, counted from the moment at which the mirror
left the records behind, or from which the agent could see it: the longest
flush interval drawn, twice, and some surveys."""

CALM = 20 * MINUTE
"""How long a world is left alone at its end, with everything mended."""

LOST_WINDOW = HOUR
"""How long a proved loss keeps its verdict critical, by default."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens to a world."""

    at: float
    what: str
    topic: str = ""
    partition: int = 0
    amount: float = 0.0


@dataclass(frozen=True)
class Plan:
    """A world before it runs."""

    seed: int
    topics: Mapping[str, tuple[int, float]]
    """Partitions and records a second, by topic."""

    mirror: Mapping[str, Any]
    interval: int
    length: float
    steps: tuple[Step, ...]
    features: frozenset[str] = field(default_factory=frozenset)


class ViolationError(AssertionError):
    """A property does not hold."""


def draw(seed: int) -> Plan:
    """Draw a world."""
    random = Random(seed)  # noqa: S311 - no secret
    topics = {
        name: (random.choice([1, 1, 2, 3]), random.choice([0.05, 0.5, 2.0]))
        for name in "abc"[: random.randint(1, 3)]
    }
    mirror: dict[str, Any] = {
        "flush": random.choice([10.0, 60.0, 60.0]),
        "refresh": random.choice([60.0, 600.0]),
        "syncs_at_flush": random.random() < 0.7,
        "latest": random.random() < 0.15,
        "lag_max": random.choice([100, 100, 10]),
        "poll": random.choice([0.5, 1.0, 5.0]),
    }
    length = random.choice([0.5, 1.0, 2.0]) * HOUR
    episodes = [
        _episode(random, topics, length) for _ in range(random.randint(0, 5))
    ]
    steps = sorted(
        (step for _, drawn in episodes for step in drawn),
        key=lambda step: step.at,
    )
    return Plan(
        seed=seed,
        topics=topics,
        mirror=mirror,
        interval=random.choice([5, 15, 15, 30]),
        length=length,
        steps=tuple(steps),
        features=frozenset(name for name, _ in episodes)
        | {k for k, v in mirror.items() if v is True},
    )


@dataclass(frozen=True)
class Episode:
    """Something that goes wrong, and how it is mended, as it is drawn."""

    random: Random
    at: float
    lasts: float
    topic: str
    partition: int

    def step(self, what: str, after: float = 0.0, amount: float = 0.0) -> Step:
        at = round(self.at + after, 1)
        return Step(at, what, self.topic, self.partition, amount)

    def pair(
        self, begin: str, end: str, lasts: float | None = None
    ) -> list[Step]:
        after = self.lasts if lasts is None else lasts
        return [self.step(begin), self.step(end, after)]

    def one(self, what: str, *amounts: float) -> list[Step]:
        return [self.step(what, 0.0, self.random.choice(amounts or (0.0,)))]

    def expiry(self) -> list[Step]:
        left = self.random.choice([0, 5, 200])
        restarts = self.random.random() < 0.5
        return [
            self.step("mirror dies"),
            self.step("expire", self.lasts, left),
            *([self.step("agent restarts", self.lasts + 20, 5)] * restarts),
            self.step("mirror starts", 2 * self.lasts + 40),
        ]


STALE = 10.0
"""Seconds for which a broker answers with what was so before."""

EPISODES: Mapping[str, Callable[[Episode], list[Step]]] = {
    "expiry": Episode.expiry,
    "drop": lambda e: e.one("drop", 1, 3, 50),
    "mirror crash": lambda e: e.pair("mirror dies", "mirror starts"),
    "mirror restart": lambda e: e.pair("mirror stops", "mirror starts"),
    "freeze": lambda e: e.pair("mirror freezes", "mirror thaws"),
    "agent restart": lambda e: e.one("agent restarts", 1, 60, e.lasts),
    "source away": lambda e: e.pair("source is cut", "source is back"),
    "target away": lambda e: e.pair("target is cut", "target is back"),
    "both away": lambda e: e.pair("brokers are down", "brokers are up"),
    "leaderless": lambda e: e.pair("leader is lost", "leader is elected"),
    "new topic": lambda e: e.one("topic appears"),
    "growth": lambda e: e.one("topic grows"),
    "stale start": lambda e: e.pair(
        "start is stale", "answers are right", STALE
    ),
    "stale end": lambda e: e.pair("end is stale", "answers are right", STALE),
    "clock": lambda e: e.one("clock steps", -3600, -37, 86_400),
    "transaction": lambda e: e.one("transaction", 0, 1),
    "burst": lambda e: e.one("burst", 500, 5000),
    "foreign": lambda e: e.one("foreign records", 1, 50, 2000),
    "slow": lambda e: e.pair("answers are slow", "answers are fast"),
}
"""What a world may have in it."""


def _episode(
    random: Random, topics: Mapping[str, tuple[int, float]], length: float
) -> tuple[str, list[Step]]:
    topic = random.choice(list(topics))
    episode = Episode(
        random=random,
        at=random.uniform(5 * MINUTE, length),
        lasts=random.choice([20.0, 2 * MINUTE, 10 * MINUTE]),
        topic=topic,
        partition=random.randrange(topics[topic][0]),
    )
    name = random.choice(list(EPISODES))
    return name, EPISODES[name](episode)


@dataclass
class Judge:
    """Holds what the agent says to what the oracle knows."""

    world: World
    calm_since: float = 0.0
    """When anything was last done to the world."""

    def take(self, report: Report) -> None:
        """Judge one report."""
        world, now = self.world, self.world.schedule.elapsed
        lost = world.oracle.lost()
        by_check = {v.check: v for v in report.verdicts}
        if not world.oracle.ever_lost:
            for check in ("skips", "position"):
                if by_check[check].health is Health.CRITICAL:
                    raise ViolationError(
                        f"{check} is critical and nothing is lost: "
                        f"{by_check[check].reason}"
                    )
        canary = by_check["canary"]
        if (
            canary.health is Health.CRITICAL
            and "lost" in canary.reason
            and not world.oracle.lost_of(CANARY)
        ):
            raise ViolationError(f"no probe is lost: {canary.reason}")
        if not lost:
            return
        newest = world.oracle.last_loss_at() or 0.0
        could_see = max(newest, self.calm_since, world.agent.started_at)
        tells = any(
            by_check[c].health is Health.CRITICAL
            for c in ("skips", "position")
        )
        # Before the first copy nothing proves where the mirror will begin;
        # that nothing was ever copied is known, and told.
        lag = by_check["lag"]
        tells = tells or (
            lag.health is Health.CRITICAL and "was never copied" in lag.reason
        )
        in_window = now - newest < LOST_WINDOW - MINUTE
        if in_window and not tells and now - could_see > REPORTED_WITHIN:
            raise ViolationError(
                f"{lost} records are lost, the last at {newest:.0f} s, and "
                "nothing is critical:\n" + world.describe()
            )

    def finish(self) -> None:
        """Judge the world after it was left alone."""
        world = self.world
        for check, verdict in world.agent.verdicts.items():
            if verdict.health is Health.UNKNOWN:
                raise ViolationError(
                    f"{check} stays unknown: {verdict.reason}"
                )
            if world.oracle.ever_lost or check in {"skips", "position"}:
                continue
            if verdict.health is Health.CRITICAL:
                raise ViolationError(
                    f"{check} stays critical: {verdict.reason}"
                )


def run(plan: Plan) -> World:
    """Run a world, and hold the agent to it.

    Raises
    ------
    ViolationError
        Raised if a property does not hold.
    """
    with World(
        plan.seed,
        mirror=MirrorSettings(**plan.mirror),
        interval=plan.interval,
    ) as world:
        judge = Judge(world)
        world.agent.on_report = judge.take
        for name, (partitions, rate) in plan.topics.items():
            world.source.create(name, partitions)
            world.traffic(name, per_second=rate)
        world.mirror.start()
        world.run(10)
        world.agent.start()
        world.run(2 * MINUTE)
        # What a mirror did before it was watched is not judged.
        world.oracle.forget()
        for step in plan.steps:
            if step.at > world.schedule.elapsed:
                world.schedule.run_until(step.at)
            judge.calm_since = world.schedule.elapsed
            do(world, step)
        for what in MENDED:
            do(world, Step(world.schedule.elapsed, what))
        judge.calm_since = world.schedule.elapsed
        world.run(CALM)
        judge.finish()
        return world


MENDED = [
    "mirror thaws",
    "mirror starts",
    "source is back",
    "target is back",
    "brokers are up",
    "leaders are elected",
    "answers are right",
    "answers are fast",
]
"""What is done to every world before it is left alone."""


def do(world: World, step: Step) -> None:
    """Do one step to a world."""
    DEEDS[step.what](world, step)


def _set(**values: object) -> Callable[[World, Step], None]:
    """Return what sets attributes of clusters, ``source_up`` for example."""

    def work(world: World, _: Step) -> None:
        for name, value in values.items():
            part, _sep, attribute = name.partition("_")
            setattr(getattr(world, part), attribute, value)

    return work


def _restart_agent(world: World, step: Step) -> None:
    if world.agent.running:
        world.agent.kill()
        world.schedule.after(step.amount, world.agent.start)


def _lead(world: World, step: Step, leader: int | None) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is not None:
        log.leader = leader


def _elect(world: World, _: Step) -> None:
    for topic in world.source.topics.values():
        for log in topic.logs:
            log.leader = 1


def _appear(world: World, step: Step) -> None:
    name = f"{step.topic}.new{int(step.at)}"
    world.source.create(name, 1)
    world.traffic(name, per_second=0.5)


def _grow(world: World, step: Step) -> None:
    partitions = len(world.source.topics[step.topic].logs)
    world.source.grow(step.topic, partitions + 1)


def _make_start_stale(world: World, step: Step) -> None:
    topic = world.source.topics[step.topic]
    topic.stale_starts[step.partition] = 0


def _make_end_stale(world: World, step: Step) -> None:
    topic = world.source.topics[step.topic]
    log = topic.logs[step.partition]
    topic.stale_ends[step.partition] = max(log.start, log.end - 20)


def _answer_rightly(world: World, _: Step) -> None:
    for topic in world.source.topics.values():
        topic.stale_starts.clear()
        topic.stale_ends.clear()


def _step_clock(world: World, step: Step) -> None:
    world.schedule.step += timedelta(seconds=step.amount)


def _transact(world: World, step: Step) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is None or log.leader is None:
        return
    kind = Kind.ABORTED if step.amount else Kind.DATA
    for _ in range(5):
        log.append(Record(None, b"t", world.source.milliseconds(), kind))
    log.append(Record(None, None, world.source.milliseconds(), Kind.MARKER))


def _write_foreign(world: World, step: Step) -> None:
    log = world.target.log(step.topic, step.partition)
    if log is not None:
        for _ in range(int(step.amount)):
            at = world.target.milliseconds()
            log.append(Record(None, b"foreign", at))


def _drop(world: World, step: Step) -> None:
    left = [int(step.amount)]

    def drops(name: str, partition: int, _: Record) -> bool:
        if (name, partition) == (step.topic, step.partition) and left[0]:
            left[0] -= 1
            return True
        return False

    world.mirror.drops = drops


DEEDS: Mapping[str, Callable[[World, Step], None]] = {
    "mirror dies": lambda w, _: w.mirror.kill(),
    "mirror stops": lambda w, _: w.mirror.stop(),
    "mirror starts": lambda w, _: w.mirror.start(),
    "mirror freezes": _set(mirror_frozen=True),
    "mirror thaws": _set(mirror_frozen=False),
    "expire": lambda w, s: w.expire(s.topic, s.partition, int(s.amount)),
    "drop": _drop,
    "agent restarts": _restart_agent,
    "source is cut": _set(source_reachable=None),
    "source is back": _set(source_reachable=True),
    "target is cut": _set(target_reachable=False),
    "target is back": _set(target_reachable=True),
    "brokers are down": _set(
        source_up=False,
        target_up=False,
        source_reachable=False,
        target_reachable=False,
    ),
    "brokers are up": _set(
        source_up=True,
        target_up=True,
        source_reachable=True,
        target_reachable=True,
    ),
    "leader is lost": lambda w, s: _lead(w, s, None),
    "leader is elected": lambda w, s: _lead(w, s, 1),
    "leaders are elected": _elect,
    "topic appears": _appear,
    "topic grows": _grow,
    "start is stale": _make_start_stale,
    "end is stale": _make_end_stale,
    "answers are right": _answer_rightly,
    "clock steps": _step_clock,
    "transaction": _transact,
    "burst": lambda w, s: w.produce(s.topic, s.partition, int(s.amount)),
    "foreign records": _write_foreign,
    "answers are slow": _set(network_slow=0.1),
    "answers are fast": _set(network_slow=0.0),
}
"""What may be done to a world."""


def fails(plan: Plan) -> str | None:
    """Return why a world fails, `None` if it does not."""
    try:
        run(plan)
    except Exception as e:  # noqa: BLE001 - whatever it is, the world failed
        if isinstance(e, AssertionError):
            return str(e)
        return "".join(traceback.format_exception(e)[-6:])
    return None


def shrink(plan: Plan, most: int = 60) -> Plan:
    """Return a smaller world that fails, too."""
    for _ in range(most):
        for smaller in _smaller(plan):
            if fails(smaller) is not None:
                plan = smaller
                break
        else:
            return plan
    return plan


def _smaller(plan: Plan) -> Iterable[Plan]:
    for n in range(len(plan.steps)):
        yield replace(plan, steps=plan.steps[:n] + plan.steps[n + 1 :])
    used = {s.topic for s in plan.steps}
    for name in plan.topics:
        if name not in used and len(plan.topics) > 1:
            rest = {k: v for k, v in plan.topics.items() if k != name}
            yield replace(plan, topics=rest)
