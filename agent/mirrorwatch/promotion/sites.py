"""Opens the servers of a site."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self
from urllib.parse import urlsplit

from ..config.sites import OURS, ServerConfig, SiteConfig, SitesConfig
from ..domain.promotion import SiteValues, Translation
from ..exceptions import ConfigError
from .chronograf import Chronograf
from .grafana import Grafana
from .http import Api
from .item import Item, Product
from .kapacitor import Kapacitor
from .ours import Ours, our_values

__all__ = ["GROUPS", "OpenSite", "open_site", "translation"]

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
