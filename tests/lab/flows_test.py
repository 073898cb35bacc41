"""Several flows watched by one agent: none speaks of another's topics.

Two flows on one pair with disjoint topics, by two mirrors that know the
source by two names, and the way back, all with default naming.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.factory import build_agent
from mirrorwatch.state import Database
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from tests.support.lab import copied, produce
from tests.support.watch import wait_until

OUT, COMMANDS, BACK = "summit->ldf", "commands", "ldf->summit"
FLOWS = (OUT, COMMANDS, BACK)

INTERNAL = (r"mm2.*\.internal", r".*\.replica", r"__.*")
"""What MirrorMaker 2 leaves out by default."""

COMMANDS_CANARY, BACK_CANARY = "cmd.canary", "back.canary"

pytestmark = pytest.mark.lab


def exclude(*patterns: str) -> str:
    return ",".join((*INTERNAL, *patterns))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        naming="default",
        intervals="fast",
        topics={
            CANARY_TOPIC: 1,
            COMMANDS_CANARY: 1,
            "x": 2,
            "shared.name": 1,
            "cmd.y": 2,
        },
        start_mirror=False,
        mirror_heap_mib=512,
    )
    with Lab(settings) as lab:
        lab.target.topics.create_all(
            {BACK_CANARY: 1, "x": 1, "shared.name": 1}, {}
        )
        lab.mirror.start(
            {
                "clusters": "summit, south, ldf",
                "south.bootstrap.servers": lab.source.mirror_bootstrap,
                "south.plugin.discovery": "service_load",
                # Else mirrors in all directions are made, just to send them.
                "emit.heartbeats.enabled": "false",
                "summit->ldf.topics.exclude": exclude(r"cmd\..*"),
                "south->ldf.enabled": "true",
                "south->ldf.topics": r"cmd\..*",
                "ldf->summit.enabled": "true",
                "ldf->summit.topics": ".*",
                "ldf->summit.topics.exclude": exclude(r"south\..*"),
                "summit.offset.flush.interval.ms": "1000",
            }
        )
        yield lab


def configure(lab: Lab) -> dict[str, Any]:
    data = describe_agent(lab)
    usual = {
        "naming": "default",
        "limits": {
            "configs": {"every": "2s", "slack": "20s"},
            # Of a machine that starts three mirrors, nothing is asked here.
            "latency": {"warning": "1m", "critical": "2m"},
            "canary": {"warning_window": "5s"},
        },
    }
    out = {"source": "summit", "target": "ldf", **usual}
    data["flows"] = [
        out
        | {
            "topics": {"exclude": [*INTERNAL, r"cmd\..*"]},
            "canary": {"topic": CANARY_TOPIC},
        },
        out
        | {
            "name": COMMANDS,
            "topics": {"include": [r"cmd\..*"]},
            "mirror": {"source_alias": "south"},
            "canary": {"topic": COMMANDS_CANARY},
        },
        usual
        | {
            "source": "ldf",
            "target": "summit",
            "topics": {"exclude": [*INTERNAL, r"south\..*"]},
            "canary": {"topic": BACK_CANARY},
        },
    ]
    data["interval"] = "1s"
    return data


@contextmanager
def watching(lab: Lab) -> Iterator[Agent]:
    logger = structlog.get_logger("mirrorwatch")
    agent = build_agent(
        Config.from_mapping(configure(lab)),
        database=Database(None),
        clock=Clock(),
        logger=logger,
    )
    with Daemon(agent, logger=logger):
        yield agent


def verdicts(agent: Agent) -> dict[tuple[str, str], Verdict]:
    report = agent.latest.get()
    judged = report.verdicts if report else ()
    return {(v.flow, v.check): v for v in judged}


def unhealthy(agent: Agent) -> dict[tuple[str, str], Verdict]:
    healthy = {Health.OK, Health.OFF}
    judged = verdicts(agent).items()
    return {key: v for key, v in judged if v.health not in healthy}


def all_is_well(agent: Agent) -> None:
    wait_until(
        lambda: bool(verdicts(agent)) and not unhealthy(agent),
        what=lambda: unhealthy(agent),
    )


def compared(agent: Agent, check: str) -> dict[str, object]:
    """Return how many topics each flow's check compares now."""
    judged = verdicts(agent)
    return {
        flow: judged[flow, check].findings[-1].numbers.get("topics")
        for flow in FLOWS
    }


def test_flows_of_one_pair_and_the_way_back_do_not_mix(lab: Lab) -> None:
    for topic in ("x", "shared.name"):
        produce(lab, topic, [f"{topic} {n}" for n in range(20)])
        copied(lab, topic, [f"{topic} {n}" for n in range(20)])
    produce(lab, "cmd.y", map(str, range(20)))
    with watching(lab) as agent:
        all_is_well(agent)
        judged = verdicts(agent)
        assert {flow for flow, _ in judged} == set(FLOWS)
        checks = {c for _, c in judged}
        assert judged.keys() == {(f, c) for f in FLOWS for c in checks}
        # Their own topics: nothing that came from the other side, though
        # each side carries everything, and the same names are on both. One
        # is the topic for heartbeats, which mirrors make in any case.
        topics = {OUT: 4, COMMANDS: 2, BACK: 4}
        for check in ("topics", "configs"):
            wait_until(
                lambda: compared(agent, check) == topics,  # noqa: B023
                what=lambda: compared(agent, check),  # noqa: B023
            )
        all_is_well(agent)
        assert not [n for n in lab.source.topics.names() if "ldf.summit" in n]
        assert not [n for n in lab.target.topics.names() if "summit.ldf" in n]


def test_what_is_wrong_with_one_flow_is_said_of_that_one_only(
    lab: Lab,
) -> None:
    with watching(lab) as agent:
        all_is_well(agent)
        lab.target.topics.grow("south.cmd.y", 3)

        def only_that_is_said() -> bool:
            # What load alone could make of another flow would pass; what is
            # wrong about this topic would stay.
            found = {
                (flow, v.code, v.findings[0].subject.get("topic"))
                for (flow, _), v in unhealthy(agent).items()
            }
            return found == {(COMMANDS, "topics.partitions", "cmd.y")}

        wait_until(only_that_is_said, what=lambda: unhealthy(agent))
        lab.grow("cmd.y", 3)
        all_is_well(agent)
