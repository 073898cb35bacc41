"""Opens the servers of a site."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

from mirrorwatch.bundled_files import bundled_folder
from mirrorwatch.exceptions import ConfigError

from .chronograf import Chronograf, from_chronograf
from .config import OURS, ServerConfig, SiteConfig, SitesConfig
from .exceptions import PromotionError
from .grafana import Grafana, from_grafana
from .http import Api
from .item import Item, Product
from .kapacitor import Kapacitor
from .queries import tokenize
from .values import SiteValues, Translation, ValueKind

__all__ = ["GROUPS", "OpenSite", "open_site", "translation"]


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
        ValueKind.DATABASE: {"mirrorwatch": DATABASE},
        ValueKind.RETENTION_POLICY: {"mirrorwatch": POLICY},
        ValueKind.ENDPOINT: {"page": PAGES[group]},
    }


INSTALLED = Path(__file__).parent / "share"
"""Where the wheel puts them (``force-include`` in pyproject.toml)."""


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
        folder = bundled_folder(self._group, installed=INSTALLED)
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
    """Its name in the file."""

    servers: Mapping[str, Product]
    """Its servers by the kinds that they keep."""

    values: SiteValues
    """What is called differently there."""

    secrets: Collection[str]
    """What must not be shown."""

    hosts: Collection[str] = ()
    """Hosts of its servers."""

    apis: Collection[Api] = ()
    """The connections to its servers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for api in self.apis:
            api.close()

    def list(self, kinds: Collection[str]) -> list[Item]:
        """Return all items of some kinds, in the order of the kinds.

        Raises
        ------
        PromotionError
            Raised if a server cannot be read.
        """
        asked: dict[int, Product] = {
            id(server): server
            for kind, server in self.servers.items()
            if kind in kinds
        }
        found = [i for s in asked.values() for i in s.list()]
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
        What the file says.
    group
        ``dashboards`` or ``alerts``.

    Raises
    ------
    ConfigError
        Raised if there is no such site, or if it has no server for these.
    """
    config = sites.sites.get(name)
    if name == OURS:
        config = config or SiteConfig()
        values = {
            kind: {**our_values(group).get(kind, {}), **given}
            for kind, given in config.values.to_domain().items()
        }
        ours = Ours(group)
        return OpenSite(
            name=name,
            servers=dict.fromkeys(GROUPS[group], ours),
            values=values,
            secrets=config.secrets,
        )
    if config is None:
        known = ", ".join([*sites.sites, *({OURS} - set(sites.sites))])
        raise ConfigError(f"no site {name!r}; allowed are {known}")
    opened: dict[str, Product] = {}
    apis, hosts = [], set[str]()
    for product in dict.fromkeys(GROUPS[group].values()):
        server: ServerConfig | None = getattr(config, product)
        if server is not None:
            api = Api(name, product, server, config.secrets)
            hosts.add(urlsplit(server.url).hostname or "")
            apis.append(api)
            opened[product] = PRODUCTS[product](api)
    if not opened:
        needed = " or ".join(dict.fromkeys(GROUPS[group].values()))
        raise ConfigError(f"sites.{name}: has no {needed}, where {group} are")
    return OpenSite(
        name=name,
        servers={
            kind: opened[product]
            for kind, product in GROUPS[group].items()
            if product in opened
        },
        values=config.values.to_domain(),
        secrets=config.secrets,
        hosts=hosts,
        apis=apis,
    )


def translation(
    source: OpenSite, target: OpenSite, sites: SitesConfig
) -> Translation:
    """Return how the values of one site are called at another."""
    return Translation(
        source.values, target.values, sites.everywhere.to_domain()
    )
