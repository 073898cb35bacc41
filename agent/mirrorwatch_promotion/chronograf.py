"""Dashboards at a site's Chronograf."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .exceptions import PromotionError
from .http import Api
from .item import Item
from .queries import rewrite_flux, rewrite_influxql
from .tickscript import fill, slots_of
from .values import Rewriter, ValueKind

__all__ = ["MARK", "Chronograf", "from_chronograf", "rewrite_chronograf"]


MARK = "Copied by mirrorwatch. What is changed here is overwritten."
"""Stands in the note of a cell, where people read it. Chronograf keeps no
description of a dashboard, and makes new ids for its cells."""

PATH = "/chronograf/v1/dashboards"

UNSET: Mapping[str, Any] = {
    "colors": [],
    "fieldOptions": [],
    "note": "",
    "noteVisibility": "default",
    "type": "line",
}
"""What the server makes of what a cell does not say."""


class Chronograf:
    """A site's Chronograf.

    Parameters
    ----------
    api
        Its HTTP API.
    """

    name = "chronograf"

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        found = self._api.ask("GET", PATH)["dashboards"]
        return [from_chronograf(dashboard) for dashboard in found]

    def put(self, item: Item, replaced: Item | None) -> None:
        body = mark_chronograf(item)
        if replaced is None:
            self._api.ask("POST", PATH, json=body)
        else:
            self._api.ask("PUT", f"{PATH}/{replaced.ref}", json=body)

    def delete(self, item: Item) -> None:
        self._api.ask("DELETE", f"{PATH}/{item.ref}", absent=True)


def from_chronograf(dashboard: Mapping[str, Any]) -> Item:
    """Return a dashboard as Chronograf tells or exports it."""
    cells = [_normal_cell(cell) for cell in dashboard["cells"] or ()]
    marked = any(MARK in cell["note"] for cell in cells)
    for cell in cells:
        cell["note"] = cell["note"].replace(MARK, "").rstrip("\n")
    name = dashboard["name"]
    templates = [
        {k: v for k, v in template.items() if k != "links"}
        | {
            "values": template.get("values") or [],
            "sourceID": template.get("sourceID") or "dynamic",
        }
        for template in dashboard["templates"] or ()
    ]
    return Item(
        kind="chronograf",
        name=name,
        title=name,
        content={"name": name, "cells": cells, "templates": templates},
        marked=marked,
        ref=str(dashboard.get("id", "")),
    )


def mark_chronograf(item: Item) -> dict[str, Any]:
    """Return a dashboard with its mark, as Chronograf takes it.

    Raises
    ------
    PromotionError
        Raised if it has no cell.
    """
    cells = [dict(cell) for cell in item.content["cells"]]
    if not cells:
        raise PromotionError(
            f"{item} has no cells, so nothing could carry the mark of a "
            "copy: give it one, or leave it out"
        )
    note = cells[0]["note"]
    cells[0]["note"] = f"{note}\n\n{MARK}" if note else MARK
    return {**item.content, "cells": cells}


def _normal_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what each server makes itself.

    Notes
    -----
    What is not set is told as empty by the server that has it so, and as what
    it stands for by the one that was given it: both are the same.
    """
    result = {k: v for k, v in cell.items() if k not in {"i", "links"}}
    result["axes"] = {
        name: {
            **axis,
            "base": axis.get("base") or "10",
            "scale": axis.get("scale") or "linear",
        }
        for name, axis in (cell.get("axes") or {}).items()
    }
    result |= {key: cell.get(key) or value for key, value in UNSET.items()}
    result["queries"] = [
        _normal_query(query) for query in cell.get("queries") or ()
    ]
    return result


def _normal_query(query: Mapping[str, Any]) -> dict[str, Any]:
    # The rest of a query's configuration is told from its text.
    shifts = (query.get("queryConfig") or {}).get("shifts") or []
    return {
        **query,
        "type": query.get("type") or "influxql",
        "source": query.get("source") or "",
        "queryConfig": {"shifts": shifts},
    }


# Rewrites dashboards of Chronograf.
#

Json = Mapping[str, Any]

SOURCE = re.compile(r"(?P<path>/chronograf/v1/sources/)(?P<id>[^/]*)")
"""How a query names its source, unless it takes whichever is chosen."""


def rewrite_chronograf(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a dashboard as the other site needs it.

    Parameters
    ----------
    dashboard
        ``cells`` and ``templates``; the rest is left as it is.
    rewriter
        Knows the values, and collects what it does not know.
    """
    rewriter.learn(lambda ahead: _rewrite(dashboard, ahead))
    return _rewrite(dashboard, rewriter)


def _rewrite(dashboard: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(dashboard)
    result["cells"] = [
        _rewrite_cell(cell, rewriter) for cell in dashboard["cells"]
    ]
    result["templates"] = [
        _rewrite_template(template, rewriter)
        for template in dashboard["templates"]
    ]
    return result


def _rewrite_cell(cell: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(cell)
    with rewriter.at(f"cell {cell.get('name', '')!r}"):
        if cell.get("note"):
            with rewriter.at("note"):
                result["note"] = rewriter.prose(cell["note"])
        result["queries"] = [
            _rewrite_query(query, rewriter) for query in cell["queries"]
        ]
    return result


def _rewrite_query(query: Json, rewriter: Rewriter) -> dict[str, Any]:
    rewrite = rewrite_flux if query["type"] == "flux" else rewrite_influxql
    with rewriter.at("query"):
        text = rewrite(query["query"], rewriter)
    with rewriter.at("source"):
        match = SOURCE.fullmatch(query["source"])
        if match:
            found = rewriter.exact(ValueKind.SOURCE, match["id"])
            source = match["path"] + found
        else:
            source = rewriter.exact(ValueKind.SOURCE, query["source"])
    return {**query, "query": text, "source": source}


def _rewrite_template(template: Json, rewriter: Rewriter) -> dict[str, Any]:
    result = dict(template)
    with rewriter.at(f"variable {template['tempVar']}"):
        result["sourceID"] = rewriter.exact(
            ValueKind.SOURCE, template["sourceID"]
        )
        name = template["tempVar"].strip(":")
        result["values"] = [
            {**v, "value": _rewrite_value(v, name, rewriter)}
            for v in template["values"]
        ]
        if template.get("query"):
            result["query"] = _rewrite_choices(template["query"], rewriter)
    return result


def _rewrite_value(value: Json, variable: str, rewriter: Rewriter) -> str:
    text: str = value["value"]
    match value["type"]:
        case "database":
            return rewriter.exact(ValueKind.DATABASE, text)
        case "measurement":
            return rewriter.prefixed(text)
        case "fieldKey" | "tagKey":
            return text
        case _:
            return fill(slots_of(variable, rewriter), text, rewriter)


def _rewrite_choices(query: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Rewrite the query that finds what a variable may be."""
    result = dict(query)
    for key, kind in (
        ("db", ValueKind.DATABASE),
        ("rp", ValueKind.RETENTION_POLICY),
    ):
        if query.get(key):
            result[key] = rewriter.exact(kind, query[key])
    if query.get("measurement"):
        result["measurement"] = rewriter.prefixed(query["measurement"])
    with rewriter.at("query"):
        if query.get("influxql"):
            result["influxql"] = rewrite_influxql(query["influxql"], rewriter)
        if query.get("flux"):
            result["flux"] = rewrite_flux(query["flux"], rewriter)
    return result
