"""Dashboards between Grafanas, by the contract of its HTTP API."""

import copy

import pytest
import yaml

from tests.support.grafana import MODEL, TOKEN, Grafanas

pytestmark = pytest.mark.slow


def test_a_dashboard_arrives_in_its_folder_with_the_other_sites_values(
    grafanas: Grafanas,
) -> None:
    own = copy.deepcopy(grafanas.summit.dashboards["own"])
    pushed = grafanas.run("push")
    assert pushed.exit_code == 0, pushed.output
    assert "note:" not in pushed.output
    arrived = grafanas.summit.dashboards["dome"]
    assert grafanas.summit.folders[arrived["folder"]] == "EFD summit"
    text = yaml.safe_dump(MODEL, width=1000).replace("stand", "summit")
    expected = yaml.safe_load(text) | {"id": 2, "version": 1}
    assert arrived["model"] == expected
    assert grafanas.summit.dashboards["own"] == own


def test_after_it_nothing_differs_and_pushing_again_changes_nothing(
    grafanas: Grafanas,
) -> None:
    grafanas.run("push")
    writes = grafanas.summit.writes
    same = grafanas.run("diff")
    assert (same.exit_code, same.output) == (0, "")
    again = grafanas.run("push")
    assert (again.exit_code, again.output) == (0, "nothing to do\n")
    assert grafanas.summit.writes == writes


def test_a_change_is_shown_by_diff_and_makes_a_new_version(
    grafanas: Grafanas,
) -> None:
    grafanas.run("push")
    writes = grafanas.summit.writes
    grafanas.stand.dashboards["dome"]["model"]["title"] = "Dome 2"
    shown = grafanas.run("diff")
    assert shown.exit_code == 4
    assert '-  "title": "Dome"' in shown.output
    assert grafanas.summit.writes == writes
    assert grafanas.run("push").exit_code == 0
    model = grafanas.summit.dashboards["dome"]["model"]
    assert (model["title"], model["version"]) == ("Dome 2", 2)


def test_a_dashboard_with_the_same_uid_is_shown_then_replaced(
    grafanas: Grafanas,
) -> None:
    there = {**MODEL, "version": 7, "description": "Mind the wind."}
    grafanas.summit.dashboards["dome"] = {"model": there, "folder": ""}
    shown = grafanas.run("diff")
    assert '-  "description": "Mind the wind.",' in shown.output
    assert grafanas.run("push").exit_code == 0
    model = grafanas.summit.dashboards["dome"]["model"]
    assert "description" not in model
    assert model["version"] == 8
    assert grafanas.run("diff").exit_code == 0


def test_values_without_a_mapping_stay_and_are_named(
    grafanas: Grafanas,
) -> None:
    sites = yaml.safe_load(grafanas.file.read_text())
    del sites["sites"]["summit"]["values"]["database"]
    grafanas.file.write_text(yaml.safe_dump(sites))
    model = grafanas.stand.dashboards["dome"]["model"]
    model["description"] = "Angles of stand-host."
    pushed = grafanas.run("push")
    assert pushed.exit_code == 0
    notes = [line for line in pushed.output.splitlines() if "note:" in line]
    assert len(notes) == 2
    assert "values.database" in notes[0]
    assert "values.host" in notes[1]
    arrived = grafanas.summit.dashboards["dome"]["model"]
    assert arrived["description"] == "Angles of stand-host."
    assert grafanas.run("diff").exit_code == 0


def test_nothing_is_written_where_the_answer_is_no(
    grafanas: Grafanas,
) -> None:
    assert grafanas.run("push", answer="n\n").exit_code == 1
    assert grafanas.summit.writes == 0
    assert grafanas.run("push", answer="y\n").exit_code == 0
    assert "dome" in grafanas.summit.dashboards


def test_several_sites_are_copied_to_and_a_second_push_does_the_rest(
    grafanas: Grafanas,
) -> None:
    grafanas.ldf.may_write = False
    failed = grafanas.run("push", "--to", "ldf")
    assert failed.exit_code == 1
    assert "dome" in grafanas.summit.dashboards
    writes = grafanas.summit.writes
    grafanas.ldf.may_write = True
    assert grafanas.run("push", "--to", "ldf").exit_code == 0
    assert grafanas.summit.writes == writes
    sources = [
        site.dashboards["dome"]["model"]["panels"][0]["datasource"]["uid"]
        for site in (grafanas.summit, grafanas.ldf)
    ]
    assert sources == ["summit-uid", "ldf-uid"]


def test_a_wrong_token_is_told_with_its_key_and_never_shown(
    grafanas: Grafanas,
) -> None:
    grafanas.summit.token = "another"  # noqa: S105
    refused = grafanas.run("push")
    assert refused.exit_code == 1
    assert "sites.summit.grafana" in refused.output
    assert TOKEN not in refused.output


def test_all_pages_of_dashboards_are_read(grafanas: Grafanas) -> None:
    grafanas.stand.page_length = grafanas.summit.page_length = 2
    for name in ("b", "c", "d", "e"):
        model = {**MODEL, "uid": name, "title": name}
        grafanas.stand.dashboards[name] = {"model": model, "folder": "fs"}
    assert grafanas.run("push").exit_code == 0
    assert {*grafanas.summit.dashboards} == {*grafanas.stand.dashboards, "own"}
    again = grafanas.run("push")
    assert again.output == "nothing to do\n"
    assert list(grafanas.summit.folders.values()) == ["EFD summit"]
