"""Dashboards at a site's Grafana."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .http import Api
from .item import Item

__all__ = ["Grafana", "from_grafana"]


PAGE = 1000
"""Items asked for at once; a server may tell fewer."""

OWN = {"id", "uid", "version", "iteration"}
"""Fields that each server sets itself, and the uid, which is the name."""

FOLDER = "folder"
"""Field of the content for the title of the dashboard's folder: uids of
folders differ from server to server."""


class Grafana:
    """A site's Grafana.

    Parameters
    ----------
    api
        Its HTTP API.
    """

    def __init__(self, api: Api) -> None:
        self._api = api

    def list(self) -> Sequence[Item]:
        found = self._pages("/api/search", type="dash-db")
        return [self._read(dashboard["uid"]) for dashboard in found]

    def put(self, item: Item, replaced: Item | None) -> None:
        model = {k: v for k, v in item.content.items() if k != FOLDER}
        # Grafana refuses a change of another version than the present one.
        version = int(replaced.ref) if replaced else 0
        body = {
            "dashboard": model
            | {"id": None, "uid": item.name, "version": version},
            "folderUid": self._folder(item.content[FOLDER]),
            "message": "Copied by mirrorwatch",
            "overwrite": False,
        }
        self._api.ask("POST", "/api/dashboards/db", json=body)

    def _pages(self, path: str, **asked: str) -> Iterator[Mapping[str, Any]]:
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
        # Grafana's versions differ in the title of the top level.
        root = not found["meta"].get("folderUid")
        return from_grafana(found["dashboard"], "" if root else folder)

    def _folder(self, title: str) -> str:
        """Return the uid of a folder, created if it is missing."""
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
        Title of its folder; empty for the top level.
    """
    return Item(
        kind="grafana",
        name=model["uid"],
        title=model["title"],
        content={k: v for k, v in model.items() if k not in OWN}
        | {FOLDER: folder},
        ref=str(model.get("version") or 0),
    )
