"""Three Grafanas, and how to copy between them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from tests.support.fake_grafana import FakeGrafana

__all__ = ["MODEL", "TOKEN", "Grafanas", "three_grafanas"]

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


@contextmanager
def three_grafanas(folder: Path) -> Iterator[Grafanas]:
    """Start them: the stand has a dashboard, the summit one of its own."""
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
        file = folder / "sites.yaml"
        file.write_text(yaml.safe_dump(config))
        stand.folders["fs"] = "EFD"
        stand.dashboards["dome"] = {
            "model": copy.deepcopy(MODEL),
            "folder": "fs",
        }
        other = {"id": 1, "uid": "own", "version": 1, "title": "Own"}
        summit.dashboards["own"] = {"model": other, "folder": ""}
        yield Grafanas(stand, summit, ldf, file)
