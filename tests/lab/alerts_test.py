"""A fault on real sites reaches people, once, and so does its end."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch_lab import Lab, LabSettings
from tests.support.alerts import alert_scene
from tests.support.watch import FLOW, describe, wait_until

pytestmark = pytest.mark.lab

TOGETHER = timedelta(seconds=20)
"""How long the first page waits for what follows from the same fault."""


@pytest.mark.long
def test_a_mirror_that_stands_still_is_one_page_and_its_end_another(
    lab_for: Callable[[LabSettings], Lab], tmp_path: Path
) -> None:
    lab = lab_for(LabSettings(intervals="fast"))
    config = describe(lab, canary={"interval": "500ms", "deadline": "5s"})
    config["interval"] = "1s"
    config["flows"][0]["limits"] = {"canary": {"warning_window": "1s"}}
    with alert_scene(tmp_path, config, together=TOGETHER) as scene:
        well = f'mirrorwatch_health{{flow="{FLOW}"}} == 0'
        wait_until(lambda: scene.prometheus.query(well) != [])
        # What was said of the beginning is over, and was told to be.
        wait_until(lambda: scene.firing == set(), what=lambda: scene.firing)
        wait_until(lambda: is_closed(scene.paged(flow=FLOW)))
        before = len(scene.paged(flow=FLOW))

        def told() -> list[dict[str, Any]]:
            return scene.paged(flow=FLOW)[before:]

        lab.mirror.freeze()
        try:
            wait_until(lambda: told() != [], what=lambda: scene.firing)
        finally:
            lab.mirror.thaw()
        wait_until(lambda: is_closed(told()), what=told)

        # All that is critical of the flow is one page.
        first, *updates, last = told()
        assert first["status"] == "firing"
        alerts = {a["labels"]["alertname"]: a for a in first["alerts"]}
        print(sorted(alerts), len(updates))
        # What follows from the same fault is none of it.
        cause = alerts["MirrorwatchReplicationStopped"]
        assert cause["labels"]["cause"] == "mirror"
        notes = cause["annotations"]
        assert notes["summary"].startswith(f"{FLOW}: mirror at fault")
        assert notes["runbook_url"].endswith("/runbook#cause")
        assert notes["cause"] == "mirror"
        assert {a["labels"].get("symptom") for a in first["alerts"]} == {None}
        severities = {a["labels"]["severity"] for a in first["alerts"]}
        assert severities == {"critical"}
        # The same group to the end: whoever was paged sees it close.
        assert {body["groupKey"] for body in told()} == {first["groupKey"]}
        assert {a["status"] for a in last["alerts"]} == {"resolved"}


def is_closed(pages: list[dict[str, Any]]) -> bool:
    return not pages or pages[-1]["status"] == "resolved"
