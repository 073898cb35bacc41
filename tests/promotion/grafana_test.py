"""Dashboards between two Grafanas, by the contract of its HTTP API."""

import copy

import yaml

from mirrorwatch_promotion.grafana import MARK
from tests.support.grafana import MODEL, TOKEN, Grafanas


def test_a_dashboard_arrives_in_its_folder_under_the_other_sites_names(
    grafanas: Grafanas,
) -> None:
    own = copy.deepcopy(grafanas.summit.dashboards["own"])
    pushed = grafanas.run("push")
    assert pushed.exit_code == 0, pushed.output
    arrived = grafanas.summit.dashboards["dome"]
    assert grafanas.summit.folders[arrived["folder"]] == "EFD"
    text = yaml.safe_dump(MODEL, width=1000).replace("stand", "summit")
    expected = yaml.safe_load(text)
    expected |= {"id": 2, "version": 1, "tags": ["efd", MARK]}
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


def test_a_change_makes_a_new_version(grafanas: Grafanas) -> None:
    grafanas.run("push")
    grafanas.stand.dashboards["dome"]["model"]["title"] = "Dome 2"
    assert grafanas.run("diff").exit_code == 4
    pushed = grafanas.run("push")
    assert '-  "title": "Dome"' in pushed.output
    model = grafanas.summit.dashboards["dome"]["model"]
    assert (model["title"], model["version"]) == ("Dome 2", 2)


def test_a_dashboard_without_the_tag_stays(grafanas: Grafanas) -> None:
    grafanas.run("push")
    model = grafanas.summit.dashboards["dome"]["model"]
    model["tags"].remove(MARK)
    grafanas.stand.dashboards["dome"]["model"]["title"] = "Dome 2"
    refused = grafanas.run("push")
    assert refused.exit_code == 1
    assert "grafana dome (Dome 2)" in refused.output
    assert model["title"] == "Dome"


def test_what_the_map_does_not_know_stops_it_and_is_named(
    grafanas: Grafanas,
) -> None:
    model = grafanas.stand.dashboards["dome"]["model"]
    model["panels"][1]["datasource"]["uid"] = "lost-uid"
    model["panels"].append({"title": "Lib", "libraryPanel": {"uid": "l"}})
    model["links"][0]["url"] = "http://elsewhere/x"
    stopped = grafanas.run("push")
    assert stopped.exit_code == 2
    for text in (
        "'Up': datasource: data source 'lost-uid' is not in the map",
        "'Page': url: endpoint 'http://elsewhere/x' is not in the map",
        "'Lib' is a library panel, which is not copied",
    ):
        assert text in stopped.output
    assert grafanas.summit.writes == 0


def test_a_grafana_that_goes_away_has_all_put_back(
    grafanas: Grafanas,
) -> None:
    second = {**MODEL, "uid": "second", "title": "Second"}
    grafanas.stand.dashboards["second"] = {"model": second, "folder": ""}
    grafanas.summit.away_after = 2
    before = copy.deepcopy(grafanas.summit.dashboards)
    lost = grafanas.run("push")
    assert lost.exit_code == 1
    assert "All there is as it was before." in lost.output
    assert grafanas.summit.dashboards == before


def test_a_wrong_token_is_told_with_its_key_and_never_shown(
    grafanas: Grafanas,
) -> None:
    grafanas.summit.token = "another"  # noqa: S105
    refused = grafanas.run("push")
    assert refused.exit_code == 1
    assert "token, under sites.summit.grafana" in refused.output
    assert TOKEN not in refused.output


def test_a_token_that_may_only_read_is_told_with_the_servers_words(
    grafanas: Grafanas,
) -> None:
    grafanas.summit.may_write = False
    refused = grafanas.run("push")
    assert refused.exit_code == 1
    assert "does not allow it (You need the permission" in refused.output
    assert "All there is as it was before." in refused.output


def test_all_pages_of_dashboards_are_read(grafanas: Grafanas) -> None:
    grafanas.stand.page_length = grafanas.summit.page_length = 2
    for name in ("b", "c", "d", "e"):
        model = {**MODEL, "uid": name, "title": name}
        grafanas.stand.dashboards[name] = {"model": model, "folder": "fs"}
    assert grafanas.run("push").exit_code == 0
    assert {*grafanas.summit.dashboards} == {*grafanas.stand.dashboards, "own"}
    again = grafanas.run("push")
    assert again.output == "nothing to do\n"
    assert list(grafanas.summit.folders.values()) == ["EFD"]


def test_what_somebody_changed_in_a_copy_is_shown_before_it_goes(
    grafanas: Grafanas,
) -> None:
    grafanas.run("push")
    copied = grafanas.summit.dashboards["dome"]["model"]
    copied |= {"description": "Mind the wind.", "version": 2}
    shown = grafanas.run("push", "--dry-run")
    assert '-  "description": "Mind the wind.",' in shown.output
    assert copied == grafanas.summit.dashboards["dome"]["model"]
