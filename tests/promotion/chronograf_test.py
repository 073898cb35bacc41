"""Dashboards between two real Chronografs."""

import copy
from typing import Any

import pytest

from mirrorwatch_promotion.chronograf import MARK
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
    stand.chronograf.ask("POST", PATH, json=dashboard("Private"))
    summit.chronograf.ask("POST", PATH, json=dashboard("Private"))
    summit.write("summit.dome,topic=summit.dome angle=7")
    return two_sites


def everything(world: TwoSites) -> Any:
    return world.summit.chronograf.ask("GET", PATH)


def find(world: TwoSites, name: str) -> Any:
    found = everything(world)["dashboards"]
    (one,) = [d for d in found if d["name"] == name]
    return one


def test_a_users_own_dashboard_arrives_and_finds_data(world: TwoSites) -> None:
    foreign = find(world, "Private")
    pushed = world.copy("dashboards", "push", "--yes", "--only", "Dome*")
    assert pushed.exit_code == 0, pushed.output
    assert "summit: created chronograf Dome 2" in pushed.output
    assert find(world, "Private") == foreign

    arrived = find(world, "Dome")
    summit = world.summit
    first, second = arrived["cells"]
    assert first["note"].endswith(MARK)
    assert MARK not in second["note"]
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


def test_a_copy_of_a_copy_goes_back_to_where_it_came_from_as_the_same(
    world: TwoSites,
) -> None:
    # At the stand it carries no mark, so it is in the way, and stays.
    refused = world.run(
        *("dashboards", "push", "--from", "summit", "--to", "stand"),
        *("--only", "Dome", "--yes"),
    )
    assert refused.exit_code == 1
    assert "chronograf Dome" in refused.output
    listed = world.run("dashboards", "list", "--from", "summit")
    assert "yes" in listed.output


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


def test_what_is_somebodys_own_stops_the_push_and_stays(
    world: TwoSites,
) -> None:
    before = everything(world)
    refused = world.copy("dashboards", "push", "--yes")
    assert refused.exit_code == 1
    assert "chronograf Private" in refused.output
    assert everything(world) == before


def test_a_source_that_the_map_does_not_know_stops_the_push(
    world: TwoSites,
) -> None:
    made = world.stand.chronograf.ask(
        "POST", PATH, json=dashboard("Lost", "/chronograf/v1/sources/77")
    )
    stopped = world.copy("dashboards", "push", "--yes", "--only", "Lost")
    assert stopped.exit_code == 2
    assert "cell 'Dome [deg]': source: source '77' is not" in stopped.output
    world.stand.chronograf.ask("DELETE", f"{PATH}/{made['id']}")


def test_what_comes_with_mirrorwatch_can_be_pushed(world: TwoSites) -> None:
    config = copy.deepcopy(world.config)
    values = config["summit"]["values"]
    values["databases"]["mirrorwatch"] = "mirror"
    ends = ("--from", "ours", "--to", "summit")
    stopped = world.run("dashboards", "push", *ends, config=config)
    assert "is endpoints.page, for which the other site has" in stopped.output
    values["endpoints"]["page"] = "https://mirror.summit.example"
    pushed = world.run("dashboards", "push", *ends, "--yes", config=config)
    assert pushed.exit_code == 0, pushed.output
    same = world.run("dashboards", "diff", *ends, config=config)
    assert (same.exit_code, same.stdout) == (0, "")
