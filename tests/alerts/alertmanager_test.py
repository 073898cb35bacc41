"""A real agent that sees nothing, a real Prometheus and a real Alertmanager.

What happens on real sites is in tests/lab/alerts_test.py.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.alerts import alert_scene
from tests.support.watch import FLOW, wait_until

pytestmark = pytest.mark.slow

NOBODY = {
    "interval": "1s",
    "clusters": {
        "summit": {"kafka": {"bootstrap.servers": "127.0.0.1:1"}},
        "ldf": {"kafka": {"bootstrap.servers": "127.0.0.1:2"}},
    },
    "flows": [
        {
            "source": "summit",
            "target": "ldf",
            "mirror": {"kind": "mirrormaker2"},
        }
    ],
}


def test_a_flow_of_which_nothing_is_known_is_one_page_and_silence_another(
    tmp_path: Path,
) -> None:
    # Both alerts of the page begin with the same look at the figures.
    together = timedelta(seconds=3)
    with alert_scene(tmp_path, NOBODY, together=together) as scene:
        wait_until(lambda: scene.paged(flow=FLOW) != [])
        (page,) = scene.paged(flow=FLOW)
        assert page["groupLabels"]["alertname"] == "MirrorwatchBlind"
        blind = {a["labels"]["check"]: a for a in page["alerts"]}
        assert blind.keys() == {"canary", "lag"}
        for check, alert in blind.items():
            notes = alert["annotations"]
            cannot = f"{FLOW}: mirrorwatch cannot judge the check {check}"
            assert notes["summary"] == cannot
            assert notes["runbook_url"].endswith(f"/runbook#{check}")
            told, _, sources = notes["description"].partition(": ")
            assert told == "Sources without fresh data"
            # The state of tasks is not read at all here.
            assert "tasks" in sources.split(", ")
            assert notes["time_to_loss"] == "not known"
            # Neither cluster answers: mirrorwatch is cut off.
            assert notes["cause"] == "monitor"
        wait_until(lambda: "MirrorwatchReplicationImpaired" in scene.firing)
        known = scene.firing

        scene.agent.kill()
        wait_until(lambda: scene.paged() != [])
        (silence,) = scene.paged()
        (alert,) = silence["alerts"]
        assert alert["labels"]["alertname"] == "MirrorwatchAgentSilent"
        # A gap in the data is no good news: nothing was called resolved.
        assert scene.prometheus.query("mirrorwatch_health") == []
        assert scene.firing == known | {"MirrorwatchAgentSilent"}
        assert {b["status"] for b in scene.pages.bodies} == {"firing"}
        # Whoever is up for the flow already gets no tickets about it.
        assert scene.tickets.bodies == []
