import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch.domain.observations import CanaryCounts, Loss
from mirrorwatch.domain.verdicts import Flow, Health
from mirrorwatch.ports import AgentState, Report
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    an_arrival,
)
from tests.support.stage import METRICS, Stage, serve_stage

SECOND = timedelta(seconds=1)
GOLDEN = Path(__file__).parent / "status.json"


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(clock: Clock) -> Stage:
    return Stage(clock=clock)


@pytest.fixture
def client(stage: Stage) -> Iterator[httpx.Client]:
    with (
        serve_stage(stage) as server,
        httpx.Client(base_url=server.url, trust_env=False) as client,
    ):
        yield client


def a_full_report() -> Report:
    other = Flow(name="commands", source="summit", target="ldf")
    loss = Loss(
        flow=FLOW.name,
        partition=1,
        sequence=77,
        source_offset=412,
        sent_at=NOON - 90 * SECOND,
        proved_at=NOON - 60 * SECOND,
        proof="position 420 has passed 412, target read to its end 407",
    )
    canary = a_canary(
        NOON,
        partitions=[
            a_partition(
                counts=CanaryCounts(
                    sent=10, acked=10, delivered=8, late=1, lost=1
                ),
                last_arrival=NOON - SECOND,
            ),
            a_partition(
                1,
                counts=CanaryCounts(sent=1, indeterminate=1),
                outstanding=1,
                oldest_outstanding=NOON - 40 * SECOND,
                warming=True,
            ),
        ],
        arrivals=[
            an_arrival(NOON - SECOND, timedelta(milliseconds=250)),
            an_arrival(NOON - SECOND, 31 * SECOND, late=True),
        ],
    )
    return a_report(
        flows=[FLOW, other],
        observations=[
            type(canary)(
                flow=canary.flow,
                at=canary.at,
                topic=canary.topic,
                remote_topic="summit.mirrorwatch.canary",
                partitions=canary.partitions,
                arrivals=canary.arrivals,
                losses=(loss,),
            )
        ],
        verdicts=[
            a_verdict(
                Health.CRITICAL,
                reason="1 probe was lost in the last hour",
                since=NOON - 60 * SECOND,
                evidence={
                    "lost_last_hour": 1,
                    "time_to_loss_seconds": float("inf"),
                    "is_proved": True,
                    "leader": None,
                    "<b>": "<script>alert(1)</script>",
                },
            ),
            a_verdict(Health.OFF, check="audit", reason="Not scheduled"),
            a_verdict(flow="commands"),
        ],
        agent=AgentState(
            sources_up={"canary": True},
            sinks_up={"influxdb": False},
            last_tick=timedelta(milliseconds=12),
        ),
    )


def get(client: httpx.Client, path: str) -> Any:
    return client.get(path).json()


def test_status_has_the_documented_shape(
    client: httpx.Client, stage: Stage, clock: Clock
) -> None:
    stage.tick(a_full_report())
    clock.now += 2 * SECOND

    answer = client.get("/api/status")

    assert answer.status_code == 200
    assert answer.json() == json.loads(GOLDEN.read_text())


def test_an_old_report_is_never_told_as_healthy(
    client: httpx.Client, stage: Stage, clock: Clock
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
    client: httpx.Client, stage: Stage, clock: Clock, age: float, code: int
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
    client: httpx.Client, stage: Stage, clock: Clock
) -> None:
    stage.tick(a_report())
    clock.now += 3600 * SECOND

    assert client.get("/readyz").status_code == 200


def test_history_has_one_value_for_each_point(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_full_report())

    history = get(
        client,
        "/api/history?flow=summit->ldf&from=2026-01-02T11:59:50Z"
        "&to=2026-01-02T12:00:10%2B00:00&points=2",
    )

    assert history["from"] == "2026-01-02T11:59:50.000+00:00"
    assert history["to"] == "2026-01-02T12:00:10.000+00:00"
    assert history["step_seconds"] == 10
    noon = int(NOON.timestamp())
    assert history["at_unix_seconds"] == [noon - 10, noon]
    assert history["latency_worst_seconds"] == [None, 31]
    assert history["latency_median_seconds"] == [
        None,
        pytest.approx(0.25, rel=0.01),
    ]
    assert history["latency_p99_seconds"] == [
        None,
        pytest.approx(31, rel=0.01),
    ]
    assert history["outstanding"] == [None, 1]
    assert history["delivered"] == [None, 8]
    assert history["late"] == [None, 1]
    assert history["lost"] == [None, 1]
    assert history["duplicates"] == [None, 0]
    assert history["health"] == [None, "critical"]


def test_history_is_that_of_the_last_hour_unless_asked_otherwise(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report())

    history = get(client, "/api/history?flow=summit->ldf")

    assert len(history["at_unix_seconds"]) == 180
    assert history["to"] == "2026-01-02T12:00:00.000+00:00"


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("", "'flow' is missing"),
        ("flow=summit->ldf&from=yesterday", "'from' is 'yesterday'"),
        ("flow=summit->ldf&from=2026-01-02T12:00:00", "with a zone"),
        ("flow=summit->ldf&from=9999999999", "'from' must be before 'to'"),
        ("flow=summit->ldf&from=99999999999999", "give ISO 8601"),
        ("flow=summit->ldf&to=0001-01-01T00:00:00Z", "'to' must be between"),
        ("flow=summit->ldf&from=2026-01-03T00:00:00Z", "must be before"),
        ("flow=summit->ldf&points=-1", "'points' is '-1'"),
        ("flow=summit->ldf&points=many", "give a whole number"),
    ],
)
def test_a_question_that_makes_no_sense_is_told_what_would(
    client: httpx.Client, stage: Stage, query: str, complaint: str
) -> None:
    stage.tick(a_report())

    answer = client.get(f"/api/history?{query}")

    assert answer.status_code == 400
    assert complaint in answer.json()["error"]


def test_an_unknown_flow_is_told_which_there_are(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report())

    answer = client.get("/api/history?flow=nowhere")

    assert answer.status_code == 404
    assert "['summit->ldf']" in answer.json()["error"]


def test_any_number_of_points_is_answered_with_a_bounded_one(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report())

    history = get(
        client,
        "/api/history?flow=summit->ldf&from=1970-01-03T00:00:00Z"
        f"&points={'9' * 500}",
    )

    assert len(history["at_unix_seconds"]) <= 1001


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
