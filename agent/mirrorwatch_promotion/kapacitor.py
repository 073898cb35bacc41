"""Tasks, templates and topic handlers at a site's Kapacitor."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .http import Api
from .item import Item
from .queries import meaningful, tokenize
from .tickscript import Slot, Slots, TickScript, fill, find_slot
from .values import Rewriter, ValueKind

__all__ = ["Kapacitor", "rewrite_handler", "rewrite_task"]


LINE = "// Copied by mirrorwatch. What is changed here is overwritten.\n"
"""First line of a script. Chronograf's form for rules writes a script anew,
without it: what a person has changed there is that person's."""

VARIABLE = "copied_by_mirrorwatch"
"""Variable of a task whose script is a template's."""

SUFFIX = ".by-mirrorwatch"
"""End of a handler's id: Kapacitor refuses options that it does not know."""


def has_mark(script: str) -> bool:
    """Tell whether a script is marked."""
    return script.startswith(LINE)


def mark_script(script: str) -> str:
    """Return a script with the mark."""
    return LINE + script


def unmark_script(script: str) -> str:
    """Return a script without the mark."""
    return script.removeprefix(LINE)


def mark_vars(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables with the mark."""
    mark = {"type": "bool", "value": True, "description": LINE[3:-1]}
    return {**variables, VARIABLE: mark}


def unmark_vars(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables without the mark."""
    return {k: v for k, v in variables.items() if k != VARIABLE}


def mark_id(name: str) -> str:
    """Return a handler's id with the mark."""
    return name + SUFFIX


def unmark_id(name: str) -> str:
    """Return a handler's id without the mark."""
    return name.removesuffix(SUFFIX)


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


# Rewrites what Kapacitor keeps: tasks, templates, topic handlers.
#

Json = Mapping[str, Any]


def rewrite_task(task: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a task, or a template, as the other site needs it.

    Parameters
    ----------
    task
        ``script``, ``vars`` and ``dbrps``, each if it has one; the rest is
        left as it is. A task of a template has the template's script as
        ``template-script``, which tells how its variables are read.
    rewriter
        Knows the values, and collects what it does not know.
    """
    result = dict(task)
    script = TickScript(task.get("script") or task.get("template-script", ""))
    with rewriter.at("script"):
        if "script" in task:
            result["script"] = script.rewrite(rewriter)
    for key, value in task.get("vars", {}).items():
        used = filter(None, [script.property_of(key)])
        with rewriter.at(f"variable {key}", *used):
            slots = script.slots_of(key)
            new = _rewrite_variable(value, slots, rewriter)
            result["vars"] = {**result["vars"], key: new}
    if "dbrps" in task:
        with rewriter.at("dbrps"):
            result["dbrps"] = [
                {
                    "db": rewriter.exact(ValueKind.DATABASE, pair["db"]),
                    "rp": rewriter.exact(
                        ValueKind.RETENTION_POLICY, pair["rp"]
                    ),
                }
                for pair in task["dbrps"]
            ]
    return result


def rewrite_handler(handler: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a topic handler as the other site needs it.

    Parameters
    ----------
    handler
        ``topic``, ``id``, ``kind``, ``options`` and ``match``.
    rewriter
        Knows the values, and collects what it does not know.
    """
    result = dict(handler)
    with rewriter.at("topic"):
        result["topic"] = rewriter.prefixed(handler["topic"])
    with rewriter.at("match"):
        result["match"] = TickScript(handler["match"]).rewrite(rewriter)
    options = handler.get("options") or {}
    with rewriter.at("options"):
        result["options"] = {
            key: _rewrite_option(key, value, rewriter)
            for key, value in options.items()
        }
    return result


def _rewrite_variable(
    variable: Json, slots: Slots, rewriter: Rewriter
) -> dict[str, Any]:
    value = variable.get("value")
    new: Any = value
    match variable.get("type"), value:
        case "string", str():
            new = fill(slots, value, rewriter)
        case "lambda", str():
            new = TickScript(value).rewrite(rewriter)
        case "regex", str():
            new = rewriter.regex(value)
        case "list", list():
            new = [_rewrite_variable(v, slots, rewriter) for v in value]
        case _:
            pass  # numbers, durations and the like name nothing
    return {**variable, "value": new}


def _rewrite_option(key: str, value: Any, rewriter: Rewriter) -> Any:
    with rewriter.at(key):
        match value:
            case str():
                return fill((find_slot(key) or Slot.TEXT,), value, rewriter)
            case list():
                return [_rewrite_option(key, v, rewriter) for v in value]
            case dict():
                return {
                    k: _rewrite_option(k, v, rewriter)
                    for k, v in value.items()
                }
            case _:
                return value
