"""Dashboards at a site's Grafana."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .http import Api
from .item import Item

__all__ = ["MARK", "Grafana", "from_grafana"]

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
