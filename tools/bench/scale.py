"""What the agent costs on a large site: `make scale`.

A lab with as many topics as the first site has, at rest and with 200 of them
moving, then one with ten thousand partitions. The agent runs in this process
first, so that its steps can be timed and its requests counted, then in one of
its own, for its footprint, with a scrape every 15 s: agents of several
checkouts at once. `make profile` shows where its processor time goes.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.waiting import wait_until
from tests.support.agent_process import AgentProcess
from tests.support.footprint import Cost, describe_machine
from tests.support.watch import describe
from tools.bench.moving import Movement, Scrapes, make_groups
from tools.bench.processor_time import ProcessorTime
from tools.bench.steps import Times, measure_steps

INTERVAL = "15s"
"""Of the agent whose footprint is measured, as large sites would have it."""

OFTEN = "2s"
"""Of the agent whose steps are timed, to have many of them."""

WARM_UP_SECONDS = 60.0
"""After its start: the first ticks read everything that there is."""

ROOT = Path(__file__).parents[2]

LIMIT = timedelta(minutes=10)
"""Longest that a broker may take to make a batch of topics, or the mirror to
copy to them."""

BATCH = 250
"""Topics that are made at once: a controller takes 10,000 partitions."""

BUSY, RECORDS = 40, 50
"""Topics that records are written to, and how many, once."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a site is."""

    topics: int
    partitions: int
    moving: int = 0

    @property
    def names(self) -> list[str]:
        return [f"lsst.sal.bench.{n:05}" for n in range(self.topics)]

    def __str__(self) -> str:
        partitions = self.topics * self.partitions
        moving = f", {self.moving} topics moving" if self.moving else ""
        return f"{self.topics} topics, {partitions} partitions{moving}"


SIZES = {
    "site": Size(1172, 1),
    "moving": Size(1172, 1, moving=200),
    "large": Size(2000, 5),
}
"""The first site at rest and at work, and what is in sight."""


def serve(lab: Lab, size: Size, *, busy: int = BUSY) -> None:
    """Make all topics on both sides, and let a mirror copy to some: it would
    take minutes to make them itself.
    """
    begin = time.monotonic()
    for start in range(0, size.topics, BATCH):
        new = [
            NewTopic(name, size.partitions)
            for name in size.names[start : start + BATCH]
        ]
        for site in (lab.target, lab.source):
            for future in site.topics.admin.create_topics(
                new,
                request_timeout=LIMIT.total_seconds(),
                operation_timeout=LIMIT.total_seconds(),
            ).values():
                future.result()
    for site in (lab.source, lab.target):
        # A mirror that cannot make its own topics in a minute gives up.
        wait_until_led(AdminClient(site.client_properties()), size)
    made = time.monotonic() - begin
    last = size.names[busy - 1]
    producer = Producer({**lab.source.client_properties(), "log_level": 0})
    for topic in size.names[:busy]:
        for n in range(RECORDS):
            producer.produce(topic, str(n), partition=0)
    producer.flush(LIMIT.total_seconds())
    lab.mirror.start()
    wait_until(
        lambda: lab.target.topics.ends(last)[0] == (0, RECORDS),
        limit=LIMIT,
        what=f"the mirror has not copied {last}",
        pause=timedelta(seconds=1),
    )
    mirrored = time.monotonic() - begin - made
    print(
        f"  topics made in {made:.0f} s, mirrored in {mirrored:.0f} s",
        flush=True,
    )


def ask_all(admin: AdminClient, size: Size) -> None:
    """Ask one side for what cannot be done without: metadata and ends."""
    places = {
        TopicPartition(topic, partition): OffsetSpec.latest()
        for topic in size.names
        for partition in range(size.partitions)
    }
    admin.list_topics(timeout=60)
    for answer in admin.list_offsets(places).values():
        answer.result(60)


def wait_until_led(admin: AdminClient, size: Size) -> None:
    """Wait until a broker that was told of all partitions leads them."""

    def is_served() -> bool:
        try:
            ask_all(admin, size)
        except (KafkaException, TimeoutError):
            return False
        return True

    wait_until(is_served, limit=LIMIT, what="not all partitions are led")


def ask_bare(lab: Lab, size: Size, times: Times) -> None:
    """Time the bare requests of both sides."""
    admins = [
        AdminClient(site.client_properties())
        for site in (lab.source, lab.target)
    ]

    def ask() -> None:
        for admin in admins:
            ask_all(admin, size)

    for _ in range(8):
        times(ask)


def configure(lab: Lab, interval: str, topic: str) -> dict[str, Any]:
    data = describe(lab, canary={"topic": topic})
    data["interval"] = interval
    return data


@contextmanager
def run_agent(
    lab: Lab, tree: Path, topic: str
) -> Iterator[tuple[AgentProcess, Scrapes]]:
    """Run the agent of a checkout, with a scrape every 15 s."""
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentProcess(
            Path(folder),
            configure(lab, INTERVAL, topic),
            {"PYTHONPATH": str(tree / "agent")},
        ) as agent,
        Scrapes(agent.url) as scrapes,
    ):
        yield agent, scrapes
        agent.stop()


def measure_footprints(
    lab: Lab, options: argparse.Namespace, topics: Sequence[str]
) -> None:
    """Print what an agent of each checkout costs in a process of its own.
    All run at once: what disturbs one disturbs the others.

    Parameters
    ----------
    topics
        A canary's topic for each.
    """
    with ExitStack() as stack:
        agents = [
            stack.enter_context(run_agent(lab, tree, topic))
            for tree, topic in zip(options.trees, topics, strict=True)
        ]
        time.sleep(options.warm_up)
        for _, scrapes in agents:
            scrapes.taken.clear()
        before = [agent.footprint for agent, _ in agents]
        spent = [ProcessorTime(agent.pid) for agent, _ in agents]
        with ExitStack() as watches:
            for each in spent:
                watches.enter_context(each.watch(sampled=options.sampled))
            time.sleep(options.seconds)
        after = [agent.footprint for agent, _ in agents]
        for n, (_, scrapes) in enumerate(agents):
            cost = Cost(before[n], after[n])
            print(
                f"  {options.trees[n].resolve().name} at {INTERVAL}: {cost}; "
                f"{scrapes}"
            )
            print(spent[n], flush=True)


def measure(name: str, options: argparse.Namespace) -> None:
    size = SIZES[name]
    print(f"{name}: {size}, on {describe_machine()}", flush=True)
    topics = [f"{CANARY_TOPIC}.{n}" for n in range(len(options.trees))]
    settings = LabSettings(
        topics=dict.fromkeys(topics, 6),
        broker_heap_mib=1024,
        mirror_heap_mib=1024,
        source_properties={"log.cleaner.enable": "false"},
        target_properties={"log.cleaner.enable": "false"},
        # It looks for topics when it starts, and then not for ten minutes.
        start_mirror=False,
    )
    with Lab(settings) as lab:
        serve(lab, size, busy=max(BUSY, size.moving))
        make_groups(lab, size.names, options.groups)
        with Movement(lab, size.names[: size.moving]):
            if not options.sampled:
                print_steps(lab, size, topics[0], options)
            measure_footprints(lab, options, topics)
    print(f"  in the end: {describe_machine()}", flush=True)


def print_steps(
    lab: Lab, size: Size, topic: str, options: argparse.Namespace
) -> None:
    """Print how long the agent's steps take, in this process."""
    bare = Times()
    ask_bare(lab, size, bare)
    steps = measure_steps(
        configure(lab, OFTEN, topic), options.seconds, profile=options.profile
    )
    ask_bare(lab, size, bare)  # again: the machine's load changes
    for verdict in steps.verdicts:
        label = verdict.health.label
        print(f"  {verdict.check}: {label}: {verdict.reason}")
    print(f"  bare requests of both sides: {bare}")
    print(f"  survey: {steps.survey}")
    print(f"  survey over bare requests: {steps.survey.over(bare)}")
    print(f"  requests of each survey: {steps.requests_each()}")
    print(f"  tick: {steps.ticks}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--warm-up",
        type=float,
        default=WARM_UP_SECONDS,
        help="seconds of a footprint that are not counted",
    )
    parser.add_argument(
        "--profile", type=Path, help="file for a profile of the surveys"
    )
    parser.add_argument(
        "--groups", type=int, default=0, help="consumer groups at the source"
    )
    parser.add_argument(
        "--trees",
        type=Path,
        nargs="+",
        default=[ROOT],
        help="checkouts whose agents are compared, at the same time in one "
        "lab; name one twice to see the noise",
    )
    parser.add_argument(
        "--sampled",
        action="store_true",
        help="print processor time by thread and by source file",
    )
    parser.add_argument("sizes", nargs="*", choices=[*SIZES, []], default=[])
    options = parser.parse_args(arguments)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(30)
    )
    for name in options.sizes or SIZES:
        measure(name, options)


if __name__ == "__main__":
    main()
