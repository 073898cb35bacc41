"""Dashboards between two Grafanas, by the contract of its HTTP API."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from mirrorwatch.promotion.grafana import MARK
from tests.support.fake_grafana import FakeGrafana

TOKEN = "glsa_token-of-the-tests"  # noqa: S105

MODEL: dict[str, Any] = {
    "id": 9,
    "uid": "dome",
    "version": 3,
    "title": "Dome",
    "tags": ["efd"],
    "schemaVersion": 39,
    "links": [{"title": "Page", "url": "http://stand:8080/x"}],
    "templating": {
        "list": [
            {
                "name": "ds",
                "type": "datasource",
                "query": "influxdb",
                "current": {"text": "EFD", "value": "stand-uid"},
            },
            {
                "name": "topic",
                "type": "query",
                "datasource": {"type": "influxdb", "uid": "stand-uid"},
                "query": 'SHOW TAG VALUES ON "efd_stand" WITH KEY = "topic"',
                "current": {"text": "stand.dome", "value": "stand.dome"},
            },
        ]
    },
    "annotations": {
        "list": [{"datasource": {"type": "grafana", "uid": "-- Grafana --"}}]
    },
    "panels": [
        {
            "title": "Angle",
            "datasource": {"type": "influxdb", "uid": "stand-uid"},
            "targets": [
                {
                    "datasource": {"type": "influxdb", "uid": "${ds}"},
                    "query": 'SELECT x FROM "efd_stand".."stand.dome" '
                    "WHERE $timeFilter",
                    "rawQuery": True,
                },
                {
                    "measurement": "stand.dome",
                    "policy": "default",
                    "tags": [
                        {
                            "key": "t",
                            "operator": "=",
                            "value": "stand.dome",
                        }
                    ],
                },
                {"query": 'from(bucket: "efd_stand/autogen") |> yield()'},
            ],
        },
        {
            "title": "Up",
            "datasource": {"type": "prometheus", "uid": "prom"},
            "targets": [{"expr": 'up{instance="stand-host"}'}],
        },
    ],
}

VALUES = {
    "databases": {"efd": "efd_NAME"},
    "datasources": {"efd": "NAME-uid"},
    "topic_prefixes": {"site": "NAME."},
    "endpoints": {"page": "http://NAME:8080", "host": "NAME-host"},
}


@dataclass
class Grafanas:
    """Three of them, and the file of the sites."""

    stand: FakeGrafana
    summit: FakeGrafana
    ldf: FakeGrafana
    file: Path

    def run(self, command: str, *options: str) -> Result:
        fixed = ["--sites", str(self.file), "--from", "stand"]
        if command != "list":
            fixed += ["--to", "summit"]
        if command == "push":
            journal = str(self.file.parent / "journal")
            fixed += ["--journal", journal, "--yes", "--wait", "10s"]
        return CliRunner().invoke(
            main, ["dashboards", command, *fixed, *options]
        )


@pytest.fixture
def grafanas(tmp_path: Path) -> Iterator[Grafanas]:
    stand, summit, ldf = (FakeGrafana(TOKEN) for _ in range(3))
    with (
        stand.listen() as one,
        summit.listen() as two,
        ldf.listen() as three,
    ):
        sites = {
            name: {
                "grafana": {"url": url, "token": TOKEN},
                "values": yaml.safe_load(
                    yaml.safe_dump(VALUES).replace("NAME", name)
                ),
            }
            for name, url in (("stand", one), ("summit", two), ("ldf", three))
        }
        config = {"sites": sites, "everywhere": {"datasources": ["prom"]}}
        file = tmp_path / "sites.yaml"
        file.write_text(yaml.safe_dump(config))
        stand.folders["fs"] = "EFD"
        stand.dashboards["dome"] = {
            "model": copy.deepcopy(MODEL),
            "folder": "fs",
        }
        other = {"id": 1, "uid": "own", "version": 1, "title": "Own"}
        summit.dashboards["own"] = {"model": other, "folder": ""}
        yield Grafanas(stand, summit, ldf, file)


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
    assert "All is as it was before." in lost.output
    assert grafanas.summit.dashboards == before


def test_several_sites_are_copied_to_at_once(grafanas: Grafanas) -> None:
    pushed = grafanas.run("push", "--to", "ldf")
    assert pushed.exit_code == 0, pushed.output
    there = (grafanas.summit, grafanas.ldf)
    sources = [
        g.dashboards["dome"]["model"]["panels"][0]["datasource"]["uid"]
        for g in there
    ]
    assert sources == ["summit-uid", "ldf-uid"]


def test_what_stops_one_site_stops_all_before_anything_is_written(
    grafanas: Grafanas,
) -> None:
    own = {**MODEL, "tags": []}
    grafanas.ldf.dashboards["dome"] = {"model": own, "folder": ""}
    refused = grafanas.run("push", "--to", "ldf")
    assert refused.exit_code == 1
    assert "Nothing was copied to ldf" in refused.output
    assert grafanas.summit.writes == grafanas.ldf.writes == 0


def test_a_wrong_token_is_told_with_its_key_and_never_shown(
    grafanas: Grafanas,
) -> None:
    grafanas.summit.token = "another"  # noqa: S105
    refused = grafanas.run("push")
    assert refused.exit_code == 1
    assert "token, under sites.summit.grafana" in refused.output
    assert TOKEN not in refused.output
