"""Dashboards at a site's Chronograf."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..exceptions import PromotionError
from .http import Api
from .item import Item

__all__ = ["MARK", "Chronograf", "from_chronograf", "mark_chronograf"]

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
