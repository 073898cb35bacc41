"""What comes with mirrorwatch, as a site to copy from."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..domain.promotion import Kind, SiteValues
from ..domain.promotion.tokens import tokenize
from ..exceptions import PromotionError
from ..shipped import shipped
from .chronograf import from_chronograf
from .grafana import from_grafana
from .item import Item

__all__ = ["Ours", "our_values"]

DATABASE = "mirrorwatch"
POLICY = "autogen"

LANGUAGES = MappingProxyType(
    {
        "grafana-flux": "Flux",
        "grafana-influxql": "InfluxQL",
        "grafana-prometheus": "Prometheus",
    }
)
"""Folders of Grafana's dashboards: the same titles, for each store."""

PAGES = MappingProxyType(
    {
        "dashboards": "http://127.0.0.1:8080",
        "alerts": "http://mirrorwatch:8080",
    }
)
"""Where links of them lead: to the agent's page."""


def our_values(group: str) -> SiteValues:
    """Return what our own dashboards or rules call things."""
    return {
        Kind.DATABASE: {"mirrorwatch": DATABASE},
        Kind.RETENTION_POLICY: {"mirrorwatch": POLICY},
        Kind.ENDPOINT: {"page": PAGES[group]},
    }


class Ours:
    """The files that are shipped.

    Parameters
    ----------
    group
        ``dashboards`` or ``alerts``: the folder.
    """

    name = "ours"

    def __init__(self, group: str) -> None:
        self._group = group

    def list(self) -> Sequence[Item]:
        folder = shipped(self._group)
        return [
            *_chronograf(folder / "chronograf"),
            *_grafana(folder),
            *_tasks(folder / "kapacitor"),
        ]

    def put(self, item: Item, replaced: Item | None) -> None:
        raise _read_only()

    def delete(self, item: Item) -> None:
        raise _read_only()


def _chronograf(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.rglob("*.json")):
        exported = json.loads(file.read_text("utf-8"))
        # Chronograf's own export has its dashboard inside.
        yield from_chronograf(exported.get("dashboard", exported))


def _grafana(folder: Path) -> Iterator[Item]:
    for name, language in LANGUAGES.items():
        for file in sorted((folder / name).rglob("*.json")):
            model = json.loads(file.read_text("utf-8"))
            yield from_grafana(model, f"mirrorwatch ({language})")


def _tasks(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.rglob("*.tick")):
        script = file.read_text("utf-8")
        words = [token.raw for token in tokenize(script, "tick")]
        content: dict[str, Any] = {
            "type": "batch" if "batch" in words else "stream",
            "status": "enabled",
            "vars": {},
            "script": script,
        }
        if "dbrp" not in words:
            content["dbrps"] = [{"db": DATABASE, "rp": POLICY}]
        name = file.stem
        yield Item(kind="task", name=name, title=name, content=content)


def _read_only() -> PromotionError:
    return PromotionError("ours is what comes with mirrorwatch: copy from it")
