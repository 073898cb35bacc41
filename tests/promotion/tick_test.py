"""Rules and dashboards between Kapacitors and Chronografs in memory."""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tick_fakes import FakeSites, two_fake_sites

pytestmark = pytest.mark.slow

KEY = "s3cret-key"
VALUES = {
    "stand": {
        "database": "efd_stand",
        "retention_policy": "week",
        "page": "http://stand:8080",
        "topic": "stand.dome",
        "routing_key": f"{KEY}-stand",
        "source": "/chronograf/v1/sources/1",
    },
    "summit": {
        "database": "efd",
        "retention_policy": "raw",
        "page": "https://summit",
        "topic": "summit.dome",
        "routing_key": f"{KEY}-summit",
        "source": "/chronograf/v1/sources/4",
    },
}
SCRIPT = "var db = 'efd_stand'\nstream|from().database(db)|alert().crit(TRUE)"
DECLARED = 'dbrp "efd_stand"."week"\nstream|from()|alert()'
DBRPS = [{"db": "efd_stand", "rp": "week"}]


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[FakeSites]:
    """Return a stand with a rule of each kind, and a summit with one."""
    with two_fake_sites(tmp_path, VALUES) as started:
        stand, summit = started.stand, started.summit
        kinds = {"type": "stream", "status": "enabled"}
        stand.templates["warn"] = {
            "id": "warn",
            "type": "stream",
            "script": "var db string\nstream|from().database(db)",
        }
        database = {"type": "string", "value": "efd_stand"}
        for task in (
            {"id": "dome", "script": SCRIPT, "dbrps": DBRPS},
            {"id": "declared", "script": DECLARED},
            {"id": "warn-dome", "template-id": "warn", "dbrps": DBRPS}
            | {"vars": {"db": database}},
        ):
            stand.tasks[str(task["id"])] = kinds | task
        stand.handlers["stand.dome", "page"] = {
            "id": "page",
            "kind": "pagerduty2",
            "match": "",
            "options": {"routing-key": f"{KEY}-stand"},
        }
        own = kinds | {"id": "own", "script": DECLARED}
        summit.tasks["own"] = own
        yield started


def test_rules_of_each_kind_arrive_with_the_other_sites_values(
    sites: FakeSites,
) -> None:
    summit = sites.summit
    own = copy.deepcopy(summit.tasks["own"])
    shown = sites.copy("alerts", "diff")
    assert shown.exit_code == 4, shown.output
    assert "+var db = 'efd'" in shown.output
    assert summit.writes == []
    pushed = sites.copy("alerts", "push", "--yes")
    assert pushed.exit_code == 0, pushed.output
    assert KEY not in shown.output + pushed.output
    assert "note:" not in pushed.output
    # A task needs its template.
    created = [body["id"] for _, _, body in summit.writes]
    assert created.index("warn") < created.index("warn-dome")
    assert summit.tasks["dome"]["script"].startswith("var db = 'efd'\n")
    assert summit.tasks["dome"]["dbrps"] == [{"db": "efd", "rp": "raw"}]
    declared = summit.tasks["declared"]
    assert declared["script"].startswith('dbrp "efd"."raw"\n')
    assert "dbrps" not in declared
    of_template = summit.tasks["warn-dome"]
    assert of_template["vars"]["db"]["value"] == "efd"
    assert "script" not in of_template
    handler = summit.handlers["summit.dome", "page"]
    assert handler["options"] == {"routing-key": f"{KEY}-summit"}
    assert summit.tasks["own"] == own

    summit.writes.clear()
    assert sites.copy("alerts", "diff").exit_code == 0
    assert sites.copy("alerts", "push", "--yes").output == "nothing to do\n"
    assert summit.writes == []


def test_changes_reach_tasks_templates_and_handlers(sites: FakeSites) -> None:
    stand, summit = sites.stand, sites.summit
    sites.copy("alerts", "push", "--yes")
    summit.writes.clear()
    stand.tasks["dome"]["script"] += ".message('x')"
    stand.templates["warn"]["script"] += "|log()"
    stand.handlers["stand.dome", "page"]["match"] = "level() == OK"
    # Kapacitor leaves variables as they are that a patch has not.
    stand.tasks["warn-dome"]["vars"] = {}
    pushed = sites.copy("alerts", "push", "--yes")
    assert pushed.exit_code == 0, pushed.output
    api = "/kapacitor/v1"
    assert [(method, path) for method, path, _ in summit.writes] == [
        ("PATCH", f"{api}/templates/warn"),
        ("PATCH", f"{api}/tasks/dome"),
        ("PATCH", f"{api}/tasks/dome"),
        ("DELETE", f"{api}/tasks/warn-dome"),
        ("POST", f"{api}/tasks"),
        ("PUT", f"{api}/alerts/topics/summit.dome/handlers/page"),
    ]
    # A task runs its old script until it was stopped.
    statuses = [body["status"] for _, _, body in summit.writes[1:3]]
    assert statuses == ["disabled", "enabled"]
    assert sites.copy("alerts", "diff").exit_code == 0


def test_a_task_is_copied_with_its_template(sites: FakeSites) -> None:
    pushed = sites.copy("alerts", "push", "--yes", "--only", "warn-*")
    assert pushed.exit_code == 0, pushed.output
    assert [body["id"] for _, _, body in sites.summit.writes] == [
        *("warn", "warn-dome")
    ]


def test_dashboards_arrive_and_are_replaced_by_name(sites: FakeSites) -> None:
    query = 'SELECT x FROM "efd_stand"."week"."stand.dome"'
    source = VALUES["stand"]["source"]
    cell = {"w": 4, "name": "x", "i": "a", "note": "see http://stand:8080/x"}
    cell["queries"] = [{"query": query, "source": source}]
    sites.stand.dashboards["1"] = {
        "id": "1",
        "name": "Dome",
        "cells": [cell],
        "templates": None,
    }
    old = {"id": "5", "name": "Dome", "cells": None, "templates": None}
    sites.summit.dashboards["5"] = old
    pushed = sites.copy("dashboards", "push", "--yes")
    assert pushed.exit_code == 0, pushed.output
    (arrived,) = sites.summit.dashboards.values()
    assert arrived["id"] == "5"
    (copied,) = arrived["cells"]
    assert copied["note"] == "see https://summit/x"
    assert copied["queries"][0]["source"] == VALUES["summit"]["source"]
    assert copied["queries"][0]["query"] == (
        'SELECT x FROM "efd"."raw"."stand.dome"'.replace("stand.", "summit.")
    )
    again = sites.copy("dashboards", "push", "--yes")
    assert again.output == "nothing to do\n"


def test_what_comes_with_mirrorwatch_gets_database_policy_and_page(
    sites: FakeSites,
) -> None:
    ends = ("--from", "ours", "--to", "summit")
    for group in ("alerts", "dashboards"):
        pushed = sites.run(group, "push", *ends, "--yes")
        assert pushed.exit_code == 0, pushed.output
        assert "note:" not in pushed.output
        assert sites.run(group, "diff", *ends).exit_code == 0
    script = sites.summit.tasks["mirrorwatch-flow"]["script"]
    assert 'dbrp "efd"."raw"' in script
    assert "var database = 'efd'" in script
    assert "var retention_policy = 'raw'" in script
    assert "var page = 'https://summit'" in script
    assert "var topic = 'mirrorwatch'" in script
    text = str([*sites.summit.dashboards.values()])
    assert '"efd"."raw"."' in text
    assert '"mirrorwatch"."autogen"' not in text
    assert "https://summit/runbook" in text
    assert "127.0.0.1" not in text
