"""Tasks, templates and topic handlers at a site's Kapacitor."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .http import Api
from .item import Item

__all__ = ["Kapacitor"]


ROOT = "/kapacitor/v1"
PATHS = {"task": f"{ROOT}/tasks", "template": f"{ROOT}/templates"}
TOPICS = f"{ROOT}/alerts/topics"

PAGE = 100
"""Items asked for at once; Kapacitor has no way to ask for all."""

FIELDS = {
    "task": ("id", "type", "status", "dbrps", "script", "vars", "template-id"),
    "template": ("id", "type", "script"),
}

CHRONOGRAF = "chronograf-v1-"
"""Beginning of the ids of rules that were made in Chronograf: people know
them by the variable ``name``."""

RULE_NAME = re.compile(r"^var name = '(.+)'", re.MULTILINE)

DBRP = re.compile(r'^\s*dbrp\s+"', re.MULTILINE)


class Kapacitor:
    """A site's Kapacitor.

    Parameters
    ----------
    api
        Its HTTP API.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        return [
            *map(_template, self._pages("template")),
            *map(_task, self._pages("task")),
            *self._handlers(),
        ]

    def put(self, item: Item, replaced: Item | None) -> None:
        if item.kind == "handler":
            self._put_handler(item, replaced)
            return
        path, body = PATHS[item.kind], item.content
        one = f"{path}/{item.name}"
        if replaced is not None and not _can_be_patched(item, replaced):
            self._api.ask("DELETE", one)
            replaced = None
        if replaced is None:
            self._api.ask("POST", path, json={**body, "id": item.name})
        elif item.kind == "template":
            self._api.ask("PATCH", one, json=body)
        else:
            # A task that runs goes on with its old script until it stops.
            self._api.ask("PATCH", one, json={**body, "status": "disabled"})
            self._api.ask("PATCH", one, json={"status": body["status"]})

    def _put_handler(self, item: Item, replaced: Item | None) -> None:
        topic = quote(item.content["topic"], safe="")
        body = {k: v for k, v in item.content.items() if k != "topic"}
        path = f"{TOPICS}/{topic}/handlers"
        if replaced is None:
            self._api.ask("POST", path, json=body)
        else:
            self._api.ask("PUT", f"{path}/{body['id']}", json=body)

    def _pages(self, kind: str) -> Iterator[Mapping[str, Any]]:
        params: dict[str, Any] = {"script-format": "raw", "limit": PAGE}
        params["fields"] = FIELDS[kind]
        offset = 0
        while True:
            params["offset"] = offset
            found = self._api.ask("GET", PATHS[kind], params=params)
            page = found[f"{kind}s"]
            if not page:
                return
            yield from page
            offset += len(page)

    def _handlers(self) -> Iterator[Item]:
        for topic in self._api.ask("GET", TOPICS)["topics"]:
            path = f"{TOPICS}/{quote(topic['id'], safe='')}/handlers"
            for found in self._api.ask("GET", path)["handlers"] or ():
                yield _handler(topic["id"], found)


def _template(found: Mapping[str, Any]) -> Item:
    return Item(
        kind="template",
        name=found["id"],
        title=found["id"],
        content={"type": found["type"], "script": found["script"]},
    )


def _task(found: Mapping[str, Any]) -> Item:
    name, script = found["id"], found["script"]
    content: dict[str, Any] = {
        "type": found["type"],
        "status": found["status"],
        "vars": found["vars"] or {},
    }
    if found.get("template-id"):
        content["template-id"] = found["template-id"]
    else:
        content["script"] = script
    if not _names_database(script):
        content["dbrps"] = found["dbrps"]
    rule = RULE_NAME.search(script) if name.startswith(CHRONOGRAF) else None
    title = rule[1] if rule else name
    return Item(kind="task", name=name, title=title, content=content)


def _handler(topic: str, found: Mapping[str, Any]) -> Item:
    name = f"{topic}/{found['id']}"
    content = {
        "topic": topic,
        "id": found["id"],
        "kind": found["kind"],
        "options": found["options"] or {},
        "match": found["match"],
    }
    return Item(kind="handler", name=name, title=name, content=content)


def _can_be_patched(item: Item, replaced: Item) -> bool:
    new, old = item.content, replaced.content
    emptied = bool(old.get("vars")) and not new.get("vars")
    return ("script" in new) == ("script" in old) and not emptied


def _names_database(script: str) -> bool:
    return DBRP.search(script) is not None
