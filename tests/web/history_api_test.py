from typing import Any

import httpx
import pytest

from tests.support.builders import NOON, a_report
from tests.support.page_report import a_full_report
from tests.support.stage import Stage


def get(client: httpx.Client, path: str) -> Any:
    return client.get(path).json()


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
