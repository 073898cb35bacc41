"""The scripted scenarios in a simulated world."""

from datetime import timedelta

import pytest

from .environment import Scenario, SimEnvironment
from .script import SCENARIOS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_a_scenario_in_a_simulated_world(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in scenario.patches.items():
        monkeypatch.setattr(name, timedelta(seconds=seconds))
    with SimEnvironment(scenario) as environment:
        environment.run()
