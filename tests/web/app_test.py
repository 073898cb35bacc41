import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch.domain.report import Flow, Health
from tests.support.builders import (
    FLOW,
    a_report,
    a_verdict,
)
from tests.support.page_report import a_full_report
from tests.support.stage import METRICS, SetClock, Stage

SECOND = timedelta(seconds=1)
GOLDEN = Path(__file__).parent / "status.json"


def get(client: httpx.Client, path: str) -> Any:
    return client.get(path).json()


def test_status_has_the_documented_shape(
    client: httpx.Client, stage: Stage, clock: SetClock
) -> None:
    stage.tick(a_full_report())
    clock.now += 2 * SECOND

    answer = client.get("/api/status")

    assert answer.status_code == 200
    assert answer.json() == json.loads(GOLDEN.read_text())


def test_an_old_report_is_never_told_as_healthy(
    client: httpx.Client, stage: Stage, clock: SetClock
) -> None:
    failing = Flow(name="failing", source="a", target="b")
    stage.tick(
        a_report(
            flows=[FLOW, failing],
            verdicts=[
                a_verdict(),
                a_verdict(Health.CRITICAL, flow="failing"),
            ],
        )
    )
    clock.now += 15 * SECOND

    status = get(client, "/api/status")

    assert status["agent"]["status"] == "stale"
    assert [f["health"] for f in status["flows"]] == ["unknown", "critical"]


def test_a_flow_without_verdicts_is_unknown(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report(verdicts=[]))

    assert get(client, "/api/status")["flows"][0]["health"] == "unknown"


def test_before_the_first_report_there_is_nothing_to_believe(
    client: httpx.Client,
) -> None:
    answer = client.get("/api/status")

    assert answer.status_code == 503
    assert answer.json()["at"] is None
    assert answer.json()["flows"] == []
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 503


@pytest.mark.parametrize(
    ("age", "code"),
    [(0, 200), (14.9, 200), (15, 503), (3600, 503), (-60, 503)],
)
def test_the_agent_is_healthy_while_its_tick_is_younger_than_three_intervals(
    client: httpx.Client, stage: Stage, clock: SetClock, age: float, code: int
) -> None:
    stage.tick(a_report())
    clock.now += age * SECOND

    answer = client.get("/healthz")

    assert answer.status_code == code
    assert answer.json() == {
        "status": "ok" if code == 200 else "stale",
        "age_seconds": age,
        "limit_seconds": 15,
    }


def test_the_agent_stays_ready_once_it_has_reported(
    client: httpx.Client, stage: Stage, clock: SetClock
) -> None:
    stage.tick(a_report())
    clock.now += 3600 * SECOND

    assert client.get("/readyz").status_code == 200


def test_metrics_are_those_of_the_sink_in_the_accepted_format(
    client: httpx.Client, stage: Stage
) -> None:
    answer = client.get(
        "/metrics", headers={"Accept": "application/openmetrics-text"}
    )

    assert answer.content == METRICS[0]
    assert answer.headers["content-type"] == METRICS[1]
    assert stage.accepted == ["application/openmetrics-text"]


@pytest.mark.parametrize(
    "path", ["/", "/api/status", "/static/js/app.js", "/nothing", "/metrics"]
)
def test_every_answer_keeps_the_page_to_itself(
    client: httpx.Client, path: str
) -> None:
    headers = client.get(path).headers

    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] in {"no-store", "no-cache"}


def test_the_page_asks_nobody_but_the_agent() -> None:
    static = Path(__file__).parents[2] / "agent/mirrorwatch/web/static"
    own = [
        file
        for pattern in ("*.html", "*.js", "*.css")
        for file in static.rglob(pattern)
        if "vendor" not in file.parts
    ]

    assert own
    for file in own:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|[\"'(]//", text), file


def test_only_reading_is_allowed(client: httpx.Client) -> None:
    assert client.post("/api/status").status_code == 405
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/%2e%2e/app.py").status_code == 404
