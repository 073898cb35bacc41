import json
import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch.clock import shifted
from mirrorwatch.domain.readers.model import LostOffsets
from mirrorwatch.domain.report import AgentState, Flow, Health, Observation
from mirrorwatch.domain.tasks.model import Stopped, Stuck
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_result,
    an_audit,
    write_audit,
    write_report,
)
from tests.support.builders import FLOW, NOON, a_report, a_verdict, some_tasks
from tests.support.http import HTTP
from tests.support.page_scenes import a_full_report
from tests.support.reports import (
    some_compared_topics,
    some_configs,
    some_readers,
    some_schemas,
    some_starts,
)
from tests.support.stage import METRICS, SetClock, Stage, serve_stage

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
        "clock_offset_seconds": 0,
        "clock_steps": 0,
        "problems": [],
    }


def test_a_wall_clock_that_was_stepped_makes_nothing_old(
    client: httpx.Client, stage: Stage, clock: SetClock
) -> None:
    hour = 3600 * SECOND
    stage.tick(a_report())
    agent = AgentState(clock_offset=-hour, clock_steps=1)
    stage.tick(shifted(a_report(at=NOON + SECOND, agent=agent), -hour))
    clock.now += 10 * SECOND

    health = get(client, "/healthz")
    status = get(client, "/api/status")
    history = get(client, "/api/history?flow=summit->ldf&points=1")

    assert health["status"] == status["agent"]["status"] == "ok"
    assert health["clock_offset_seconds"] == -3600
    assert status["agent"]["clock_steps"] == 1
    # By the wall clock, as whoever asks has it.
    assert status["at"] == "2026-01-02T11:00:01.000+00:00"
    assert status["agent"]["now"] == "2026-01-02T11:00:10.000+00:00"
    assert history["at_unix_seconds"][-1] <= NOON.timestamp() - 3600
    assert history["health"][-1] is not None


@pytest.mark.parametrize("path", ["/api/topics", "/api/details"])
def test_lists_are_as_old_as_their_report_after_a_step_too(
    client: httpx.Client, stage: Stage, clock: SetClock, path: str
) -> None:
    hour = 3600 * SECOND
    agent = AgentState(clock_offset=hour, clock_steps=1)
    stage.tick(shifted(a_report(at=NOON, agent=agent), hour))
    clock.now += 10 * SECOND

    fresh = get(client, path)["agent"]
    # As old as the clock was set forward: nothing of it may seem new.
    clock.now += hour - 10 * SECOND
    old = get(client, path)["agent"]

    assert (fresh["status"], fresh["age_seconds"]) == ("ok", 10)
    assert fresh["now"] == "2026-01-02T13:00:10.000+00:00"
    assert (old["status"], old["age_seconds"]) == ("stale", 3600)


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


GOLDEN_DETAILS = Path(__file__).parent / "details.json"
OTHER = Flow(name="commands", source="summit", target="ldf")
STUCK = Stuck(
    topic="events",
    partition=1,
    offset=4711,
    size_bytes=2_000_123,
    limit_bytes=1_048_588,
    limit="the max.message.bytes of events at ldf,",
)


def a_tick() -> Any:
    tasks = replace(
        some_tasks(NOON),
        stopped=(
            Stopped(
                connector="MirrorSourceConnector",
                task=1,
                partitions=frozenset(("events", n) for n in range(3)),
                stuck=(STUCK,),
            ),
        ),
        unassigned=frozenset({("new", 0)}),
    )
    seen: list[Observation] = [
        tasks,
        some_compared_topics(NOON),
        some_configs(NOON),
        some_starts(NOON),
        replace(
            some_readers(NOON),
            lost=(
                LostOffsets(
                    group="archiver", topics=2, records=30, missed_at=NOON
                ),
            ),
        ),
        some_schemas(NOON),
        an_audit(),
    ]
    return a_report(flows=[FLOW, OTHER], observations=seen)


def test_details_have_the_documented_shape(
    client: httpx.Client, stage: Stage, clock: SetClock
) -> None:
    stage.tick(a_tick())
    clock.now += timedelta(seconds=2)

    answer = client.get("/api/details")

    assert answer.status_code == 200
    assert answer.json() == json.loads(GOLDEN_DETAILS.read_text())


def test_one_flow_alone_can_be_asked_for(
    client: httpx.Client, stage: Stage
) -> None:
    assert client.get("/api/details").status_code == 503
    stage.tick(a_tick())

    found = client.get("/api/details?flow=commands").json()["flows"]

    assert found == [
        {
            "name": "commands",
            "source": "summit",
            "target": "ldf",
            "tasks": None,
            "parity": None,
            "configs": None,
            "failover": None,
            "readers": None,
            "schemas": None,
            "audit": None,
        }
    ]
    assert client.get("/api/details?flow=x").status_code == 404


def test_what_does_not_run_comes_first_and_neighbours_last(
    client: httpx.Client, stage: Stage
) -> None:
    tasks = some_tasks(NOON)
    neighbour = replace(
        tasks.tasks[2], connector="Alien", role="neighbour", number=0
    )
    seen = replace(tasks, tasks=(neighbour, *tasks.tasks))
    stage.tick(a_report(observations=[seen]))

    (flow,) = client.get("/api/details").json()["flows"]

    told = [(t["connector"], t["task"]) for t in flow["tasks"]["tasks"]]
    assert told == [
        ("MirrorSourceConnector", 1),
        ("MirrorSourceConnector", None),
        ("MirrorSourceConnector", 0),
        ("Alien", 0),
    ]
    assert flow["tasks"]["copying_running"] == 1


def test_long_lists_are_cut_and_counted(
    client: httpx.Client, stage: Stage
) -> None:
    parity = some_compared_topics(NOON)
    missing = tuple(
        replace(parity.missing[0], topic=f"topic-{n:04}") for n in range(1172)
    )
    stage.tick(a_report(observations=[replace(parity, missing=missing)]))

    (flow,) = client.get("/api/details").json()["flows"]

    assert flow["parity"]["missing_total"] == 1172
    assert len(flow["parity"]["missing"]) == 100


def ask_nights(folder: Path | None) -> httpx.Response:
    with serve_stage(Stage(clock=SetClock(NOON), audits=folder)) as server:
        return HTTP.get(f"{server.url}/api/audits", timeout=60)


def test_the_last_nights_are_told_newest_first(tmp_path: Path) -> None:
    day = timedelta(days=1)
    write_audit(tmp_path, a_finished(a_result(at=NIGHT - day)))
    write_audit(tmp_path, a_finished(a_result(a_finding())))
    write_audit(tmp_path, a_finished(a_result(nightly=False)))
    write_report(tmp_path, "nightly-2026-11-21", "<!doctype html>")

    told = ask_nights(tmp_path).json()

    assert told["problems"] == []
    assert [(n["flow"], n["run"], n["report"]) for n in told["nights"]] == [
        (FLOW.name, "nightly-2026-11-21", "/audit/nightly-2026-11-21"),
        (FLOW.name, "nightly-2026-11-20", None),
    ]
    newest, before = (n["found_records"]["dropped"] for n in told["nights"])
    assert (newest, before) == (1, 0)


def test_runs_of_windows_hide_no_night(tmp_path: Path) -> None:
    day = timedelta(days=1)
    for number in range(16):
        night = a_result(at=NIGHT - number * day)
        window = replace(night, id=f"adhoc-{number}", nightly=False)
        for result in (night, window):
            write_audit(tmp_path, a_finished(result))
            file = tmp_path / "runs" / result.id / "result.json"
            # Those of windows were run after the nights.
            written = (1000 if result.nightly else 2000) - number
            os.utime(file, (written, written))

    told = ask_nights(tmp_path).json()

    assert [night["run"] for night in told["nights"]] == [
        f"nightly-{NIGHT - number * day:%Y-%m-%d}" for number in range(14)
    ]


def test_a_night_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    write_audit(tmp_path, a_finished())
    bad = tmp_path / "runs" / "nightly-2026-11-22"
    bad.mkdir()
    (bad / "result.json").write_text("{")

    told = ask_nights(tmp_path).json()

    assert [night["run"] for night in told["nights"]] == ["nightly-2026-11-21"]
    assert len(told["problems"]) == 1


def test_without_a_folder_there_are_no_nights(tmp_path: Path) -> None:
    nothing: dict[str, list[str]] = {"nights": [], "problems": []}
    assert ask_nights(None).json() == nothing
    assert ask_nights(tmp_path / "not-yet").json() == nothing


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
        ("flow=summit->ldf&to=0001-01-01T00:00:00%2B23:59", "give ISO 8601"),
        ("flow=summit->ldf&to=9999-12-31T23:59:59-23:59", "give ISO 8601"),
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
