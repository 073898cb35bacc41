"""Dashboards at a site's Grafana."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .http import Api
from .item import Item
from .queries import rewrite_flux, rewrite_influxql, rewrite_promql
from .tickscript import fill, slots_of
from .values import Rewriter, ValueKind

__all__ = ["MARK", "Grafana", "from_grafana", "rewrite_grafana"]


MARK = "copied-by-mirrorwatch"
"""Tag of a copy: tags are seen, searched for, and kept by every version."""

PAGE = 1000
"""As many are asked for at once; a server may tell fewer."""

OWN = {"id", "uid", "version", "iteration"}
"""What each server makes itself, or is kept apart."""

FOLDER = "folder"
"""Where the title of a dashboard's folder is kept in its content: uids of
folders differ from server to server."""


class Grafana:
    """A site's Grafana.

    Parameters
    ----------
    api
        Its HTTP API.

    Notes
    -----
    A folder that is missing is made and stays, even if the push is undone:
    to delete a folder deletes what somebody has put there meanwhile.
    """

    name = "grafana"

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        found = self._pages("/api/search", type="dash-db")
        return [self._read(dashboard["uid"]) for dashboard in found]

    def put(self, item: Item, replaced: Item | None) -> None:
        model = {k: v for k, v in item.content.items() if k != FOLDER}
        tags = [*model.get("tags", ()), MARK]
        # With the version that was seen, Grafana refuses what others have
        # changed meanwhile.
        version = int(replaced.ref) if replaced else 0
        body = {
            "dashboard": model
            | {"id": None, "uid": item.name, "tags": tags, "version": version},
            "folderUid": self._folder(item.content[FOLDER]),
            "message": "Copied by mirrorwatch",
            "overwrite": False,
        }
        self._api.ask("POST", "/api/dashboards/db", json=body)

    def delete(self, item: Item) -> None:
        path = f"/api/dashboards/uid/{quote(item.name, safe='')}"
        self._api.ask("DELETE", path, absent=True)

    def _pages(self, path: str, **asked: str) -> Iterator[Mapping[str, Any]]:
        """Yield what is told on all pages: the first empty one ends it."""
        for page in itertools.count(1):
            params = asked | {"limit": str(PAGE), "page": str(page)}
            found = self._api.ask("GET", path, params=params)
            if not found:
                return
            yield from found

    def _read(self, uid: str) -> Item:
        path = f"/api/dashboards/uid/{quote(uid, safe='')}"
        found = self._api.ask("GET", path)
        folder = found["meta"].get("folderTitle", "")
        # The folder that is none has had several names.
        root = not found["meta"].get("folderUid")
        return from_grafana(found["dashboard"], "" if root else folder)

    def _folder(self, title: str) -> str:
        """Return the uid of a folder, made if it is missing."""
        if not title:
            return ""
        for found in self._pages("/api/folders"):
            if found["title"] == title:
                return str(found["uid"])
        made = self._api.ask("POST", "/api/folders", json={"title": title})
        return str(made["uid"])


def from_grafana(model: Mapping[str, Any], folder: str) -> Item:
    """Return a dashboard as Grafana tells or exports it.

    Parameters
    ----------
    model
        The dashboard's model.
    folder
        Title of its folder; empty for none.
    """
    tags = model.get("tags") or []
    content = {k: v for k, v in model.items() if k not in OWN}
    content["tags"] = [tag for tag in tags if tag != MARK]
    content[FOLDER] = folder
    return Item(
        kind="grafana",
        name=model["uid"],
        title=model["title"],
        content=content,
        marked=MARK in tags,
        ref=str(model.get("version") or 0),
    )


Json = Mapping[str, Any]

Rewrite = Callable[[str], str]

LISTED = {"custom", "constant", "textbox"}
"""Types whose choices stand in the dashboard itself."""

ASKED = {"query", "datasource", "interval"}
"""Types whose choices are found when it is looked at."""

COMMA = re.compile(r"(?<!\\),")
"""What separates choices; each may have a label before `` : ``."""


def is_variable(node: Json) -> bool:
    """Tell whether a part of a dashboard is one of its variables."""
    return "name" in node and node.get("type") in LISTED | ASKED


def rewrite_variable(variable: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return what is not left to the rules of other parts.

    Parameters
    ----------
    variable
        Its declaration.
    rewriter
        Knows the values and what variables stand for, and collects what it
        does not know.
    """
    slots = slots_of(variable["name"], rewriter)

    def rewrite(value: str) -> str:
        if value.startswith("$__"):
            return value  # all of them, or as Grafana thinks fit
        if variable["type"] != "datasource":
            return fill(slots, value, rewriter)
        if value == "default":
            return value
        return rewriter.exact(ValueKind.DATASOURCE, value)

    result: dict[str, Any] = {}
    with rewriter.at("query"):
        query = variable.get("query")
        if variable["type"] in LISTED and isinstance(query, str):
            result["query"] = _rewrite_listed(query, variable, rewrite)
        elif variable["type"] != "query" and "query" in variable:
            result["query"] = query  # a type of sources, or times
    if isinstance(variable.get("regex"), str):
        with rewriter.at("regex"):
            result["regex"] = rewriter.regex(variable["regex"])
    with rewriter.at("current"):
        if isinstance(variable.get("current"), dict):
            result["current"] = _rewrite_choice(variable["current"], rewrite)
    with rewriter.at("options"):
        if isinstance(variable.get("options"), list):
            result["options"] = [
                _rewrite_choice(option, rewrite)
                for option in variable["options"]
            ]
    return result


def _rewrite_listed(query: str, variable: Json, rewrite: Rewrite) -> str:
    if variable["type"] != "custom":
        return rewrite(query)
    choices = []
    for choice in COMMA.split(query):
        label, colon, value = choice.rpartition(" : ")
        bare = value.strip()
        choices.append(label + colon + value.replace(bare, rewrite(bare), 1))
    return ",".join(choices)


def _rewrite_choice(choice: Json, rewrite: Rewrite) -> dict[str, Any]:
    """Rewrite a value, or several of them; a label is for people."""
    value, text = choice.get("value"), choice.get("text")
    new = value
    if isinstance(value, str):
        new = rewrite(value)
    elif isinstance(value, list):
        new = [rewrite(v) if isinstance(v, str) else v for v in value]
    result = dict(choice)
    if "value" in choice:
        result["value"] = new
    if "text" in choice and text == value:
        result["text"] = new
    return result


# Rewrites dashboards of Grafana.
#


PROSE = {"content", "description", "title", "url", "tooltip"}
"""Texts for people, and links."""

NAMES = {
    "bucket": ValueKind.DATABASE,
    "measurement": ValueKind.TOPIC_PREFIX,
    "policy": ValueKind.RETENTION_POLICY,
}
"""What a query that was made with the mouse names."""

QUERIES = {"query", "expr", "definition"}


def rewrite_grafana(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a dashboard as the other site needs it.

    Parameters
    ----------
    dashboard
        The dashboard's model; its data sources are named by uid.
    rewriter
        Knows the values, and collects what it does not know.
    """
    rewriter.learn(lambda ahead: _rewrite(dict(dashboard), "", ahead))
    found: dict[str, Any] = _rewrite(dict(dashboard), "", rewriter)
    return found


def _rewrite(node: Any, language: str, rewriter: Rewriter) -> Any:
    """Rewrite a node of the model.

    Parameters
    ----------
    node
        The node.
    language
        Type of the data source that its queries are for.
    rewriter
        As above.
    """
    if isinstance(node, list):
        return [_rewrite(item, language, rewriter) for item in node]
    if not isinstance(node, dict):
        return node
    source = node.get("datasource")
    if isinstance(source, dict):
        language = source.get("type") or language
    if "libraryPanel" in node:
        why = "is a library panel, which is not copied: unlink it"
        rewriter.stop(ValueKind.DATASOURCE, str(node.get("title", "")), why)
    title = node.get("title") or node.get("name")
    place = [repr(title)] if isinstance(title, str) and title else []
    with rewriter.at(*place):
        result = {}
        if is_variable(node):
            result = rewrite_variable(node, rewriter)
        for key, value in node.items():
            if key not in result:
                with rewriter.at(key):
                    result[key] = _rewrite_key(
                        key, value, node, language, rewriter
                    )
    # In the order that it had, so that nothing but values differs.
    return {key: result[key] for key in node}


def _rewrite_key(
    key: str, value: Any, node: Json, language: str, rewriter: Rewriter
) -> Any:
    if key == "datasource":
        return _rewrite_source(value, rewriter)
    if not isinstance(value, str):
        return _rewrite(value, language, rewriter)
    if key in QUERIES:
        return _rewrite_query(value, language, rewriter)
    return _rewrite_text(key, value, node, rewriter)


def _rewrite_text(key: str, value: str, node: Json, rewriter: Rewriter) -> str:
    regex = value.startswith("/")
    if key in PROSE:
        return rewriter.prose(value)
    if key == "measurement" and regex:
        return rewriter.regex(value)
    if key in NAMES:
        return rewriter.value(NAMES[key], value)
    if key == "value" and "operator" in node:
        # A tag's value in a query; regexes stand between strokes.
        return rewriter.regex(value) if regex else rewriter.text(value)
    if key == "options" and node.get("id") in {"byName", "byRegexp"}:
        # The field that an override is for: often a measurement's name.
        return rewriter.regex(value) if regex else rewriter.text(value)
    return value


def _rewrite_source(source: Any, rewriter: Rewriter) -> Any:
    if isinstance(source, str):
        return rewriter.exact(ValueKind.DATASOURCE, source)
    if isinstance(source, dict) and isinstance(source.get("uid"), str):
        return {
            **source,
            "uid": rewriter.exact(ValueKind.DATASOURCE, source["uid"]),
        }
    return source


def _rewrite_query(query: str, language: str, rewriter: Rewriter) -> str:
    if language == "influxdb":
        if "|>" in query or "from(bucket" in query:
            return rewrite_flux(query, rewriter)
        return rewrite_influxql(query, rewriter)
    return rewrite_promql(query, rewriter)
