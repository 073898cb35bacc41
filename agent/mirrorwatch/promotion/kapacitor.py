"""Tasks, templates and topic handlers at a site's Kapacitor."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ..domain.promotion.tokens import meaningful, tokenize
from .http import Api
from .item import Item
from .kapacitor_marks import (
    has_mark,
    mark_id,
    mark_script,
    mark_vars,
    unmark_id,
    unmark_script,
    unmark_vars,
)

__all__ = ["Kapacitor"]

ROOT = "/kapacitor/v1"
PATHS = {"task": f"{ROOT}/tasks", "template": f"{ROOT}/templates"}
TOPICS = f"{ROOT}/alerts/topics"

PAGE = 100
"""As many are asked for at once; Kapacitor has no way to ask for all."""

FIELDS = {
    "task": ("id", "type", "status", "dbrps", "script", "vars", "template-id"),
    "template": ("id", "type", "script"),
}

CHRONOGRAF = "chronograf-v1-"
"""How the ids of rules begin that were made in Chronograf: people know them
by the variable ``name``."""


class Kapacitor:
    """A site's Kapacitor.

    Parameters
    ----------
    api
        Its HTTP API.
    """

    name = "kapacitor"

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        return [
            *(_template(found) for found in self._pages("template")),
            *(_task(found) for found in self._pages("task")),
            *self._handlers(),
        ]

    def put(self, item: Item, replaced: Item | None) -> None:
        if item.kind == "handler":
            self._put_handler(item, replaced)
            return
        body = _to_body(item)
        path = PATHS[item.kind]
        if replaced is not None and not _can_be_patched(item, replaced):
            self.delete(replaced)
            replaced = None
        if replaced is None:
            self._api.ask("POST", path, json=body | {"id": item.name})
        elif item.kind == "template":
            self._api.ask("PATCH", f"{path}/{item.name}", json=body)
        else:
            # A task that runs goes on with its old script until it stops.
            off = body | {"status": "disabled"}
            self._api.ask("PATCH", f"{path}/{item.name}", json=off)
            on = {"status": body["status"]}
            self._api.ask("PATCH", f"{path}/{item.name}", json=on)

    def delete(self, item: Item) -> None:
        if item.kind == "handler":
            path = f"{TOPICS}/{item.ref}"
        else:
            path = f"{PATHS[item.kind]}/{item.name}"
        self._api.ask("DELETE", path, absent=True)

    def _put_handler(self, item: Item, replaced: Item | None) -> None:
        topic = quote(item.content["topic"], safe="")
        body = {k: v for k, v in item.content.items() if k != "topic"}
        body["id"] = mark_id(item.content["id"])
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
    script = found["script"]
    return Item(
        kind="template",
        name=found["id"],
        title=found["id"],
        content={"type": found["type"], "script": unmark_script(script)},
        marked=has_mark(script),
    )


def _task(found: Mapping[str, Any]) -> Item:
    script, variables = found["script"], found["vars"] or {}
    content: dict[str, Any] = {
        "type": found["type"],
        "status": found["status"],
        "vars": unmark_vars(variables),
    }
    if found.get("template-id"):
        content["template-id"] = found["template-id"]
        marked = unmark_vars(variables) != variables
    else:
        content["script"] = unmark_script(script)
        marked = has_mark(script)
    if not _names_database(script):
        content["dbrps"] = found["dbrps"]
    name = found["id"]
    title = name
    if name.startswith(CHRONOGRAF):
        title = _variable(script, "name") or name
    return Item(
        kind="task",
        name=name,
        title=title,
        content=content,
        hint="" if "script" in content else unmark_script(script),
        marked=marked,
    )


def _handler(topic: str, found: Mapping[str, Any]) -> Item:
    plain = unmark_id(found["id"])
    content = {
        "topic": topic,
        "id": plain,
        "kind": found["kind"],
        "options": found["options"] or {},
        "match": found["match"],
    }
    return Item(
        kind="handler",
        name=f"{topic}/{plain}",
        title=f"{topic}/{plain}",
        content=content,
        marked=plain != found["id"],
        ref=f"{quote(topic, safe='')}/handlers/{found['id']}",
    )


def _to_body(item: Item) -> dict[str, Any]:
    body = dict(item.content)
    if "script" in body:
        body["script"] = mark_script(body["script"])
    elif item.kind == "task":
        body["vars"] = mark_vars(body["vars"])
    return body


def _can_be_patched(item: Item, replaced: Item) -> bool:
    """Tell whether a change reaches: what is left out stays as it was."""
    new, old = item.content, replaced.content
    emptied = bool(old.get("vars")) and not new.get("vars")
    return ("script" in new) == ("script" in old) and not emptied


def _names_database(script: str) -> bool:
    """Tell whether a script says itself what it reads: ``dbrp "a"."b"``."""
    tokens = tokenize(script, "tick")
    words = [tokens[index] for index in meaningful(tokens)]
    return any(
        word.raw == "dbrp" and after.kind == "name"
        for word, after in itertools.pairwise(words)
    )


def _variable(script: str, name: str) -> str | None:
    """Return the text of a variable."""
    tokens = tokenize(script, "tick")
    words = [tokens[index].raw for index in meaningful(tokens)]
    wanted = ["var", name, "="]
    for at in range(len(words) - 3):
        if words[at : at + 3] == wanted:
            return words[at + 3].strip("'")
    return None
