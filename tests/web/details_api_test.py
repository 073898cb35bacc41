"""What the API says of tasks, parity and audits."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from mirrorwatch.domain.observations import Observation
from mirrorwatch.domain.report import Flow
from mirrorwatch.domain.tasks.model import Stopped, Stuck
from mirrorwatch.state.audits import write_audit, write_report
from tests.support.audit_report import an_audit
from tests.support.audits import NIGHT, a_finding, a_finished, a_result
from tests.support.builders import FLOW, NOON, a_report
from tests.support.builders_tasks import some_tasks
from tests.support.parity_report import some_configs, some_topics
from tests.support.plain_http import HTTP
from tests.support.stage import SetClock, Stage, serve_stage

GOLDEN = Path(__file__).parent / "details.json"
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
        some_topics(NOON),
        some_configs(NOON),
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
    assert answer.json() == json.loads(GOLDEN.read_text())


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
    parity = some_topics(NOON)
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
