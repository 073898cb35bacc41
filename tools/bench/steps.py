"""Times the steps of an agent in this process, and counts its requests."""

# ruff: noqa: SLF001 - it looks inside the survey, to count its requests
import cProfile
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import current_thread
from typing import Any

import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.domain.report import Verdict
from mirrorwatch.factory import build_agent
from mirrorwatch.state import Database

__all__ = ["Steps", "Times", "measure_steps"]

WARM_UP_SECONDS = 20.0
"""The first surveys make clients and books."""


@dataclass(slots=True)
class Times:
    """How long something took, each time."""

    taken: list[float] = field(default_factory=list)
    """Seconds that passed."""

    cpu: list[float] = field(default_factory=list)
    """Of these, seconds of processor time in the thread itself: other
    processes disturb them less."""

    def __call__(self, work: Callable[[], object]) -> None:
        begin, busy = time.monotonic(), time.thread_time()
        try:
            work()
        finally:
            self.taken.append(time.monotonic() - begin)
            self.cpu.append(time.thread_time() - busy)

    def over(self, other: "Times") -> str:
        """Return how many times another one's time this takes."""
        return (
            f"{median(self.taken) / median(other.taken):.2f} by the medians, "
            f"{min(self.taken) / min(other.taken):.2f} by the quickest, "
            f"{median(self.cpu) / median(other.cpu):.2f} by the threads' "
            "processor time"
        )

    def __str__(self) -> str:
        if not self.taken:
            return "never"
        ms = [1000 * t for t in self.taken]
        own = f", {1000 * median(self.cpu):.0f} ms busy" if self.cpu else ""
        return (
            f"{median(ms):.0f} ms{own}, at least {min(ms):.0f}, at most "
            f"{max(ms):.0f} ({len(ms)} times)"
        )


@dataclass(frozen=True, slots=True)
class Steps:
    """What was measured."""

    survey: Times
    ticks: Times
    requests: Counter[str]
    verdicts: tuple[Verdict, ...]

    def requests_each(self) -> str:
        """Return the requests of one survey."""
        count = max(len(self.survey.taken), 1)
        return ", ".join(
            f"{n / count:.1f} {name}"
            for name, n in self.requests.most_common()
            if n
        )


class Requests:
    """Counts the requests of a survey's clients, as librdkafka tells them."""

    def __init__(self) -> None:
        self._last: dict[str, Counter[str]] = {}

    def listen(self, config: Config) -> None:
        """Let every client of the configuration tell its figures."""
        for cluster in config.clusters.values():
            told: dict[str, Any] = {
                **cluster.kafka,
                "statistics.interval.ms": 500,
                "stats_cb": self._note,
            }
            object.__setattr__(cluster, "kafka", told)

    def ask(self, survey: Any) -> None:
        """Hear the clients of the survey, in its thread."""
        for side in survey._sides.values():
            side._cluster._admin.poll(0)
            for consumer in [*side._cluster._lookup._consumers.values()]:
                consumer.poll(0)

    def count(self) -> Counter[str]:
        """Return how many there were until now, by what they asked."""
        return sum(self._last.values(), Counter())

    def _note(self, text: str) -> None:
        if current_thread().name != "survey":
            return  # a client of the canary or of the tails
        said = json.loads(text)
        sent: Counter[str] = Counter()
        for broker in said["brokers"].values():
            sent.update(broker["req"])
        self._last[said["name"]] = sent


def measure_steps(
    data: dict[str, Any], seconds: float, *, profile: Path | None
) -> Steps:
    """Time the surveys and the ticks of an agent with a configuration.

    Parameters
    ----------
    data
        The configuration.
    seconds
        How long to measure.
    profile
        File for a profile of the surveys, which makes them slower.
    """
    config, requests = Config.from_mapping(data), Requests()
    requests.listen(config)
    profiler, steps = cProfile.Profile(), Times()
    with _running(config) as agent:
        survey = next(w for w in agent.workers if w.name == "survey")
        step = survey.step

        def timed() -> None:
            if profile is not None:
                profiler.enable()
            try:
                steps(step)
            finally:
                profiler.disable()
            requests.ask(survey)

        object.__setattr__(survey, "step", timed)
        time.sleep(WARM_UP_SECONDS)
        before, steps.taken[:], steps.cpu[:] = requests.count(), [], []
        ticks = _watch_ticks(agent, seconds)
        asked = requests.count() - before
        report = agent.latest.get()
    if profile is not None:
        profiler.dump_stats(profile)
    return Steps(steps, ticks, asked, report.verdicts if report else ())


@contextmanager
def _running(config: Config) -> Iterator[Agent]:
    logger = structlog.get_logger("bench")
    agent = build_agent(
        config, database=Database(None), clock=Clock(), logger=logger
    )
    with Daemon(agent, logger=logger):
        yield agent


def _watch_ticks(agent: Agent, seconds: float) -> Times:
    ticks, seen = Times(), None
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        report = agent.latest.get()
        if report is not None and report.at != seen:
            seen = report.at
            if report.agent.last_tick is not None:
                ticks.taken.append(report.agent.last_tick.total_seconds())
        time.sleep(0.1)
    return ticks
