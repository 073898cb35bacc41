"""A long clean run with traffic: `make soak MINUTES=60`.

Prints a line a minute, and in the end whether all was well and by how much
the agent grew. Exit status 1 if it was not well. Topics and partitions are
made meanwhile, which the agent has to remember; with --fixed-topics none are,
and it should not grow.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.traffic import TRAFFIC_TOPICS, Traffic
from tests.support.agent_process import AgentProcess
from tests.support.clean_run import (
    MIXED_CONFIGS,
    MIXED_TOPICS,
    CleanRun,
    MixedTraffic,
    run_cleanly,
)
from tests.support.footprint import Cost, Footprint, describe_machine

PARTITIONS = 6


class EachMinute:
    """Prints what the agent cost in each minute."""

    def __init__(self) -> None:
        self._before: Footprint | None = None

    def __call__(self, passed: float, agent: AgentProcess) -> None:
        now = agent.footprint
        if self._before is None:
            self._before = now
        elif now.at - self._before.at >= 60:
            cost = Cost(self._before, now)
            print(f"{passed / 60:6.1f} min: {cost}", flush=True)
            self._before = now


def growth(run: CleanRun) -> str:
    """Return how the second half of the run differs from its start."""
    half = run.footprints[len(run.footprints) // 2]
    late = Cost(half, run.footprints[-1])
    hourly = late.growth_mib / late.seconds * 3600
    return (
        f"{run.cost}\nsecond half: {late}, that is {hourly:+.1f} MiB an hour"
    )


def troubles(run: CleanRun) -> list[str]:
    """Return everything that was not as it should be."""
    amiss = Counter(words for look in run.looks for words in look.amiss)
    found = [f"{n} looks: {words}" for words, n in sorted(amiss.items())]
    for partition, ledger in sorted(run.ledgers.items()):
        counts = ledger.counts.as_dict()
        found += [
            f"partition {partition}: {counts[name]} {name}"
            for name in ("failed", "late", "lost", "duplicates", "reordered")
            if counts[name]
        ]
    return found + [f"logged: {event}" for event in run.worries]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--fixed-topics",
        action="store_true",
        help="make no topics and partitions, so that the agent need not grow",
    )
    options = parser.parse_args(arguments)
    print(f"On {describe_machine()}", flush=True)
    settings = LabSettings(
        topics={CANARY_TOPIC: PARTITIONS, **TRAFFIC_TOPICS, **MIXED_TOPICS},
        topic_configs=MIXED_CONFIGS,
    )
    with (
        Lab(settings) as lab,
        tempfile.TemporaryDirectory() as folder,
        Traffic({"bootstrap.servers": lab.source.bootstrap}),
        MixedTraffic(lab, fixed_topics=options.fixed_topics),
    ):
        run = run_cleanly(
            lab,
            Path(folder),
            seconds=options.minutes * 60,
            on_look=EachMinute(),
        )
    delivered = sum(x.counts.delivered for x in run.ledgers.values())
    found = troubles(run)
    print(f"{delivered} probes delivered\n{growth(run)}")
    print("\n".join(found) or "Nothing was ever amiss.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
