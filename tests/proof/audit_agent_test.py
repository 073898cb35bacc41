"""An agent runs the real audit of a real mirror, on one night and the next."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.agent_process import AgentProcess
from tests.support.lab import copied, produce
from tests.support.watch import wait_until

TOPIC = "audited"
RECORDS = 2000

FIRST, SECOND = "Pacific/Pago_Pago", "Pacific/Kiritimati"
"""25 hours apart: when it is a night's minute in the one, it is that of the
next night in the other."""

SECONDS = 900.0
"""An audit takes half a minute; others use this machine as well."""

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]


@pytest.fixture
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        intervals="fast",
        topics={CANARY_TOPIC: 1, TOPIC: 1},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
        yield lab


def a_config(lab: Lab, zone: str, due: datetime) -> dict[str, Any]:
    """Return the configuration of an agent whose audit is due at a minute."""
    data = describe_agent(lab)
    data["flows"][0]["topics"] = {"include": [TOPIC, r"mirrorwatch[.]canary"]}
    data["audit"] = {
        "schedule": f"{due.astimezone(ZoneInfo(zone)):%M %H} * * *",
        "timezone": zone,
        "settle": "1s",
        "slack": "0s",
        "master": "local[1]",
        "memory": "1g",
    }
    return data


def audit_of(agent: AgentProcess) -> dict[str, Any]:
    answer = httpx.get(f"{agent.url}/api/status", timeout=60).json()
    for flow in answer["flows"]:
        for verdict in flow["verdicts"]:
            if verdict["check"] == "audit":
                return dict(verdict)
    return {"health": "", "evidence": {}}


def wait_for(agent: AgentProcess, health: str) -> dict[str, Any]:
    """Wait until the agent's audit is over, and has a health."""
    wait_until(
        lambda: (
            audit_of(agent)["evidence"].get("attempt")
            not in {None, "running", "stopped"}
        ),
        within=SECONDS,
        what=lambda: audit_of(agent),
    )
    wait_until(
        lambda: audit_of(agent)["health"] == health,
        within=60,
        what=lambda: audit_of(agent),
    )
    return audit_of(agent)


def test_a_clean_night_is_ok_and_one_record_dropped_on_the_next_is_named(
    lab: Lab, tmp_path: Path
) -> None:
    sent = [f"record {n}" for n in range(RECORDS)]
    produce(lab, TOPIC, sent)
    copied(lab, TOPIC, sent[-1:])

    due = utc_now() + timedelta(minutes=2)
    with AgentProcess(tmp_path, a_config(lab, FIRST, due)) as agent:
        assert audit_of(agent)["health"] in {"", "unknown"}
        verdict = wait_for(agent, "ok")
        print(verdict)
        assert [f["code"] for f in verdict["findings"]] == ["audit.ok"]
        assert verdict["evidence"]["source_records"] >= RECORDS
        report = httpx.get(agent.url + verdict["evidence"]["report"])
        assert report.status_code == 200
        assert TOPIC in report.text
        assert agent.stop() == 0

    produce(lab, TOPIC, ["dropped"], headers={MARK: b"x"})
    produce(lab, TOPIC, ["last"])
    copied(lab, TOPIC, ["last"])

    # The next agent tells its own address.
    agent.log_file.rename(tmp_path / "first.log")
    # Due while no agent ran; the next one has not missed it yet.
    config = a_config(lab, SECOND, utc_now())
    with AgentProcess(tmp_path, config) as agent:
        verdict = wait_for(agent, "critical")
        print(verdict)
        dropped = verdict["findings"][0]
        assert dropped["code"] == "audit.dropped"
        assert dropped["subject"] == {"topic": TOPIC}
        assert dropped["numbers"] == {"records": 1}
        assert verdict["evidence"]["dropped_records"] == 1
        assert f"source offsets {RECORDS}" in verdict["evidence"]["finding_1"]
        metrics = httpx.get(f"{agent.url}/metrics", timeout=60).text
        name = "mirrorwatch_audit_dropped_records"
        labels = f'flow="summit->ldf",topic="{TOPIC}"'
        assert f"{name}{{{labels}}} 1.0" in metrics
        assert agent.stop() == 0
