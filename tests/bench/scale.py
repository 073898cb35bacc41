"""What the agent costs on a large site: `make scale`.

A lab with as many topics as the first site has, then one with ten thousand
partitions. The agent runs in this process first, so that its steps can be
timed and its requests counted, then in one of its own, for its footprint.
"""

# ruff: noqa: SLF001 - it looks inside the survey, to count its requests
import argparse
import cProfile
import json
import pstats
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import median
from threading import current_thread
from typing import Any

import structlog
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.factory import build_agent
from mirrorwatch.lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch.lab.waiting import wait_until
from mirrorwatch.state import Database
from tests.support.agent_process import AgentProcess
from tests.support.footprint import Cost, describe_machine
from tests.support.lab import produce
from tests.support.watch import describe

INTERVAL = "15s"
"""Of the agent whose footprint is measured, as large sites would have it."""

WARM_UP_SECONDS = 60.0
"""After its start: the first ticks read everything that there is."""

MIRRORED = timedelta(minutes=5)
"""Longest that the mirror may take to make all topics."""

BATCH = 250
"""Topics that are made at once: a controller takes 10,000 partitions."""

BUSY = 40
"""Topics that records are written to."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a site is."""

    topics: int
    partitions: int
    """Of each topic."""

    @property
    def names(self) -> list[str]:
        return [f"lsst.sal.bench.{n:05}" for n in range(self.topics)]

    def __str__(self) -> str:
        return f"{self.topics} topics, {self.topics * self.partitions} part."


SIZES = {"site": Size(1172, 1), "large": Size(2000, 5)}
"""The first site, and what is in sight."""


@dataclass(slots=True)
class Times:
    """How long something took, each time."""

    taken: list[float] = field(default_factory=list)

    def __call__(self, work: Callable[[], object]) -> None:
        begin = time.monotonic()
        work()
        self.taken.append(time.monotonic() - begin)

    def __str__(self) -> str:
        if not self.taken:
            return "never"
        ms = [1000 * t for t in self.taken]
        return (
            f"{median(ms):.0f} ms, at least {min(ms):.0f}, at most "
            f"{max(ms):.0f} ({len(ms)} times)"
        )


def serve(lab: Lab, size: Size) -> None:
    """Wait until the mirror has made all topics; write to some of them."""
    begin = time.monotonic()
    for start in range(0, size.topics, BATCH):
        lab.source.topics.create_all(
            dict.fromkeys(size.names[start : start + BATCH], size.partitions),
            {},
        )
    made = time.monotonic() - begin
    wait_until(
        lambda: set(size.names) <= lab.target.topics.names().keys(),
        limit=MIRRORED,
        what="the mirror has not made all topics",
        pause=timedelta(seconds=1),
    )
    for topic in size.names[:BUSY]:
        produce(lab, topic, map(str, range(50)))
    print(
        f"topics made in {made:.1f} s, mirrored in "
        f"{time.monotonic() - begin - made:.0f} s"
    )


def ask_bare(lab: Lab, size: Size) -> Times:
    """Time what cannot be done without: metadata and ends, of both sides."""
    admins = [
        AdminClient(site.client_properties())
        for site in (lab.source, lab.target)
    ]
    places = {
        TopicPartition(topic, partition): OffsetSpec.latest()
        for topic in size.names
        for partition in range(size.partitions)
    }

    def ask() -> None:
        for admin in admins:
            admin.list_topics(timeout=10)
            for answer in admin.list_offsets(places).values():
                answer.result(10)

    times = Times()
    for _ in range(8):
        times(ask)
    return times


class Requests:
    """Counts the requests of a survey's clients, as librdkafka tells them."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}

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
        for cluster in survey._clusters.values():
            cluster._admin.poll(0)
        for ends in survey._ends.values():
            for consumer in ends._consumers.values():
                consumer.poll(0)

    @property
    def count(self) -> int:
        return sum(n - self._first[c] for c, n in self._last.items())

    def _note(self, text: str) -> None:
        if current_thread().name != "survey":
            return  # a client of the canary or of the tails
        said = json.loads(text)
        sent = sum(broker["tx"] for broker in said["brokers"].values())
        self._first.setdefault(said["name"], sent)
        self._last[said["name"]] = sent


@contextmanager
def running(config: Config) -> Iterator[Agent]:
    """Run an agent in this process."""
    logger = structlog.get_logger("bench")
    agent = build_agent(
        config, database=Database(None), clock=utc_now, logger=logger
    )
    with Daemon(agent, clock=utc_now, logger=logger):
        yield agent


def measure_steps(
    lab: Lab, seconds: float, *, profile: Path | None
) -> dict[str, object]:
    """Time the steps of an agent, and count what it asks."""
    data = describe(lab, canary={"topic": CANARY_TOPIC})
    data["interval"] = "2s"
    config, requests = Config.from_mapping(data), Requests()
    requests.listen(config)
    profiler = cProfile.Profile()
    with running(config) as agent:
        survey = next(w for w in agent.workers if w.name == "survey")
        step, steps, cpu = survey.step, Times(), Times()

        def timed() -> None:
            if profile is not None:
                profiler.enable()
            begin = time.thread_time()
            try:
                steps(step)
            finally:
                profiler.disable()
            cpu.taken.append(time.thread_time() - begin)
            requests.ask(survey)

        object.__setattr__(survey, "step", timed)
        time.sleep(20)
        steps.taken.clear()
        asked = requests.count
        ticks = _watch_ticks(agent, seconds)
        asked, made = requests.count - asked, len(steps.taken)
        report = agent.board.report
    if profile is not None:
        pstats.Stats(profiler).dump_stats(profile)
    return {
        "survey": steps,
        "of it in its own thread": cpu,
        "tick": ticks,
        "requests for each survey": round(asked / max(made, 1), 1),
        **{
            v.check: f"{v.health.label}: {v.reason}"
            for v in (report.verdicts if report else ())
        },
    }


def _watch_ticks(agent: Agent, seconds: float) -> Times:
    ticks, seen = Times(), None
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        report = agent.board.report
        if report is not None and report.at != seen:
            seen = report.at
            if report.agent.last_tick is not None:
                ticks.taken.append(report.agent.last_tick.total_seconds())
        time.sleep(0.1)
    return ticks


def measure_footprint(lab: Lab, seconds: float) -> Cost:
    """Return what an agent costs in a process of its own."""
    config = describe(lab, canary={"topic": CANARY_TOPIC})
    config["interval"] = INTERVAL
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentProcess(Path(folder), config) as agent,
    ):
        time.sleep(WARM_UP_SECONDS)
        before = agent.footprint
        time.sleep(seconds)
        cost = Cost(before, agent.footprint)
        agent.stop()
    return cost


def measure(name: str, seconds: float, profile: Path | None) -> None:
    size = SIZES[name]
    print(f"{name}: {size}, on {describe_machine()}", flush=True)
    settings = LabSettings(
        intervals="fast",
        topics={CANARY_TOPIC: 6},
        mirror_heap_mib=1024,
        source_properties={"log.cleaner.enable": "false"},
        target_properties={"log.cleaner.enable": "false"},
    )
    with Lab(settings) as lab:
        serve(lab, size)
        bare = ask_bare(lab, size)
        print(f"  bare requests of both sides: {bare}", flush=True)
        for what, figure in measure_steps(
            lab, seconds, profile=profile
        ).items():
            print(f"  {what}: {figure}", flush=True)
        print(f"  {measure_footprint(lab, seconds)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--profile", type=Path)
    parser.add_argument(
        "sizes", nargs="*", choices=[*SIZES, []], default=list(SIZES)
    )
    options = parser.parse_args(arguments)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(30)
    )
    for name in options.sizes:
        measure(name, options.seconds, options.profile)


if __name__ == "__main__":
    main()
