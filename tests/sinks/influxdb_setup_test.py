"""`mirrorwatch influx setup` on real servers, both versions."""

import re
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from influxdb_client.client.influxdb_client import InfluxDBClient

from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.state.queue import Batch
from tests.support.http import HTTP
from tests.support.influx import (
    TOKEN,
    Influx1,
    InfluxServer,
    influx_config,
    influx_environment,
    write,
)

FLOWS = {
    "clusters": {
        alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
        for alias in ("summit", "ldf")
    },
    "flows": [{"source": "summit", "target": "ldf"}],
}
DATABASE, BUCKET = 'efd "5"', "efd 5"
"""What is made: names that have to be quoted."""

influx_test = pytest.mark.influx
Setup = Callable[..., Result]


@pytest.fixture
def setup(influx: InfluxServer, tmp_path: Path) -> Setup:
    """Run the command with these settings more."""

    def run(*options: str, **settings: Any) -> Result:
        block: dict[str, Any] = dict(influx_config(influx))
        if isinstance(influx, Influx1):
            block |= {"database": DATABASE, "retention_policy": "raw"}
        else:
            block["bucket"] = BUCKET
        block |= settings
        file = tmp_path / "mirrorwatch.yaml"
        config = FLOWS | {"sinks": {"influxdb": block}}
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        return CliRunner().invoke(
            main,
            ["influx", "setup", "--config", str(file), *options],
            env=influx_environment(influx),
        )

    return run


def get(server: InfluxServer, path: str, **params: str) -> Any:
    response = HTTP.get(
        f"{server.url}/api/v2/{path}",
        params=params,
        headers={"Authorization": f"Token {TOKEN}"},
        timeout=120,
    )
    response.raise_for_status()
    return response.json()


def state(server: InfluxServer) -> Any:
    """Return everything that the command may touch."""
    if isinstance(server, Influx1):
        return [
            server.query(statement).json()
            for statement in (
                "SHOW DATABASES",
                'SHOW RETENTION POLICIES ON "efd \\"5\\""',
                "SHOW CONTINUOUS QUERIES",
            )
        ]
    return [
        [
            (b["name"], b["retentionRules"])
            for b in get(server, "buckets")["buckets"]
        ],
        [(t["name"], t["flux"]) for t in get(server, "tasks")["tasks"]],
    ]


@influx_test
def test_it_says_what_it_would_do_then_does_it_then_nothing(
    influx: InfluxServer, setup: Setup
) -> None:
    untouched = state(influx)
    said = setup("--dry-run")
    assert said.exit_code == 0, said.output
    assert state(influx) == untouched
    done = setup()
    assert done.exit_code == 0, done.output
    made = state(influx)
    assert made != untouched
    assert said.output.replace("would ", "done: ") == done.output
    assert "kept for 30d" in said.output
    assert "kept for 730d" in said.output
    again = setup()
    assert again.exit_code == 0
    assert again.output.splitlines()[1:] == [
        "nothing to do: all is as configured"
    ]
    assert state(influx) == made


@influx_test
def test_points_are_never_deleted_without_being_asked_for(
    influx: InfluxServer, setup: Setup
) -> None:
    assert setup(retention="10d").exit_code == 0
    longer = setup(retention="90d")
    assert longer.exit_code == 0
    assert "for 90d, no longer for 10d" in longer.output
    before = state(influx)
    assert setup().output.endswith("all is as configured\n")  # as it is
    shorter = setup(retention="20d")
    assert shorter.exit_code == 1
    assert "left as it is, as points would be deleted" in shorter.output
    assert state(influx) == before
    asked = setup("--shorten", retention="20d")
    assert asked.exit_code == 0
    assert "done: keep" in asked.output
    assert setup(retention="20d").output.endswith("as configured\n")


@influx_test
@pytest.mark.parametrize("kept", ["3d", "1h"])
def test_what_was_kept_for_ever_is_shortened_with_its_shards(
    influx: InfluxServer, setup: Setup, kept: str
) -> None:
    if isinstance(influx, Influx1):
        influx.query("CREATE DATABASE older").raise_for_status()
        place = {"database": "older", "retention_policy": None}
    else:
        org = get(influx, "orgs")["orgs"][0]["id"]
        HTTP.post(
            f"{influx.url}/api/v2/buckets",
            json={"orgID": org, "name": "older", "retentionRules": []},
            headers={"Authorization": f"Token {TOKEN}"},
            timeout=120,
        ).raise_for_status()
        place = {"bucket": "older"}
    done = setup("--shorten", retention=kept, **place)
    assert done.exit_code == 0, done.output
    assert f"for {kept}, no longer for ever" in done.output
    again = setup(retention=kept, **place)
    assert again.output.endswith("all is as configured\n")


@influx_test
def test_a_resolution_of_weeks_is_made_once(setup: Setup) -> None:
    weekly = {"every": "7d"}
    assert setup(downsampling=weekly).exit_code == 0
    again = setup(downsampling=weekly)
    assert again.output.endswith("all is as configured\n")


@influx_test
def test_what_was_altered_by_hand_is_put_right(
    influx: InfluxServer, setup: Setup
) -> None:
    setup()
    made = state(influx)
    if isinstance(influx, Influx1):
        name = 'CONTINUOUS QUERY "mirrorwatch_5m" ON "efd \\"5\\""'
        other = "SELECT mean(*) INTO other FROM raw GROUP BY time(1m), *"
        influx.query(f"DROP {name}").raise_for_status()
        influx.query(f"CREATE {name} BEGIN {other} END").raise_for_status()
    else:
        with InfluxDBClient(influx.url, TOKEN, org="efd") as client:
            tasks = client.tasks_api()
            (task,) = tasks.find_tasks(name=f"{BUCKET}_5m")
            task.flux = task.flux.replace('keep(name: "max", fn: max)', "")
            tasks.update_task(task)
    assert state(influx) != made
    assert "done: change " in setup().output
    assert state(influx) == made


@influx_test
def test_what_is_kept_for_long_has_the_least_the_mean_and_the_largest(
    influx: InfluxServer, setup: Setup
) -> None:
    place = (
        {"database": "mirrorwatch", "retention_policy": "for ever"}
        if isinstance(influx, Influx1)
        else {"bucket": "mirrorwatch"}
    )
    assert setup(**place).exit_code == 0
    begin = int((utc_now() - timedelta(minutes=20)).timestamp()) // 300 * 300
    lines = [
        f"{name},topic=a seconds={float(n)} {(begin + 60 * n) * 10**9}"
        for name in ("lag", "foreign")
        for n in range(5)
    ]
    write(influx.access(), Batch("\n".join(lines).encode(), len(lines)))
    run_now(influx)
    deadline = time.monotonic() + 120
    while not (rows := coarse(influx)):
        assert time.monotonic() < deadline
        threading.Event().wait(0.2)
    assert rows == {
        "lag": {begin: {"min_seconds": 0, "mean_seconds": 2, "max_seconds": 4}}
    }


def run_now(server: InfluxServer) -> None:
    """Do at once what the server would do within the hour."""
    if isinstance(server, Influx1):
        answer = server.query("SHOW CONTINUOUS QUERIES").json()
        (text,) = (
            query
            for series in answer["results"][0]["series"]
            for name, query in series.get("values", ())
            if name == "mirrorwatch_5m"
        )
        (select,) = re.findall(r"BEGIN (.*) END", text)
        since = " WHERE time > now() - 1h GROUP BY"
        server.query(select.replace(" GROUP BY", since)).raise_for_status()
        return
    with InfluxDBClient(server.url, TOKEN, org="efd") as client:
        (task,) = client.tasks_api().find_tasks(name="mirrorwatch_5m")
        client.tasks_api().run_manually(task.id)


def coarse(server: InfluxServer) -> dict[str, dict[int, dict[str, float]]]:
    """Return fields by second, by measurement."""
    place = '"mirrorwatch"."mirrorwatch_5m"'
    if not isinstance(server, Influx1):
        place = '"mirrorwatch_5m"."autogen"'
    answer = server.query(f"SELECT * FROM {place}./.*/").json()  # noqa: S608
    rows: dict[str, dict[int, dict[str, float]]] = {}
    for series in answer["results"][0].get("series", ()):
        for at, *values in series["values"]:
            named = zip(series["columns"][1:], values, strict=True)
            fields = {k: v for k, v in named if k != "topic"}
            rows.setdefault(series["name"], {})[at // 10**9] = fields
    if any(None in f.values() for r in rows.values() for f in r.values()):
        return {}  # not all three are there yet
    return rows


@influx_test
def test_rights_that_are_missing_are_said(
    influx: InfluxServer, setup: Setup
) -> None:
    if isinstance(influx, Influx1):
        influx.query("CREATE USER writer WITH PASSWORD 'w'")
        influx.query("GRANT WRITE ON mirrorwatch TO writer")
        result = setup(username="writer", password="w")  # noqa: S106
    else:
        result = setup(token="wrong-s3cret")  # noqa: S106
        assert "s3cret" not in result.output
    assert result.exit_code == 1
    assert "setting up takes an administrator's rights" in result.output


def test_without_the_sink_there_is_nothing_to_set_up(tmp_path: Path) -> None:
    file = tmp_path / "mirrorwatch.yaml"
    file.write_text(yaml.safe_dump(FLOWS), encoding="utf-8")
    result = CliRunner().invoke(
        main, ["influx", "setup", "--config", str(file)]
    )
    assert result.exit_code == 2
    assert "sinks.influxdb is missing" in result.output
