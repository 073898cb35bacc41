"""The servers of a site."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mirrorwatch.exceptions import ConfigError

from .bundled_files import bundled_folder
from .chronograf import Chronograf, from_chronograf
from .config import OURS, ServerConfig, SitesConfig
from .exceptions import PromotionError
from .grafana import Grafana, from_grafana
from .http import Api
from .item import Item, Product
from .kapacitor import Kapacitor
from .mapping import ValueMap, make_map

__all__ = ["GROUPS", "OpenSite", "map_between", "open_site"]


LANGUAGES = MappingProxyType(
    {"grafana-influxql": "InfluxQL", "grafana-prometheus": "Prometheus"}
)
"""Folders of Grafana's dashboards: the same titles, for each store."""

STORE = MappingProxyType(
    {"database": "mirrorwatch", "retention_policy": "autogen"}
)
"""Database and retention policy of the bundled dashboards and rules."""

STORE_TEXTS = (
    '"{database}"."{retention_policy}"',
    "var database = '{database}'",
    "var retention_policy = '{retention_policy}'",
)
"""Places of both there. Topic and tags are `mirrorwatch` too, and stay."""

PAGES = MappingProxyType(
    {
        "dashboards": "http://127.0.0.1:8080",
        "alerts": "http://mirrorwatch:8080",
    }
)


class Ours:
    """The bundled files.

    Parameters
    ----------
    group
        ``dashboards`` or ``alerts``: the folder.
    """

    def __init__(self, group: str) -> None:
        self._group = group

    def list(self) -> Sequence[Item]:
        folder = bundled_folder(self._group)
        return [
            *_chronograf(folder / "chronograf"),
            *_grafana(folder),
            *_tasks(folder / "kapacitor"),
        ]

    def put(self, item: Item, replaced: Item | None) -> None:
        raise PromotionError(
            "ours is what comes with mirrorwatch: copy from it"
        )


def _chronograf(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.glob("*.json")):
        yield from_chronograf(json.loads(file.read_text("utf-8")))


def _grafana(folder: Path) -> Iterator[Item]:
    for name, language in LANGUAGES.items():
        for file in sorted((folder / name).glob("*.json")):
            model = json.loads(file.read_text("utf-8"))
            yield from_grafana(model, f"mirrorwatch ({language})")


def _tasks(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.glob("*.tick")):
        content: dict[str, Any] = {
            "type": "stream",
            "status": "enabled",
            "vars": {},
            "script": file.read_text("utf-8"),
        }
        name = file.stem
        yield Item(kind="task", name=name, title=name, content=content)


GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "dashboards": {"chronograf": "chronograf", "grafana": "grafana"},
        "alerts": {
            "template": "kapacitor",
            "task": "kapacitor",
            "handler": "kapacitor",
        },
    }
)
"""Kinds of items of each command, with the product that keeps them, in the
order in which they are copied: a task needs its template."""

PRODUCTS: Mapping[str, Callable[[Api], Product]] = MappingProxyType(
    {"chronograf": Chronograf, "grafana": Grafana, "kapacitor": Kapacitor}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenSite:
    """A site, ready to be asked."""

    name: str
    servers: Mapping[str, Product]
    values: Mapping[str, str]
    secrets: Collection[str] = ()
    apis: Collection[Api] = ()

    def close(self) -> None:
        """Close the connections to its servers."""
        for api in self.apis:
            api.close()

    def list(self, kinds: Collection[str]) -> list[Item]:
        """Return all items of some kinds, in the order of the kinds.

        Raises
        ------
        PromotionError
            Raised if a server cannot be read.
        """
        asked = {id(s): s for k, s in self.servers.items() if k in kinds}
        found = [item for server in asked.values() for item in server.list()]
        order = list(kinds)
        return sorted(
            (item for item in found if item.kind in kinds),
            key=lambda item: (order.index(item.kind), item.title),
        )


def open_site(name: str, sites: SitesConfig, group: str) -> OpenSite:
    """Return a site by its name.

    Parameters
    ----------
    name
        Name in the file, or ``ours``.
    sites
        The sites file.
    group
        ``dashboards`` or ``alerts``.

    Raises
    ------
    ConfigError
        Raised if there is no such site, or if it has no server for these.
    """
    kinds = GROUPS[group]
    if name == OURS:
        return OpenSite(
            name=name,
            servers=dict.fromkeys(kinds, Ours(group)),
            values={"page": PAGES[group]},
        )
    config = sites.sites.get(name)
    if config is None:
        known = ", ".join([*sites.sites, OURS])
        raise ConfigError(f"no site {name!r}; allowed are {known}")
    apis = dict[str, Api]()
    for product in dict.fromkeys(kinds.values()):
        server: ServerConfig | None = getattr(config, product)
        if server is not None:
            apis[product] = Api(name, product, server, config.secrets)
    if not apis:
        needed = " or ".join(dict.fromkeys(kinds.values()))
        raise ConfigError(f"sites.{name}: has no {needed}, where {group} are")
    opened = {product: PRODUCTS[product](api) for product, api in apis.items()}
    return OpenSite(
        name=name,
        servers={
            kind: opened[product]
            for kind, product in kinds.items()
            if product in opened
        },
        values=config.values,
        secrets=config.secrets,
        apis=apis.values(),
    )


def map_between(source: OpenSite, target: OpenSite) -> ValueMap:
    """Return the replacements for copies from one site to another.

    Raises
    ------
    ConfigError
        Raised if one value has two replacements.
    """
    inside = dict[str, str]()
    if source.name == OURS:
        there = {**STORE, **target.values}
        inside = {t.format(**STORE): t.format(**there) for t in STORE_TEXTS}
    return make_map(source.values, target.values, inside)
