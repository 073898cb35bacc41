"""Small servers that answer as Kapacitor and Chronograf do, in memory.

Both are in no package registry: the real ones are tested where they are on
PATH, and these everywhere.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from tests.support.http import handling

__all__ = ["FakeSite", "FakeSites", "two_fake_sites"]

Document = dict[str, Any]
Write = tuple[str, str, Any]


@dataclass
class FakeSite:
    """Kapacitor and Chronograf of one site, behind one address."""

    name: str
    tasks: dict[str, Document] = field(default_factory=dict)
    templates: dict[str, Document] = field(default_factory=dict)
    handlers: dict[tuple[str, str], Document] = field(default_factory=dict)
    dashboards: dict[str, Document] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["Content-Length"] or 0)
        body = json.loads(request.rfile.read(length) or "null")
        address = urlsplit(request.path)
        if request.command != "GET":
            self.writes.append((request.command, address.path, body))
        parts = list(map(unquote, address.path.strip("/").split("/")[2:]))
        if request.command == "GET":
            status, found = 200, self._read(parts, parse_qs(address.query))
        else:
            status = self._write(request.command, parts, body)
            found = {"error": "refused"} if status != HTTPStatus.OK else {}
        data = json.dumps(found).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _read(self, parts: list[str], asked: dict[str, list[str]]) -> Any:
        match parts:
            case ["tasks" | "templates" as kind]:
                first = int(asked["offset"][0])
                # Fewer than were asked for, so that there are pages.
                page = list(self._kept(kind).values())[first : first + 1]
                return {kind: [self._told(item) for item in page]}
            case ["alerts", "topics"]:
                topics = {topic for topic, _ in self.handlers}
                return {"topics": [{"id": t} for t in sorted(topics)]}
            case ["alerts", "topics", topic, "handlers"]:
                kept = [h for (t, _), h in self.handlers.items() if t == topic]
                return {"handlers": kept}
            case _:
                return {"dashboards": list(self.dashboards.values())}

    def _write(self, method: str, parts: list[str], body: Any) -> int:
        match [method, *parts]:
            case ["POST", "tasks" | "templates" as kind]:
                if body["id"] in self._kept(kind):
                    return HTTPStatus.BAD_REQUEST
                self._kept(kind)[body["id"]] = body
            case ["PATCH", "tasks" | "templates" as kind, name]:
                # An empty field stays as it was.
                given = {k: v for k, v in body.items() if v}
                self._kept(kind)[name] |= given
            case ["DELETE", "tasks", name]:
                del self.tasks[name]
            case ["POST", "alerts", "topics", topic, "handlers"]:
                self.handlers[topic, body["id"]] = body
            case ["PUT", "alerts", "topics", topic, "handlers", name]:
                if (topic, name) not in self.handlers:
                    return HTTPStatus.NOT_FOUND
                self.handlers[topic, name] = body
            case ["POST", "dashboards"]:
                number = str(len(self.dashboards) + 7)
                self.dashboards[number] = body | {"id": number}
            case ["PUT", "dashboards", number]:
                self.dashboards[number] = body | {"id": number}
            case _:
                return HTTPStatus.NOT_FOUND
        return HTTPStatus.OK

    def _kept(self, kind: str) -> dict[str, Document]:
        return self.tasks if kind == "tasks" else self.templates

    def _told(self, item: Document) -> Document:
        blank = {"script": "", "status": "enabled", "dbrps": [], "vars": {}}
        template = self.templates.get(item.get("template-id", ""), {})
        return {**blank, **template, **item}


@dataclass
class FakeSites:
    """A test stand, the summit, and the sites file."""

    stand: FakeSite
    summit: FakeSite
    file: Path

    def copy(self, group: str, command: str, *options: str) -> Result:
        """Run a command from the stand to the summit."""
        ends = ("--from", "stand", "--to", "summit", *options)
        return self.run(group, command, *ends)

    def run(self, group: str, command: str, *options: str) -> Result:
        arguments = [group, command, "--sites", str(self.file), *options]
        return CliRunner().invoke(main, arguments)


@contextmanager
def two_fake_sites(
    folder: Path, values: dict[str, dict[str, str]]
) -> Iterator[FakeSites]:
    """Start both, with these values in the sites file."""
    stand, summit = FakeSite("stand"), FakeSite("summit")
    with handling(stand.handle) as one, handling(summit.handle) as two:
        sites = {
            name: {
                "kapacitor": {"url": url},
                "chronograf": {"url": url},
                "values": values[name],
            }
            for name, url in (("stand", one), ("summit", two))
        }
        file = folder / "sites.yaml"
        file.write_text(yaml.safe_dump({"sites": sites}))
        yield FakeSites(stand, summit, file)
