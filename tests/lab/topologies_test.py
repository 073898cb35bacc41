"""Four clusters and a mirror between them: fan-in, fan-out, a pipe.

Two sources feed one target, one of them feeds another target too, and what
arrived is carried on. One agent watches all flows: each speaks of its own.
"""

from collections.abc import Iterator, Mapping
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
from mirrorwatch_lab.faults import MARK, drop_marked
from mirrorwatch_lab.mirror import IDENTITY
from tests.support.findings import find, is_found
from tests.support.lab import produce
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

OUT, SOUTH, PIPE, FAN = (
    "summit->ldf",
    "south->ldf",
    "ldf->base",
    "summit->base",
)

SOUTH_CANARY, PIPE_CANARY, FAN_CANARY = "s.canary", "pipe.canary", "fan.canary"

FLOWS = {
    OUT: CANARY_TOPIC,
    SOUTH: SOUTH_CANARY,
    PIPE: PIPE_CANARY,
    FAN: FAN_CANARY,
}

RECORDS = 20


@pytest.fixture(scope="module")
def near() -> Iterator[Lab]:
    """The clusters ``summit`` and ``ldf``, and the mirror of all flows."""
    settings = LabSettings(
        naming="default",
        intervals="fast",
        topics={CANARY_TOPIC: 1, FAN_CANARY: 1, "x": 2},
        start_mirror=False,
        mirror_heap_mib=768,
    )
    with Lab(settings) as lab:
        lab.target.topics.create_all({PIPE_CANARY: 1, "y": 1}, {})
        yield lab


@pytest.fixture(scope="module")
def far() -> Iterator[Lab]:
    """The clusters ``south`` and ``base``."""
    settings = LabSettings(
        naming="default",
        intervals="fast",
        topics={SOUTH_CANARY: 1, "x": 2},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        yield lab


def mirror(far: Lab) -> dict[str, str]:
    """Return the properties of a mirror with all four flows."""
    flows = {
        f"{flow}.{name}": value
        for flow in (SOUTH, PIPE, FAN)
        for name, value in {"enabled": "true", "topics": ".*"}.items()
    }
    return {
        "clusters": "summit, south, ldf, base",
        "south.bootstrap.servers": far.source.mirror_bootstrap,
        "south.plugin.discovery": "service_load",
        "base.bootstrap.servers": far.target.mirror_bootstrap,
        "base.plugin.discovery": "service_load",
        "base.offset.flush.interval.ms": "1000",
        # Else mirrors in all directions are made, just to send them.
        "emit.heartbeats.enabled": "false",
        **flows,
        f"{FAN}.topics": r"x, fan\..*",
    }


def configure(
    near: Lab, far: Lab, flows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    clusters = {
        "summit": near.source,
        "ldf": near.target,
        "south": far.source,
        "base": far.target,
    }
    usual = {
        "limits": {
            "configs": {"every": "2s", "slack": "20s"},
            # Of a machine that runs four brokers, nothing is asked here.
            "latency": {"warning": "1m", "critical": "2m"},
            "canary": {"warning_window": "5s"},
        },
    }
    return {
        "interval": "1s",
        "clusters": {
            alias: {"kafka": site.client_properties()}
            for alias, site in clusters.items()
        },
        "flows": [
            {
                "source": flow.partition("->")[0],
                "target": flow.partition("->")[2],
                "canary": {"topic": FLOWS[flow]},
                **usual,
                **more,
            }
            for flow, more in flows.items()
        ],
    }


@contextmanager
def watching(data: dict[str, Any]) -> Iterator[Agent]:
    logger = structlog.get_logger("mirrorwatch")
    agent = build_agent(
        Config.from_mapping(data),
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


def values(site: Any, topic: str) -> list[str]:
    if topic not in site.topics.names():
        return []
    found = (record.value() for record in site.topics.read(topic))
    return sorted(v.decode() for v in found if v is not None)


def arrives(site: Any, topic: str, wanted: list[str]) -> None:
    wait_until(
        lambda: values(site, topic) == sorted(wanted),
        what=lambda: (topic, values(site, topic)),
    )


def numbered(name: str, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(end)]


def test_each_of_four_flows_speaks_of_its_own(near: Lab, far: Lab) -> None:
    near.mirror.start(mirror(far) | drop_marked())
    summit, south = numbered("summit", RECORDS), numbered("south", RECORDS)
    produce(near, "x", summit)
    produce(far, "x", south)
    arrives(near.target, "summit.x", summit)
    arrives(near.target, "south.x", south)
    arrives(far.target, "summit.x", summit)
    arrives(far.target, "ldf.summit.x", summit)
    arrives(far.target, "ldf.south.x", south)
    flows: dict[str, dict[str, Any]] = {
        flow: {"naming": "default"} for flow in FLOWS
    }
    flows[FAN]["topics"] = {"include": ["x", r"fan\..*"]}
    with watching(configure(near, far, flows)) as agent:
        all_is_well(agent)
        judged = verdicts(agent)
        checks = {check for _, check in judged}
        assert judged.keys() == {(f, c) for f in FLOWS for c in checks}
        # What one flow loses is lost for that flow only: the other target
        # of the same source has it, and the pipe has all that arrived.
        produce(near, "x", numbered("lost", 7), headers={MARK: b""})
        produce(near, "x", ["last"])
        arrives(near.target, "summit.x", [*summit, "last"])
        arrives(
            far.target, "summit.x", [*summit, *numbered("lost", 7), "last"]
        )
        arrives(far.target, "ldf.summit.x", [*summit, "last"])

        def only_that_is_told() -> bool:
            said = unhealthy(agent)
            skips = said.get((OUT, "skips"))
            return (
                skips is not None
                and skips.health is Health.CRITICAL
                and is_found(skips, "skips.dropped", records=7)
                and {flow for flow, _ in said} == {OUT}
            )

        wait_until(only_that_is_told, what=lambda: unhealthy(agent))
    near.mirror.stop()


def test_a_source_that_is_gone_concerns_its_flow_only(
    near: Lab, far: Lab
) -> None:
    near.mirror.start(mirror(far))
    flows: dict[str, dict[str, Any]] = {
        flow: {"naming": "default"} for flow in FLOWS
    }
    flows[FAN]["topics"] = {"include": ["x", r"fan\..*"]}
    with watching(configure(near, far, flows)) as agent:
        all_is_well(agent)
        far.source.stop()
        try:
            wait_until(
                lambda: {f for f, _ in unhealthy(agent)} == {SOUTH},
                what=lambda: unhealthy(agent),
            )
            cause = {
                flow: v.reason
                for (flow, check), v in verdicts(agent).items()
                if check == "canary"
            }
            print(cause)
        finally:
            far.source.start()
        all_is_well(agent)
    near.mirror.stop()


def test_sources_that_are_merged_into_one_topic(near: Lab, far: Lab) -> None:
    """Fan-in under the identity policy: both write ``merged`` at ``ldf``."""
    # Topics that no mirror has copied under another name.
    canaries = {OUT: "merged.canary", SOUTH: "merged.s.canary"}
    for lab, flow in ((near, OUT), (far, SOUTH)):
        lab.create_topic("merged", 1)
        lab.create_topic(canaries[flow], 1)
    near.mirror.start(
        mirror(far)
        | {
            "replication.policy.class": IDENTITY,
            f"{OUT}.topics": f"merged, {canaries[OUT]}",
            f"{SOUTH}.topics": f"merged, {canaries[SOUTH]}",
            f"{PIPE}.enabled": "false",
            f"{FAN}.enabled": "false",
        }
    )
    summit, south = numbered("summit", RECORDS), numbered("south", RECORDS)
    produce(near, "merged", summit)
    produce(far, "merged", south)
    arrives(near.target, "merged", [*summit, *south])
    flows = {
        flow: {
            "naming": "identity",
            "canary": {"topic": canaries[flow]},
            "topics": {
                "include": ["merged", canaries[flow]],
                "merged": ["merged"],
            },
        }
        for flow in (OUT, SOUTH)
    }
    with watching(configure(near, far, flows)) as agent:
        all_is_well(agent)
        produce(near, "merged", ["more"])
        arrives(near.target, "merged", [*summit, *south, "more"])
        all_is_well(agent)
        said = verdicts(agent)
        for flow in flows:
            find(said[flow, "skips"], "skips.ok", merged_topics=1)
        # A stopped mirror is told of both, by their positions.
        near.mirror.stop()
        produce(near, "merged", ["waits"])
        wait_until(
            lambda: (OUT, "lag") in unhealthy(agent),
            what=lambda: verdicts(agent),
        )
