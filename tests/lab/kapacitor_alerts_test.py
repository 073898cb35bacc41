"""A real agent's figures go through InfluxDB to Kapacitor, and to people."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch_alerting.alerts import ALERTS
from mirrorwatch_alerting.kapacitor import scripts
from mirrorwatch_lab import Lab, LabSettings
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.influx import (
    POLICY,
    Influx1,
    influx_config,
    influx_environment,
)
from tests.support.kapacitor import AlertingKapacitor
from tests.support.programs import program
from tests.support.watch import FLOW, describe, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.kapacitor]

HOLD = timedelta(seconds=5)
OURS = f"mirrorwatch/{FLOW}"


@pytest.fixture
def lab(lab_for: Callable[[LabSettings], Lab]) -> Lab:
    program("kapacitord")  # no lab where it is not
    return lab_for(LabSettings(intervals="fast"))


@pytest.fixture
def watched(
    lab: Lab, tmp_path: Path
) -> Iterator[tuple[AgentProcess, AlertingKapacitor]]:
    """An agent, and the Kapacitor that its figures come to."""
    hurried = scripts([replace(alert, hold=HOLD) for alert in ALERTS])
    texts = {n: t.replace("autogen", POLICY) for n, t in hurried.items()}
    (data := tmp_path / "influx").mkdir()
    influx = Influx1(data)
    server = AlertingKapacitor(tmp_path / "kapacitor", texts, influx)
    with ExitStack() as around:
        around.callback(influx.kill)
        influx.start()
        influx.set_up()
        around.callback(server.kill)
        # It subscribes when it starts.
        server.start()
        config = describe(lab, canary={"interval": "500ms", "deadline": "5s"})
        config["interval"] = "1s"
        # What was late is forgotten at once, and what was slow never told.
        config["flows"][0]["limits"] = {
            "canary": {"warning_window": "1s"},
            "latency": {"warning": "1h", "critical": "2h"},
        }
        config["sinks"] = {"influxdb": influx_config(influx)}
        environment = influx_environment(influx)
        agent = around.enter_context(
            AgentProcess(tmp_path / "agent", config, environment)
        )
        server.install()
        yield agent, server


def test_a_mirror_that_stands_still_is_told_once_and_so_is_its_end(
    lab: Lab, watched: tuple[AgentProcess, AlertingKapacitor]
) -> None:
    agent, kapacitor = watched

    def health() -> str:
        (flow,) = HTTP.get(f"{agent.url}/api/status").json()["flows"] or [{}]
        return str(flow.get("health"))

    def told() -> list[tuple[str, str]]:
        return [
            (told.level, told.message)
            for told in kapacitor.told
            if told.id == OURS
        ]

    def level() -> str:
        return told()[-1][0] if told() else "OK"

    # It may begin with what is not known yet.
    wait_until(lambda: health() == level().lower() == "ok")
    before = len(told())
    lab.mirror.freeze()
    try:
        wait_until(lambda: level() == "CRITICAL", what=told)
        assert "probes do not arrive at the target" in told()[-1][1]
    finally:
        lab.mirror.thaw()
    wait_until(lambda: level() == "OK", what=told)
    levels = [level for level, _ in told()[before:]]
    print(told())
    assert levels.count("OK") == 1
    assert kapacitor.problems == []
