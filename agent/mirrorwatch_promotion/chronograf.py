"""Dashboards at a site's Chronograf."""

from collections.abc import Mapping, Sequence
from typing import Any

from .http import Api
from .item import Item

__all__ = ["Chronograf", "from_chronograf"]


PATH = "/chronograf/v1/dashboards"

UNSET: Mapping[str, Any] = {
    "colors": [],
    "fieldOptions": [],
    "note": "",
    "noteVisibility": "default",
    "type": "line",
}


class Chronograf:
    """A site's Chronograf.

    Parameters
    ----------
    api
        Its HTTP API.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        found = self._api.ask("GET", PATH)["dashboards"]
        return [from_chronograf(dashboard) for dashboard in found]

    def put(self, item: Item, replaced: Item | None) -> None:
        if replaced is None:
            self._api.ask("POST", PATH, json=item.content)
        else:
            self._api.ask("PUT", f"{PATH}/{replaced.ref}", json=item.content)


def from_chronograf(dashboard: Mapping[str, Any]) -> Item:
    """Return a dashboard as Chronograf tells or exports it."""
    name = dashboard["name"]
    templates = [
        {k: v for k, v in template.items() if k != "links"}
        | {
            "values": template.get("values") or [],
            "sourceID": template.get("sourceID") or "dynamic",
        }
        for template in dashboard["templates"] or ()
    ]
    cells = [_normal_cell(cell) for cell in dashboard["cells"] or ()]
    return Item(
        kind="chronograf",
        name=name,
        title=name,
        content={"name": name, "cells": cells, "templates": templates},
        ref=str(dashboard.get("id", "")),
    )


def _normal_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out ids and links, and fill in the server's defaults.

    Notes
    -----
    A server tells defaults as empty or by their values, depending on how it
    was given them: both are the same.
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
    # The server derives the rest of a query's configuration from its text.
    shifts = (query.get("queryConfig") or {}).get("shifts") or []
    return {
        **query,
        "type": query.get("type") or "influxql",
        "source": query.get("source") or "",
        "queryConfig": {"shifts": shifts},
    }
