"""The wall clock of a running agent is stepped.

Of the agent only: brokers and MirrorMaker keep the time, as on another host.
"""

import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.preload import compiled
from tests.support.watch import PATIENT, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]

STEPS = (-3600, -37, 86_400)
"""Seconds: an hour back, the leap seconds of TAI, a day ahead."""

WATCHED = 30.0
"""Seconds for which the agent is watched after each step."""

INTERVAL, PROBES = 1.0, 0.5
"""Seconds between ticks, and between probes."""

SHARE = 0.2
"""By how much the machine may delay ticks and probes of so many seconds."""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(intervals="fast", topics={CANARY_TOPIC: 1})) as lab:
        yield lab


class SteppedAgent(AgentProcess):
    """An agent whose wall clock a test sets."""

    def __init__(self, folder: Path, lab: Lab, library: Path) -> None:
        self._offset = folder / "ahead"
        self._ahead = 0
        self._offset.write_bytes(bytes(8))
        data: dict[str, Any] = describe_agent(lab)
        data["interval"] = f"{INTERVAL:g}s"
        data["flows"][0]["canary"]["interval"] = f"{PROBES * 1000:g}ms"
        super().__init__(
            folder,
            data,
            {
                "LD_PRELOAD": str(library),
                "WALL_CLOCK_AHEAD": str(self._offset),
            },
            log_level="debug",
        )

    def step(self, seconds: int) -> None:
        self._ahead += seconds
        with self._offset.open("r+b") as file:
            file.write(struct.pack("=q", self._ahead))

    @property
    def said(self) -> dict[str, Any]:
        answer = HTTP.get(self.url + "/api/status", timeout=30)
        return dict(answer.json())

    @property
    def verdicts(self) -> dict[str, str]:
        return {
            verdict["check"]: verdict["health"]
            for flow in self.said["flows"]
            for verdict in flow["verdicts"]
        }

    def count(self) -> Counter[str]:
        """Return how often it has ticked and sent a probe."""
        text = HTTP.get(self.url + "/metrics", timeout=30).text
        sent = sum(
            float(line.split()[-1])
            for line in text.splitlines()
            if line.startswith("mirrorwatch_canary_sent_total{")
        )
        ticks = sum(e["event"] == "Tick finished" for e in self.events)
        return Counter(ticks=ticks, sent=int(sent))


def test_steps_of_the_wall_clock_change_no_verdict_and_no_interval(
    lab: Lab, tmp_path: Path
) -> None:
    library = compiled("wall_clock", tmp_path)
    with SteppedAgent(tmp_path, lab, library) as agent:
        usual = {
            "canary",
            "latency",
            "lag",
            "skips",
            "position",
            "tasks",
            "heartbeats",
        }

        def is_well() -> bool:
            seen = agent.verdicts
            return all(seen.get(check) == "ok" for check in usual)

        wait_until(is_well, within=PATIENT, what=lambda: agent.verdicts)
        for number, step in enumerate(STEPS, 1):
            before, began = agent.count(), time.monotonic()
            agent.step(step)
            seen: Counter[tuple[str, str]] = Counter()
            while time.monotonic() - began < WATCHED:
                seen.update(agent.verdicts.items())
                healthz = HTTP.get(agent.url + "/healthz", timeout=30)
                assert healthz.status_code == 200, healthz.text
                time.sleep(0.2)  # between two looks
            passed, done = time.monotonic() - began, agent.count() - before
            state = agent.said["agent"]
            print(
                f"step {step:+d} s: {dict(done)} in {passed:.1f} s, "
                f"offset {state['clock_offset_seconds']:.0f} s"
            )
            assert state["clock_steps"] == number
            wrong = {v for v in seen if v[0] in usual and v[1] != "ok"}
            assert wrong == set(), seen
            assert done["ticks"] == pytest.approx(passed / INTERVAL, rel=SHARE)
            assert done["sent"] == pytest.approx(passed / PROBES, rel=SHARE)
        stepped = [e for e in agent.events if "step_seconds" in e]
        assert [round(e["step_seconds"]) for e in stepped] == [*STEPS]
        assert agent.stop() == 0
