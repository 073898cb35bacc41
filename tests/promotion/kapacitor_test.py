"""Rules between two real Kapacitors."""

from typing import Any

import httpx
import pytest

from tests.support.influx import ADMIN, PASSWORD
from tests.support.two_sites import SECRET, TwoSites
from tests.support.users_rules import (
    SCRIPT,
    TASKS,
    TEMPLATE,
    TOPICS,
    make_own_rule,
    make_rules,
)

pytestmark = [pytest.mark.kapacitor, pytest.mark.chronograf]


@pytest.fixture(scope="module")
def world(two_sites: TwoSites) -> TwoSites:
    """A stand with rules of its users, and a summit with one of its own."""
    make_rules(two_sites.stand)
    make_own_rule(two_sites.summit)
    return two_sites


def everything(world: TwoSites) -> Any:
    """Return all that the summit's Kapacitor keeps, with its dates."""
    kapacitor = world.summit.kapacitor
    fields = ["script", "status", "vars", "dbrps", "created", "modified"]
    params = {"fields": [*fields, "last-enabled"], "limit": 1000}
    topics = kapacitor.ask("GET", TOPICS)["topics"]
    return (
        kapacitor.ask("GET", TASKS, params=params)["tasks"],
        kapacitor.ask("GET", "/kapacitor/v1/templates")["templates"],
        [kapacitor.ask("GET", t["handlers-link"]["href"]) for t in topics],
    )


def test_the_users_own_rules_arrive_and_fire_at_the_other_site(
    world: TwoSites,
) -> None:
    before = everything(world)
    listed = world.run("alerts", "list", "--from", "stand")
    assert "Dome too far" in listed.output
    assert "stand.dome/page" in listed.output

    different = world.copy("alerts", "diff")
    assert different.exit_code == 4, different.output
    assert "+var db = 'efd'" in different.output
    assert SECRET not in different.output

    assert everything(world) == before

    pushed = world.copy("alerts", "push", "--yes")
    assert pushed.exit_code == 0, pushed.output
    assert "created task dome" in pushed.output
    assert SECRET not in pushed.output

    kapacitor = world.summit.kapacitor
    point = "summit.dome,topic=summit.dome angle="
    kapacitor.write("efd", "raw", f"{point}12 1", f"{point}12 2")
    kapacitor.wait_for(
        lambda: (
            kapacitor.events("summit.dome") == {"dome": "CRITICAL"}
            and kapacitor.events("summit.all") == {"dome": "CRITICAL"}
            and kapacitor.events("summit.warnings") == {"template": "WARNING"}
        ),
        "the alerts",
    )
    world.summit.kapacitor.wait_for(
        lambda: "angle" in _alerts_written(world), "what the rule writes"
    )
    kapacitor.write("efd", "raw", f"{point}1 3")
    kapacitor.wait_for(
        lambda: kapacitor.events("summit.dome") == {"dome": "OK"},
        "recovery",
    )


def test_a_rule_made_in_chronograf_is_one_there_too(world: TwoSites) -> None:
    summit = world.summit
    source = f"/chronograf/v1/sources/{summit.sources['efd']}/kapacitors"
    made = summit.chronograf.ask(
        "POST", source, json={"name": "k", "url": summit.kapacitor.url}
    )
    path = f"{source}/{made['id']}/rules"
    rules = summit.chronograf.ask("GET", path)["rules"]
    (rule,) = [r for r in rules if r["name"] == "Dome too far"]
    query = rule["query"]
    assert (query["database"], query["retentionPolicy"]) == ("efd", "raw")
    assert query["measurement"] == "summit.dome"
    assert query["tags"] == {"topic": ["summit.dome"]}
    assert rule["status"] == "enabled"
    assert rule["alertNodes"]["slack"][0]["channel"] == "#summit"
    (post,) = rule["alertNodes"]["post"]
    assert post["url"] == "http://summit.example:1/hook"


def test_after_it_nothing_differs_and_pushing_again_changes_nothing(
    world: TwoSites,
) -> None:
    before = everything(world)
    same = world.copy("alerts", "diff")
    assert (same.exit_code, same.stdout) == (0, "")
    again = world.copy("alerts", "push", "--yes")
    assert (again.exit_code, again.output) == (0, "nothing to do\n")
    assert everything(world) == before


def test_a_change_at_the_stand_reaches_the_running_rule(
    world: TwoSites,
) -> None:
    changed = SCRIPT.replace("> 10.0", "> 30.0")
    world.stand.kapacitor.ask(
        "PATCH", f"{TASKS}/dome", json={"script": changed}
    )
    pushed = world.copy("alerts", "push", "--yes", "--only", "dome")
    assert "changed task dome" in pushed.output
    assert '-        .crit(lambda: "angle" > 10.0)' in pushed.output
    kapacitor = world.summit.kapacitor
    point = "summit.dome,topic=summit.dome angle="
    kapacitor.write("efd", "raw", f"{point}20 11", f"{point}20 12")
    kapacitor.wait_for(
        lambda: kapacitor.events("summit.warnings") == {"template": "WARNING"},
        "the point to be read",
    )
    assert kapacitor.events("summit.dome") == {"dome": "OK"}
    kapacitor.write("efd", "raw", f"{point}40 13", f"{point}40 14")
    kapacitor.wait_for(
        lambda: kapacitor.events("summit.dome") == {"dome": "CRITICAL"},
        "the alert",
    )


def test_changes_of_templates_and_handlers_reach_them(
    world: TwoSites,
) -> None:
    stand, kapacitor = world.stand.kapacitor, world.summit.kapacitor
    changed = TEMPLATE.replace("'template'", "'changed'")
    path = "/kapacitor/v1/templates/warn"
    stand.ask("PATCH", path, json={"script": changed})
    topics = ["stand.all", "stand.more"]
    stand.ask(
        "PUT",
        f"{TOPICS}/stand.dome/handlers/all",
        json={"id": "all", "kind": "publish", "options": {"topics": topics}},
    )
    pushed = world.copy("alerts", "push", "--yes")
    assert "changed template warn" in pushed.output
    assert "changed handler summit.dome/all" in pushed.output
    point = "summit.dome,topic=summit.dome angle="
    kapacitor.write("efd", "raw", f"{point}1 21", f"{point}50 22")
    kapacitor.wait_for(
        lambda: (
            kapacitor.events("summit.more") == {"dome": "CRITICAL"}
            and kapacitor.events("summit.warnings").get("changed") == "WARNING"
        ),
        "the alerts",
    )
    assert world.copy("alerts", "diff").exit_code == 0


def _alerts_written(world: TwoSites) -> str:
    answer = httpx.get(
        f"{world.summit.influx.url}/query",
        params={"db": "efd", "q": 'SELECT * FROM "raw"."summit.alerts"'},
        auth=(ADMIN, PASSWORD),
        timeout=120,
    )
    return answer.text
