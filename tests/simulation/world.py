"""One world: two sites, a mirror, producers, and the agent."""

import gc
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Self

from mirrorwatch.cli.run import YOUNG_OBJECTS

from .agent import SimAgent
from .client import Network, installed
from .cluster import Record, SimCluster
from .families import FAMILIES
from .mirrormaker import MirrorSettings
from .oracle import Oracle
from .schedule import Schedule

__all__ = ["CANARY", "Site", "World"]

CANARY = "mirrorwatch.canary"


@dataclass(frozen=True)
class Site:
    """Clusters and producers, where they are not the plainest."""

    brokers: int = 1
    segment: int = 1
    """Records of one segment of a log."""

    clocks: tuple[float, float] = (0.0, 0.0)
    """Seconds by which source and target are ahead of the agent."""

    transactional: bool = False
    """Whether producers write in transactions."""


TRANSACTION = 2.0
"""Seconds for which a transaction is open."""

ABORTED = 0.2
"""Share of transactions that are aborted."""


@cache
def _calm_collector() -> None:
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


class World:
    """A world in virtual time.

    Parameters
    ----------
    seed
        Decides everything that is left to chance.
    kind
        What kind of mirror it is, as in the agent's configuration.
    mirror
        How the mirror is configured.
    flow
        More of the flow's configuration.
    interval
        The agent's tick, in seconds.
    coarse
        How much more seldom than in reality the agent's workers look. The
        canary's looks, of a quarter of a second, stay below the 2 s after
        which it takes itself to have been away.
    tails
        The same for all others, if it is another number.
    keeps_charts
        Whether the agent keeps what charts show.
    site
        What clusters and producers are like.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        kind: str = "mirrormaker2",
        mirror: MirrorSettings | None = None,
        flow: dict[str, Any] | None = None,
        interval: int = 15,
        coarse: float = 7.5,
        tails: float | None = None,
        keeps_charts: bool = True,
        site: Site | None = None,
    ) -> None:
        _calm_collector()
        self.random = Random(seed)  # noqa: S311 - no secret
        self.schedule = Schedule()
        self.site = site or Site()
        self.source, self.target = (
            SimCluster(
                alias,
                self.schedule,
                brokers=self.site.brokers,
                segment=self.site.segment,
                ahead=ahead,
            )
            for alias, ahead in zip(
                ("summit", "ldf"), self.site.clocks, strict=True
            )
        )
        self.oracle = Oracle(lambda: self.schedule.elapsed)
        self.network = Network(
            self.schedule,
            {"summit:9092": self.source, "ldf:9092": self.target},
            Random(seed + 1),  # noqa: S311 - no secret
            {
                "canary": coarse,
                "tail": tails or coarse,
            },
        )
        self.source.create(CANARY, self.site.brokers)
        family = FAMILIES[kind]
        self.mirror = family.mirror(
            self.source,
            self.target,
            mirror or MirrorSettings(),
            self.oracle,
            Random(seed + 2),  # noqa: S311 - no secret
        )
        memory = Path("/dev/shm")  # noqa: S108 - no disk is needed
        self._folder = tempfile.TemporaryDirectory(
            dir=memory if memory.is_dir() else None
        )
        config: dict[str, Any] = {
            "interval": f"{interval}s",
            "clusters": {
                "summit": {"kafka": {"bootstrap.servers": "summit:9092"}},
                "ldf": {"kafka": {"bootstrap.servers": "ldf:9092"}},
            },
            "flows": [
                {
                    "source": "summit",
                    "target": "ldf",
                    "naming": "identity",
                    "canary": {
                        "topic": CANARY,
                        "interval": "10s",
                        "deadline": "2m",
                    },
                    "mirror": {"kind": kind, **family.config},
                    **(flow or {}),
                }
            ],
        }
        self.agent = SimAgent(
            self.schedule,
            config,
            Path(self._folder.name) / "state.db",
            coarse=lambda task: (
                coarse
                if task is not None and task.name.startswith("canary ")
                else (tails or coarse)
            ),
            keeps_charts=keeps_charts,
        )
        self.keys: dict[str, int] = {}

        self.deleted: dict[str, tuple[int, dict[str, str]]] = {}

        self.truncated: dict[tuple[str, int], float] = {}
        """When logs of the source were truncated last."""

        self.cut_copies: set[tuple[str, int]] = set()

        self.changed: dict[tuple[str, str, str], str | None] = {}
        """Values of topic configs before they were changed, by side, topic
        and name."""

        self.other_beats = False

        self.quiet = False

        self._produced = 0
        self._clients = installed(self.network)

    def __enter__(self) -> Self:
        self._clients.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self.agent.running:
            self.agent.kill()
        self.schedule.close()
        self._clients.__exit__(None, None, None)
        self._folder.cleanup()

    def produce(
        self,
        topic: str,
        partition: int = 0,
        count: int = 1,
        keys: int = 0,
        *,
        in_transaction: bool = False,
    ) -> None:
        """Write records at the source, with one of some keys if wanted."""
        log = self.source.log(topic, partition)
        if log is None or log.leader is None:
            return
        at = self.source.milliseconds()
        for _ in range(count):
            self._produced += 1
            key = b"%d" % (self._produced * 7 % keys) if keys else None
            value = b"%d" % self._produced
            log.append(Record(key, value, at, in_transaction=in_transaction))

    def transact(
        self, topic: str, partition: int, count: int, keys: int = 0
    ) -> None:
        """Write a transaction at the source, which ends some seconds later."""
        log = self.source.log(topic, partition)
        if log is None or log.leader is None:
            return
        if log.open_from is None:
            log.open_from = log.end
        self.produce(topic, partition, count, keys, in_transaction=True)
        aborts = self.random.random() < ABORTED
        self.schedule.after(
            TRANSACTION,
            lambda: log.end_transaction(
                self.source.milliseconds(), aborts=aborts
            ),
        )

    def remote(self, topic: str) -> str:
        """Return how a topic is called at the target."""
        return self.mirror.settings.naming(topic)

    def expire(self, topic: str, partition: int, keep: int) -> None:
        """Let all but the newest offsets of a partition expire."""
        log = self.source.log(topic, partition)
        if log is not None:
            log.expire(max(log.start, log.end - keep))

    def traffic(
        self,
        topic: str,
        *,
        per_second: float,
        every: float = 5.0,
        keys: int = 0,
    ) -> None:
        """Let producers write for as long as the world lasts."""
        every = max(every, 1 / per_second)

        def write() -> None:
            found = None if self.quiet else self.source.topics.get(topic)
            send = self.transact if self.site.transactional else self.produce
            for partition in range(len(found.logs) if found else 0):
                send(topic, partition, round(per_second * every), keys)

        self.schedule.every(lambda: every, write)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.schedule.run_until(self.schedule.elapsed + seconds)

    def run_until(
        self, condition: Callable[[], bool], within: float, look: float = 5.0
    ) -> float:
        """Let time pass until something is so; return after how long."""
        began = self.schedule.elapsed
        while not condition():
            passed = self.schedule.elapsed - began
            assert passed < within, f"not within {within} s: {self.describe()}"
            self.run(look)
        return self.schedule.elapsed - began

    def describe(self) -> str:
        """Return what the agent says now."""
        return "\n".join(
            f"{v.check}: {v.health.name} {v.reason}"
            for v in self.agent.verdicts.values()
        )
