"""An hour of chaos on real brokers: `make chaos MINUTES=60 SEED=1`.

Injects faults by chance, one at a time or two, and grades all that the agent
says by what plain readers of both sides find. Prints the schedule as it goes,
and at the end a table. Exit status 1 if anything was wrong: something was not
reported or too late, a count was not the true one, an alarm was false, a fault
did not heal, or a point is not in InfluxDB. The same seed gives the same
schedule.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mirrorwatch_lab.process import KAFKA_VERSIONS, MIRROR_VERSIONS
from mirrorwatch_lab.waiting import wait_until
from tests.support.footprint import describe_machine
from tests.support.influx import SERVERS

from .grading import (
    Look,
    false_alarms,
    reports,
    table,
    unhealed,
    wrong_claims,
)
from .points import lost_points
from .schedule import Kind, draw
from .stage import LIMIT, Stage

LAST_SECONDS = 150
"""No fault begins so shortly before the end: it could not heal."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--folder", type=Path, help="where logs are kept")
    parser.add_argument(
        "--only", type=Kind, action="append", help="kinds of faults, by name"
    )
    parser.add_argument(
        "--mirror-kafka",
        choices=[*KAFKA_VERSIONS, *MIRROR_VERSIONS],
        default=KAFKA_VERSIONS[0],
        help="version of MirrorMaker 2",
    )
    options = parser.parse_args(arguments)
    seed = options.seed
    if seed is None:
        seed = random.randrange(10**6)  # noqa: S311 - no secret
    influx = SERVERS[seed % len(SERVERS)]
    if shutil.which(influx.program) is None:
        print(f"{influx.program} is not on PATH: `make servers` builds it")
        return 2
    version = options.mirror_kafka
    print(
        f"seed {seed}, MirrorMaker {version}, {influx.__name__}, "
        f"on {describe_machine()}"
    )
    with ExitStack() as around:
        folder = options.folder or Path(
            around.enter_context(tempfile.TemporaryDirectory())
        )
        folder.mkdir(parents=True, exist_ok=True)
        stage = around.enter_context(
            Stage(folder, influx, mirror_kafka=version)
        )
        for step in draw(seed):
            if stage.agent.now > options.minutes * 60 - LAST_SECONDS:
                break
            if not options.only or step.kind in options.only:
                stage.run(step)
        wrong = finish(stage)
    print("\n".join(wrong) or "Nothing was wrong.")
    return 1 if wrong else 0


def finish(stage: Stage) -> list[str]:
    """Print the result; return what was wrong."""
    stage.traffic.stop()
    wait_until(
        lambda: stage.spooled == 0,
        limit=LIMIT,
        what="the agent does not drain its spool",
    )
    agent = stage.agent
    lost = stage.lost_points
    if agent.stop():
        lost += 1
    looks, injections = agent.looks, stage.injections
    ticks = [look.tick for look in looks if look.tick]
    killed = [tick for tick in agent.killed_after if tick]
    written, missing = lost_points(stage.influx, ticks, killed)
    alarms = false_alarms(injections, looks)
    late = [r for r in reports(injections, looks) if r.late]
    counts, never = wrong_claims(injections), unhealed(injections)
    print()
    print("\n".join(table(injections, looks)))
    print(
        f"\n{len(injections)} faults, {len(set(ticks))} reports seen, "
        f"{written} in InfluxDB, {len(agent.killed_after)} agents killed or "
        f"crashed ({len(agent.crashes)}); "
        f"{stage.read_whole()}\n"
        f"unknown while nothing was wrong: {unknown(stage)}\n"
        f"the machine stalled for {stage.stalls.seconds:.0f} s\n"
        f"false alarms {len(alarms)}, not told in time {len(late)}, wrong "
        f"counts {len(counts)}, not healed {len(never)}, points lost "
        f"{len(missing) + lost}"
    )
    return [
        *(
            f"false alarm at {a.first:.0f} to {a.last:.0f} s: {a.saying.name} "
            f"{a.saying.health}: {a.saying.title}"
            for a in alarms
        ),
        *(
            f"{r.injection.number} {r.injection.kind}: {r.check} after "
            + ("never" if r.seconds is None else f"{r.seconds:.0f} s")
            + f", due within {r.must.within:.0f} s"
            for r in late
        ),
        *counts,
        *never,
        *missing,
        *([f"the agent says that it lost {lost} points"] if lost else []),
        *stage.doubts,
        *agent.crashes,
    ]


def unknown(stage: Stage) -> str:
    """Return how many looks found a check unknown, after a fault healed."""
    found: Counter[str] = Counter()
    for look in stage.agent.looks:
        calm = all(
            look.at < i.began or (i.healed is not None and look.at > i.healed)
            for i in stage.injections
        )
        if calm:
            found.update(_unknown(look))
    return ", ".join(f"{n} looks {c}" for c, n in found.most_common()) or "0"


def _unknown(look: Look) -> list[str]:
    return [check for check, h in look.healths.items() if h == "unknown"]


if __name__ == "__main__":
    sys.exit(main())
