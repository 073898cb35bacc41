"""Worlds by chance: what is in them, and how one that fails is made smaller.

One seed gives one world. It is drawn as a list of plain steps first, so that
a failing world can be made smaller by leaving steps out, and replayed.
"""

import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from .episodes import (
    EPISODES,
    FAMILY_EPISODES,
    LATER_EPISODES,
    LATEST_EPISODES,
    MENDED,
    Episode,
    Step,
    do,
)
from .families import FAMILIES, traits_of
from .families_judge import make_judge
from .groups import Groups
from .groups_chance import (
    GROUP_MENDED,
    READERS,
    GroupsPlan,
    do_groups,
    draw_groups,
)
from .groups_judge import GroupsJudge
from .judge import Judge, ViolationError
from .mirrormaker import MirrorSettings
from .sites import SITE_FEATURES, draw_site
from .topics_episodes import (
    TOPICS_DEEDS,
    TOPICS_EPISODES,
    TOPICS_MENDED,
    Addition,
    add,
)
from .topics_judge import FactsJudge
from .world import CANARY, Site, World

__all__ = [
    "FAMILIES_FROM",
    "FEATURES",
    "GROUPS_FROM",
    "LATEST_FROM",
    "SHORT_FROM",
    "SITES_FROM",
    "TOPICS_FROM",
    "WIDER_FROM",
    "Plan",
    "ViolationError",
    "draw",
    "fails",
    "run",
    "shrink",
]

MINUTE, HOUR = 60.0, 3600.0

SHORT_FROM = 10**6
"""Seed from which worlds are shorter, so that more of them can be tried: what
goes wrong in them comes closer together, and does so sooner."""

WIDER_FROM = 2 * 10**7
"""Seed from which worlds have in them what was thought of later, too."""

FAMILIES_FROM = 2 * 10**9
"""Seed from which a mirror may be another than MirrorMaker 2."""

LATEST_FROM = 9 * 10**9
"""Seed from which the target may lose copies, offsets may be set, and probes
may have what goes wrong, too."""

GROUPS_FROM = 2 * 10**10
"""Seed from which worlds of MirrorMaker 2 have consumer groups: each is one
of those from `WIDER_FROM` on, with groups beside."""

TOPICS_FROM = 12 * 10**9
"""Seed from which configs differ, topics are not created, a mirror is too slow
for the retention, and heartbeats are written, too."""

SITES_FROM = 14 * 10**9
"""Seed from which clusters, producers and tasks may be those of real sites."""

OTHERS = [kind for kind in FAMILIES if kind != "mirrormaker2"]

CHARTS_EVERY = 8
"""In one of so many worlds without probes, whose latency is read from them,
the agent keeps what its charts show."""

SEEN = 20.0
"""How much more seldom than in reality the agent polls what it follows."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic before its world runs."""

    partitions: int
    rate: float
    keys: int = 0
    """Keys of its records, if it is compacted."""


@dataclass(frozen=True)
class Plan:
    """A world before it runs."""

    seed: int
    topics: Mapping[str, Topic]
    mirror: Mapping[str, Any]
    interval: int
    length: float
    steps: tuple[Step, ...]
    kind: str = "mirrormaker2"
    canary: bool = False
    groups: GroupsPlan | None = None
    starts_after: float = 0.0
    addition: Addition = field(default_factory=Addition)
    site: Site = field(default_factory=Site)
    features: frozenset[str] = field(default_factory=frozenset)


FEATURES = frozenset(
    {*EPISODES, *LATER_EPISODES, *LATEST_EPISODES, *FAMILIES}
    | TOPICS_EPISODES.keys()
    | SITE_FEATURES.keys()
) | {
    "alters",
    "canary",
    "committed",
    "compacted topic",
    "configured topics",
    "exactly_once",
    "flush of 300 s",
    "heartbeats",
    "heartbeats of another mirror",
    "latest",
    "mirror down at first",
    "no syncs",
    "no syncs at flush",
    "probes go wrong",
    "several episodes at once",
    "short retention",
    "untold flush",
}


def draw(seed: int) -> Plan:
    """Draw a world."""
    if seed >= GROUPS_FROM:
        return _with_groups(draw(WIDER_FROM + seed - GROUPS_FROM), seed)
    plan = _draw(seed)
    if seed >= TOPICS_FROM:
        plan = _with_topics(plan)
    return _at_site(plan) if seed >= SITES_FROM else plan


def _with_topics(plan: Plan) -> Plan:
    expiring = {n: t.partitions for n, t in plan.topics.items() if not t.keys}
    added = add(
        plan.seed,
        expiring or {n: t.partitions for n, t in plan.topics.items()},
        plan.length,
        mm2=plan.kind == "mirrormaker2",
        alters=plan.mirror["alters"],
    )
    return replace(
        plan,
        mirror={**plan.mirror, **added.mirror},
        steps=_ordered(*plan.steps, *added.steps),
        addition=added,
        features=plan.features | added.features,
    )


def _at_site(plan: Plan) -> Plan:
    mm2 = plan.kind == "mirrormaker2"
    drawn = draw_site(plan.seed, plan.length, mm2=mm2)
    # Ten tasks need as many partitions.
    wide = {"wide": Topic(10, 0.05)} if "tasks" in drawn.mirror else {}
    return replace(
        plan,
        topics={**plan.topics, **wide},
        mirror={**plan.mirror, **drawn.mirror},
        steps=_ordered(*plan.steps, *drawn.steps),
        site=drawn.site,
        features=plan.features | drawn.features,
    )


def _ordered(*steps: Step) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.at))


def _draw(seed: int) -> Plan:
    random = Random(seed)  # noqa: S311 - no secret
    topics = {
        name: Topic(
            random.choice([1, 1, 2, 3]),
            random.choice([0.05, 0.2, 1.0]),
            random.choice([0, 0, 0, 10]),
        )
        for name in "abc"[: random.randint(1, 3)]
    }
    mirror = _draw_mirror(random)
    kind = "mirrormaker2"
    if seed >= FAMILIES_FROM and random.random() < 0.5:
        kind = random.choice(OTHERS)
        mirror = _draw_family(random, kind, mirror)
    lengths = [0.15, 0.2, 0.4] if seed >= SHORT_FROM else [0.3, 0.5, 1.0]
    length = random.choice(lengths) * HOUR
    episodes: list[tuple[str, list[Step]]] = []
    probes = seed >= LATEST_FROM and random.random() < 0.2
    places = {**topics, CANARY: Topic(1, 1.0)} if probes else topics
    at = 0.0
    overlap = False
    for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4, 6])):
        close = at > 0 and random.random() < 0.4
        overlap |= close
        at = (
            at + random.uniform(0, 90)
            if close
            else (random.uniform(5 * MINUTE, length))
        )
        episodes.append(_episode(random, places, at, seed, kind))
    drawn: dict[str, bool] = {
        "alters": mirror["alters"],
        "canary": random.random() < 0.15 or probes,
        "committed": mirror["committed"],
        "compacted topic": any(t.keys for t in topics.values()),
        "exactly_once": mirror["exactly_once"],
        "flush of 300 s": mirror["flush"] == 300.0,
        "latest": mirror["latest"],
        "mirror down at first": random.random() < 0.1,
        "no syncs": not mirror["emits_syncs"],
        "no syncs at flush": not mirror["syncs_at_flush"],
        "probes go wrong": probes,
        "several episodes at once": overlap,
        "untold flush": not mirror["tells_flush"],
    }
    return Plan(
        seed=seed,
        topics=topics,
        mirror=mirror,
        interval=random.choice([5, 15, 30, 30, 30]),
        length=length,
        steps=_ordered(*(step for _, found in episodes for step in found)),
        kind=kind,
        canary=drawn["canary"],
        starts_after=random.choice([2.0, 10.0]) * MINUTE
        if drawn["mirror down at first"]
        else 0.0,
        features=frozenset({kind, *(name for name, _ in episodes)})
        | {name for name, has in drawn.items() if has},
    )


def _with_groups(plan: Plan, seed: int) -> Plan:
    random = Random(seed)  # noqa: S311 - no secret
    groups, steps = draw_groups(random, list(plan.topics), plan.length)
    return replace(
        plan,
        seed=seed,
        groups=groups,
        steps=_ordered(*plan.steps, *steps),
        features=plan.features | {s.what for s in steps},
    )


def _draw_mirror(random: Random) -> dict[str, Any]:
    return {
        "flush": random.choice([10.0, 60.0, 60.0, 60.0, 300.0]),
        "tells_flush": random.random() < 0.8,
        "refresh": random.choice([60.0, 60.0, 600.0]),
        "syncs_at_flush": random.random() < 0.7,
        "emits_syncs": random.random() < 0.93,
        "latest": random.random() < 0.1,
        "lag_max": random.choice([100, 100, 10]),
        "poll": random.choice([1.0, 5.0, 5.0]),
        "committed": random.random() < 0.2,
        "exactly_once": random.random() < 0.15,
        "alters": random.random() < 0.1,
    }


def _draw_family(
    random: Random, kind: str, mirror: Mapping[str, Any]
) -> dict[str, Any]:
    drawn = dict(mirror) | {
        "emits_syncs": False,
        "tells_flush": False,
        "flush": random.choice([10.0, 60.0, 60.0]),
    }
    drawn["exactly_once"] = drawn["alters"] = False
    traits = traits_of(kind)
    if traits.in_connect:
        drawn["earliest"] = not drawn["latest"] and random.random() < 0.5
    if not traits.keeps_partitions:
        drawn["keeps_partitions"] = random.random() < 0.3
    if traits.keeps_offsets:
        drawn["latest"] = False
    return drawn


def _episode(
    random: Random,
    topics: Mapping[str, Topic],
    at: float,
    seed: int,
    kind: str,
) -> tuple[str, list[Step]]:
    topic = random.choice(list(topics))
    episode = Episode(
        random=random,
        at=at,
        lasts=random.choice([20.0, 2 * MINUTE, 10 * MINUTE]),
        topic=topic,
        partition=random.randrange(topics[topic].partitions),
    )
    known = EPISODES
    if seed >= WIDER_FROM:
        known = EPISODES | LATER_EPISODES
    if seed >= LATEST_FROM:
        known = known | LATEST_EPISODES
    names = FAMILY_EPISODES.get(kind, tuple(known))
    name = random.choice(names)
    return name, known[name](episode)


def run(plan: Plan) -> World:
    """Run a world, and hold the agent to it.

    Raises
    ------
    ViolationError
        Raised if a property does not hold.
    """
    with World(
        plan.seed,
        kind=plan.kind,
        mirror=MirrorSettings(**plan.mirror),
        flow={
            **({} if plan.canary else {"canary": {"enabled": False}}),
            **(READERS if plan.groups else {}),
            **plan.addition.flow(),
        },
        interval=plan.interval,
        tails=SEEN,
        keeps_charts=plan.canary or plan.seed % CHARTS_EVERY == 0,
        site=plan.site,
    ) as world:
        judge = make_judge(
            plan.kind,
            world,
            plan.interval,
            frozenset(s.what for s in plan.steps),
            len(plan.steps),
        )
        groups = _populate(plan, world)
        judges = [judge.take]
        held = GroupsJudge(world, groups, judge) if groups else None
        if held is not None:
            judges.append(held.take)
        _start(plan, world, judge)
        world.agent.on_report = lambda report: [
            take(report) for take in judges
        ]
        for step in plan.steps:
            if step.at > world.schedule.elapsed:
                world.schedule.run_until(step.at)
            judge.calm_since = world.schedule.elapsed
            if not do_groups(groups, step):
                _do(world, step)
        for what in (*TOPICS_MENDED, *MENDED):
            _do(world, Step(world.schedule.elapsed, what))
        for what in GROUP_MENDED:
            do_groups(groups, Step(world.schedule.elapsed, what))
        judge.calm_since = world.schedule.elapsed
        world.run(judge.calm)
        judge.finish()
        if held is not None:
            held.finish()
        return world


def _populate(plan: Plan, world: World) -> Groups | None:
    for name, topic in plan.topics.items():
        policy = "compact" if topic.keys else "delete"
        world.source.create(name, topic.partitions, cleanup_policy=policy)
        world.keys[name] = topic.keys
        world.traffic(name, per_second=topic.rate, keys=topic.keys)
    return plan.groups.make(world) if plan.groups else None


def _start(plan: Plan, world: World, judge: Judge) -> None:
    plan.addition.begin(world)
    world.mirror.start()
    world.run(10)
    if plan.starts_after:
        world.run(2 * MINUTE)
        world.mirror.stop()
    world.agent.start()
    world.run(plan.starts_after)
    world.mirror.start()
    world.run(2 * MINUTE)
    # What a mirror did before it was watched is not judged.
    world.oracle.forget()
    judge.facts = FactsJudge(
        world,
        plan.interval,
        plan.kind,
        plan.addition.every,
        chosen=plan.addition.chosen,
        steps=frozenset(s.what for s in plan.steps),
    )


def _do(world: World, step: Step) -> None:
    if step.what in TOPICS_DEEDS:
        TOPICS_DEEDS[step.what](world, step)
    else:
        do(world, step)


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
    if plan.site != Site():
        yield replace(plan, site=Site())
    used = {s.topic for s in plan.steps}
    for name in plan.topics:
        if name not in used and len(plan.topics) > 1:
            rest = {k: v for k, v in plan.topics.items() if k != name}
            yield replace(plan, topics=rest)
