"""Dashboards between two real Chronografs."""

from typing import Any

import pytest

from tests.support.two_sites import TwoSites

pytestmark = [pytest.mark.kapacitor, pytest.mark.chronograf]

PATH = "/chronograf/v1/dashboards"

QUERY = (
    'SELECT mean("angle") AS "angle" FROM "efd_stand"."week"."stand.dome" '
    "WHERE time > :dashboardTime: AND \"topic\" = 'stand.dome' "
    "GROUP BY time(:interval:) FILL(null)"
)

AXIS = {"label": "", "prefix": "", "suffix": "", "base": "10"} | {
    "bounds": ["", ""],
    "scale": "linear",
}


def cell(name: str, query: str, source: str) -> dict[str, Any]:
    return {
        "x": 0,
        "y": 0,
        "w": 4,
        "h": 4,
        "name": name,
        "type": "line",
        "queries": [
            {
                "query": query,
                "queryConfig": {
                    "shifts": [
                        {"label": "1d", "unit": "d", "quantity": "1"},
                    ],
                },
                "source": source,
                "type": "influxql",
            }
        ],
        "axes": {"x": AXIS, "y": AXIS, "y2": AXIS},
        "colors": [],
        "legend": {},
        "note": "It's <b>far</b>",
        "noteVisibility": "default",
    }


def dashboard(name: str, source: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "cells": [cell("Dome [deg]", QUERY, source), cell("B", QUERY, "")],
        "templates": [
            {
                "tempVar": ":db:",
                "id": "1",
                "type": "databases",
                "label": "",
                "values": [
                    {"value": "efd_stand", "type": "database"}
                    | {"selected": True},
                ],
                "sourceID": "dynamic",
            },
            {
                "tempVar": ":topic:",
                "id": "2",
                "type": "influxql",
                "label": "",
                "query": {
                    "influxql": 'SHOW TAG VALUES ON "efd_stand" FROM '
                    '"stand.dome" WITH KEY = "topic"',
                    "measurement": "",
                    "tagKey": "",
                    "fieldKey": "",
                },
                "values": [],
                "sourceID": "dynamic",
            },
        ],
    }


@pytest.fixture(scope="module")
def world(two_sites: TwoSites) -> TwoSites:
    stand, summit = two_sites.stand, two_sites.summit
    source = f"/chronograf/v1/sources/{stand.sources['efd']}"
    stand.chronograf.ask("POST", PATH, json=dashboard("Dome", source))
    stand.chronograf.ask("POST", PATH, json=dashboard("Dome 2"))
    summit.write("summit.dome,topic=summit.dome angle=7")
    return two_sites


def everything(world: TwoSites) -> Any:
    return world.summit.chronograf.ask("GET", PATH)


def find(world: TwoSites, name: str) -> Any:
    found = everything(world)["dashboards"]
    (one,) = [d for d in found if d["name"] == name]
    return one


def test_a_users_own_dashboard_arrives_and_finds_data(world: TwoSites) -> None:
    pushed = world.copy("dashboards", "push", "--yes", "--only", "Dome*")
    assert pushed.exit_code == 0, pushed.output
    assert "summit: created chronograf Dome 2" in pushed.output

    arrived = find(world, "Dome")
    summit = world.summit
    first, _ = arrived["cells"]
    (query,) = first["queries"]
    number = summit.sources["efd"]
    assert number != world.stand.sources["efd"]
    assert query["source"] == f"/chronograf/v1/sources/{number}"
    assert query["queryConfig"]["shifts"] == [
        {"label": "1d", "unit": "d", "quantity": "1"}
    ]
    text = query["query"].replace(":dashboardTime:", "now() - 1h")
    answer = summit.chronograf.ask(
        "POST",
        f"/chronograf/v1/sources/{number}/proxy",
        json={"query": text.replace(":interval:", "1h"), "db": "efd"},
        headers={"X-Requested-With": "XMLHttpRequest"},
    )
    (series,) = (
        answer["results"]["results"][0]["series"]
        if isinstance(answer["results"], dict)
        else answer["results"][0]["series"]
    )
    assert 7 in [angle for _, angle in series["values"]]
    choices = arrived["templates"][1]["query"]["influxql"]
    found = summit.influx.query(choices).json()
    assert found["results"][0]["series"][0]["values"] == [
        ["topic", "summit.dome"]
    ]


def test_after_it_nothing_differs_and_pushing_again_changes_nothing(
    world: TwoSites,
) -> None:
    before = everything(world)
    same = world.copy("dashboards", "diff", "--only", "Dome*")
    assert (same.exit_code, same.stdout) == (0, "")
    again = world.copy("dashboards", "push", "--yes", "--only", "Dome*")
    assert (again.exit_code, again.output) == (0, "nothing to do\n")
    assert everything(world) == before


def test_what_a_dashboard_does_not_say_makes_no_difference_for_ever(
    world: TwoSites,
) -> None:
    # As programs make them: the server fills in what is missing.
    bare = {"name": "Bare", "cells": [{"w": 4, "h": 4, "name": "x"}]}
    world.stand.chronograf.ask("POST", PATH, json=bare)
    only = ("--yes", "--only", "Bare")
    assert world.copy("dashboards", "push", *only).exit_code == 0
    again = world.copy("dashboards", "push", *only)
    assert (again.exit_code, again.output) == (0, "nothing to do\n")
