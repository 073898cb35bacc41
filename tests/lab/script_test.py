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


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(settings_for(SCENARIOS)) as lab:
        fill(lab, SCENARIOS)
        yield lab


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda it: it.name)
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
