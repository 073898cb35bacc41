"""A real server is lost half-way, with kill -9."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.influx import START_SECONDS
from tests.support.tcp import BreakingProxy
from tests.support.two_sites import TwoSites

pytestmark = [pytest.mark.kapacitor, pytest.mark.chronograf]

TASKS = "/kapacitor/v1/tasks"
DASHBOARDS = "/chronograf/v1/dashboards"


def script(database: str, policy: str, limit: int) -> str:
    return (
        f'dbrp "{database}"."{policy}"\n'
        f'stream|from()|alert().crit(lambda: "x" > {limit})'
    )


@pytest.fixture(scope="module")
def world(two_sites: TwoSites) -> TwoSites:
    """Three rules at the stand; the summit has the first as it was."""
    for name in ("a", "b", "c"):
        two_sites.stand.kapacitor.ask(
            "POST",
            TASKS,
            json={
                "id": name,
                "type": "stream",
                "script": script("efd_stand", "week", 1),
                "status": "enabled",
            },
        )
        two_sites.stand.chronograf.ask(
            "POST",
            DASHBOARDS,
            json={"name": name, "cells": [{"w": 4, "h": 4, "name": "x"}]},
        )
    first = ("--yes", "--only", "a")
    assert two_sites.copy("alerts", "push", *first).exit_code == 0
    assert two_sites.copy("dashboards", "push", *first).exit_code == 0
    two_sites.stand.kapacitor.ask(
        "PATCH",
        f"{TASKS}/a",
        json={"script": script("efd_stand", "week", 2)},
    )
    (dashboard,) = (
        d
        for d in two_sites.stand.chronograf.ask("GET", DASHBOARDS)[
            "dashboards"
        ]
        if d["name"] == "a"
    )
    dashboard["cells"][0]["name"] = "changed"
    two_sites.stand.chronograf.ask(
        "PUT", f"{DASHBOARDS}/{dashboard['id']}", json=dashboard
    )
    return two_sites


def rules(world: TwoSites) -> Any:
    params = {"fields": ["script", "status", "dbrps", "vars"]}
    return world.summit.kapacitor.ask("GET", TASKS, params=params)["tasks"]


def dashboards(world: TwoSites) -> Any:
    """Return them without their cells' ids, which change with each write."""
    found = world.summit.chronograf.ask("GET", DASHBOARDS)["dashboards"]
    for dashboard in found:
        for cell in dashboard["cells"]:
            del cell["i"], cell["links"]
    return found


def through(world: TwoSites, product: str, url: str) -> Any:
    summit = {**world.config["summit"], product: {"url": url}}
    return {**world.config, "summit": summit}


@pytest.mark.parametrize("writes", [1, 2, 4])
def test_kapacitor_lost_half_way_is_put_back_as_it_was(
    world: TwoSites, writes: int
) -> None:
    before = rules(world)
    proxy = BreakingProxy(world.summit.kapacitor)
    proxy.writes_left = writes
    with proxy.listen() as url, ThreadPoolExecutor(1) as pool:
        pushing = pool.submit(
            world.run,
            *("alerts", "push", "--from", "stand", "--to", "summit"),
            *("--yes", "--wait", "300s"),
            config=through(world, "kapacitor", url),
        )
        assert proxy.missed.wait(START_SECONDS)
        world.summit.kapacitor.start()
        lost = pushing.result()
    assert lost.exit_code == 1
    assert "All there is as it was before." in lost.output
    assert rules(world) == before
    assert not (world.folder / "journal" / "summit-alerts.json").exists()


def test_chronograf_lost_for_long_is_put_back_by_the_next_push(
    world: TwoSites,
) -> None:
    before = dashboards(world)
    proxy = BreakingProxy(world.summit.chronograf)
    proxy.writes_left = 2
    push = ("dashboards", "push", "--from", "stand", "--to", "summit", "--yes")
    with proxy.listen() as url:
        config = through(world, "chronograf", url)
        lost = world.run(*push, "--wait", "1s", config=config)
    assert lost.exit_code == 1
    assert "the site is half changed" in lost.output
    journal = world.folder / "journal" / "summit-dashboards.json"
    assert str(journal) in lost.output.replace("\n", "")
    assert journal.exists()

    world.summit.chronograf.start()
    assert dashboards(world) != before
    # The next push undoes it, then finds something of somebody else.
    world.summit.chronograf.ask(
        "POST",
        DASHBOARDS,
        json={"name": "c", "cells": [{"w": 4, "h": 4, "name": "mine"}]},
    )
    refused = world.run(*push)
    assert refused.exit_code == 1
    assert "an earlier push was cut off; what it did is undone" in (
        refused.output
    )
    assert [d["name"] for d in dashboards(world)] == ["a", "c"]
    assert dashboards(world)[0] == before[0]
    assert not journal.exists()
