"""A small server that answers as Grafana's documented HTTP API does.

No package registry has Grafana, so the contract is written down here: what
the reference of the HTTP API (dashboard, folder and search) says of requests
and answers, and nothing that only a guess would fill in.
"""

import copy
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from tests.support.http import handling

__all__ = ["MODEL", "TOKEN", "Grafanas", "three_grafanas"]


Answer = tuple[int, Any]


class FakeGrafana:
    """Dashboards and folders of one Grafana.

    Parameters
    ----------
    token
        Of the service account that may do all.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self.dashboards: dict[str, dict[str, Any]] = {}
        self.folders: dict[str, str] = {}
        self.writes = 0
        self.page_length = 100
        self.may_write = True

    def listen(self) -> AbstractContextManager[str]:
        """Yield its address."""
        return handling(self.handle)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["Content-Length"] or 0)
        body = json.loads(request.rfile.read(length) or "null")
        path = urlsplit(request.path).path
        answer: Answer
        if request.headers["Authorization"] != f"Bearer {self.token}":
            answer = 401, {"message": "Invalid API key"}
        else:
            answer = self._answer(request.command, path, body)
        status, found = answer
        if isinstance(found, list):
            found = self._page(found, request.path)
        data = json.dumps(found).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _page(self, found: list[Any], address: str) -> list[Any]:
        asked = parse_qs(urlsplit(address).query)
        length = min(int(asked["limit"][0]), self.page_length)
        first = (int(asked["page"][0]) - 1) * length
        return found[first : first + length]

    def _answer(self, method: str, path: str, body: Any) -> Answer:
        if method != "GET":
            if not self.may_write:
                return HTTPStatus.FORBIDDEN, {
                    "message": "You need the permission dashboards:write"
                }
            self.writes += 1
        answer: Answer = (404, {"message": "Not found"})
        match method, path.strip("/").split("/"):
            case "GET", ["api", "search"]:
                found = [
                    {"uid": u, "type": "dash-db"} for u in self.dashboards
                ]
                answer = 200, found
            case "GET", ["api", "folders"]:
                named = self.folders.items()
                answer = 200, [{"uid": u, "title": t} for u, t in named]
            case "POST", ["api", "folders"]:
                uid = f"f{len(self.folders)}"
                self.folders[uid] = body["title"]
                answer = 200, {"uid": uid, "title": body["title"]}
            case "POST", ["api", "dashboards", "db"]:
                answer = self._save(body)
            case "GET", ["api", "dashboards", "uid", uid]:
                answer = self._one(uid)
            case _:
                pass
        return answer

    def _one(self, uid: str) -> Answer:
        if uid not in self.dashboards:
            return 404, {"message": "Dashboard not found"}
        found = self.dashboards[uid]
        folder = found["folder"]
        title = self.folders.get(folder, "General")
        meta = {"folderUid": folder, "folderTitle": title}
        return 200, {"dashboard": found["model"], "meta": meta}

    def _save(self, body: Any) -> Answer:
        model = dict(body["dashboard"])
        uid = model["uid"]
        there = self.dashboards.get(uid)
        seen = model["version"]
        if (
            there
            and not body["overwrite"]
            and (seen != there["model"]["version"])
        ):
            return HTTPStatus.PRECONDITION_FAILED, {
                "status": "version-mismatch",
                "message": "The dashboard has been changed by someone else",
            }
        old = there["model"] if there else {"id": len(self.dashboards) + 1}
        model["id"] = old["id"]
        model["version"] = old.get("version", 0) + 1
        self.dashboards[uid] = {"model": model, "folder": body["folderUid"]}
        return 200, {"uid": uid, "status": "success"} | {
            "version": model["version"]
        }


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
    "database": "efd_NAME",
    "datasource": "NAME-uid",
    "topic": "NAME.dome",
    "page": "http://NAME:8080",
    "host": "NAME-host",
    "folder": "EFD NAME",
}


@dataclass
class Grafanas:
    """Three of them, and the sites file."""

    stand: FakeGrafana
    summit: FakeGrafana
    ldf: FakeGrafana
    file: Path

    def run(self, command: str, *options: str, answer: str = "") -> Result:
        fixed = ["--sites", str(self.file), "--from", "stand"]
        if command != "list":
            fixed += ["--to", "summit"]
        if command == "push" and not answer:
            fixed += ["--yes"]
        return CliRunner().invoke(
            main, ["dashboards", command, *fixed, *options], input=answer
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
        file = folder / "sites.yaml"
        file.write_text(yaml.safe_dump({"sites": sites}))
        stand.folders["fs"] = "EFD stand"
        stand.dashboards["dome"] = {
            "model": copy.deepcopy(MODEL),
            "folder": "fs",
        }
        other = {"id": 1, "uid": "own", "version": 1, "title": "Own"}
        summit.dashboards["own"] = {"model": other, "folder": ""}
        yield Grafanas(stand, summit, ldf, file)
