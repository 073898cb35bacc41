"""The scripted scenarios on real brokers and a real MirrorMaker 2.

`tests/simulation/script_test.py` runs the same in a simulated world.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch_lab import Lab
from tests.simulation.environment import Scenario
from tests.simulation.script import SCENARIOS
from tests.support.lab_environment import LabEnvironment, fill, settings_for

pytestmark = pytest.mark.lab

LONG = {
    "aborted_and_markers",
    "another_producer",
    "another_topic",
    "dropped_and_killed",
    "dropped_between",
    "dropped_and_killed_while_the_agent_is_away",
    "dropped_tail",
    "expired_unread",
    "expired_unread_while_the_agent_is_away",
    "frozen_and_thawed",
    "grown",
    "killed_and_started",
    "killed_for_long",
    "nothing_happens",
    "probes_dropped",
    "recreated_and_longer",
    "recreated_and_shorter",
    "recreated_at_the_target",
    "source_unreachable",
    "stopped_and_started",
}
"""Scenarios that others here, or tests of a check, come near to."""

CHOSEN = [
    pytest.param(
        scenario,
        id=scenario.name,
        marks=[pytest.mark.long] if scenario.name in LONG else [],
    )
    for scenario in SCENARIOS
]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(settings_for(SCENARIOS)) as lab:
        fill(lab, SCENARIOS)
        yield lab


@pytest.mark.parametrize("scenario", CHOSEN)
def test_a_scenario_on_real_clusters(
    lab: Lab,
    scenario: Scenario,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, seconds in scenario.patches.items():
        monkeypatch.setattr(name, timedelta(seconds=seconds))
    with LabEnvironment(lab, scenario, tmp_path / "state.db") as environment:
        environment.run()
