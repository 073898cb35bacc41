"""What real sites have, in worlds by chance.

It is added to worlds that are drawn already, by a random stream of its own.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from .episodes import Episode, Step
from .world import Site

__all__ = ["SITE_FEATURES", "DrawnSite", "draw_site"]

MINUTE = 60.0

TASKS, TRANSACTIONS = "ten tasks", "transactional producers"
SITE_FEATURES = {
    TASKS: 0.25,  # of worlds of MirrorMaker 2, which are half of them
    "clocks apart": 0.13,
    "retention by segments": 0.13,
    TRANSACTIONS: 0.13,
    "two brokers": 0.13,
}
"""Share of worlds that have each: half have none."""


@dataclass(frozen=True)
class DrawnSite:
    """What a world has of it, and what goes wrong with that."""

    site: Site = field(default_factory=Site)
    mirror: dict[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    features: frozenset[str] = frozenset()


def draw_site(seed: int, length: float, *, mm2: bool) -> DrawnSite:
    """Draw what is added to a world.

    Parameters
    ----------
    seed
        Its seed.
    length
        Its length in seconds.
    mm2
        Whether its mirror is MirrorMaker 2: others have one task.
    """
    random = Random(f"site {seed}")  # noqa: S311 - no secret
    has = {n for n, share in SITE_FEATURES.items() if random.random() < share}
    if not mm2:
        has.discard(TASKS)
    mirror: dict[str, Any] = {"tasks": 10} if TASKS in has else {}
    if TRANSACTIONS in has and random.random() < 0.4:
        mirror["committed"] = True
    steps: list[Step] = []
    for name, fault in (("two brokers", _lost_broker), (TASKS, _lost_worker)):
        for _ in range(random.choice([0, 1, 2]) if name in has else 0):
            at = random.uniform(5 * MINUTE, length)
            lasts = random.choice([20.0, 2 * MINUTE, 5 * MINUTE])
            steps += fault(Episode(random, at, lasts, "", 0))
    return DrawnSite(
        site=Site(
            brokers=2 if "two brokers" in has else 1,
            segment=random.choice([10, 50, 200])
            if "retention by segments" in has
            else 1,
            clocks=random.choice([(60, 0), (0, 60), (-60, 0), (0, -60)])
            if "clocks apart" in has
            else (0, 0),
            transactional=TRANSACTIONS in has,
        ),
        mirror=mirror,
        steps=tuple(steps),
        features=frozenset(has) | ({"committed"} & mirror.keys()),
    )


def _lost_broker(episode: Episode) -> list[Step]:
    side = episode.random.choice(["source", "target"])
    behind = episode.random.choice([0, 1, 20])
    return [
        episode.step(f"{side} broker is lost", 0.0, behind),
        episode.step("brokers are complete", episode.lasts, behind),
    ]


def _lost_worker(episode: Episode) -> list[Step]:
    return [
        episode.step("worker dies"),
        episode.step("tasks move", episode.lasts),
        episode.step("worker is back", 2 * episode.lasts),
    ]
