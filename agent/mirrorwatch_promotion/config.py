"""`sites.yaml`: sites between which dashboards and rules are copied."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from mirrorwatch.config.base import (
    ConfigProblem,
    Model,
    ProblemsError,
    load,
    read_document,
)
from mirrorwatch.config.types import HttpServer, HttpUrl

from .values import EVERYWHERE, SiteValues, ValueKind

__all__ = ["OURS", "ServerConfig", "SiteConfig", "SitesConfig", "ValuesConfig"]


OURS = "ours"
"""The site that everybody has: what comes with mirrorwatch."""

Filled = Annotated[str, StringConstraints(min_length=1)]

SiteName = Annotated[str, StringConstraints(pattern=r"^[\w.-]+$")]
"""A name that can be part of a file's."""


class ServerConfig(HttpServer):
    """Chronograf, Kapacitor or Grafana at one site."""

    url: HttpUrl = Field(title="Address")
    """Address of its HTTP API."""

    token: SecretStr | None = Field(None, title="Token")
    """Sent as bearer: a service account's of Grafana, for one. Instead of
    user and password."""

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        if self.token is not None and self.username is not None:
            why = "is one way too many; allowed are token, or username and "
            raise ProblemsError([ConfigProblem(("token",), f"{why}password")])
        return self


class ValuesConfig(Model):
    """What is called differently at each site, by names of your choice.

    The same name at two sites stands for the same thing.
    """

    databases: dict[str, Filled] = Field(
        default_factory=dict, title="Databases and buckets"
    )
    """InfluxDB databases, and buckets of 2.x."""

    retention_policies: dict[str, Filled] = Field(
        default_factory=dict, title="Retention policies"
    )
    """Retention policies of InfluxDB 1.x."""

    sources: dict[str, Filled] = Field(
        default_factory=dict, title="Chronograf's sources"
    )
    """Ids of InfluxDB sources, as in the addresses of Chronograf's pages."""

    datasources: dict[str, Filled] = Field(
        default_factory=dict, title="Grafana's data sources"
    )
    """Their uids."""

    topic_prefixes: dict[str, Filled] = Field(
        default_factory=dict, title="Prefixes of topics"
    )
    """How names of measurements, topics and alert topics begin. Where a site
    has no prefix, give what all names begin with: ``lsst.`` here,
    ``summit.lsst.`` there."""

    handlers: dict[str, Filled] = Field(default_factory=dict, title="Handlers")
    """Whom alerts reach: channels, addresses, keys."""

    endpoints: dict[str, Filled] = Field(
        default_factory=dict, title="Endpoints"
    )
    """URLs, or their beginnings, and names of hosts."""

    def to_domain(self) -> SiteValues:
        """Return the values by their kinds."""
        found: dict[ValueKind, Mapping[str, str]] = {
            kind: getattr(self, kind.value) for kind in ValueKind
        }
        # With or without a slash at the end is the same server.
        found[ValueKind.ENDPOINT] = {
            k: v.rstrip("/") for k, v in self.endpoints.items()
        }
        return found

    @property
    def hidden(self) -> frozenset[str]:
        """Values that came from references, and must not be shown."""
        return frozenset(
            value
            for kind in ValueKind
            if self.is_hidden(kind.value)
            for value in getattr(self, kind.value).values()
        )


class EverywhereConfig(Model):
    """Values that are the same at every site."""

    databases: frozenset[Filled] = Field(frozenset(), title="Databases")
    retention_policies: frozenset[Filled] = Field(
        frozenset(), title="Retention policies"
    )
    sources: frozenset[Filled] = Field(frozenset(), title="Sources")
    datasources: frozenset[Filled] = Field(frozenset(), title="Data sources")
    handlers: frozenset[Filled] = Field(frozenset(), title="Handlers")
    endpoints: frozenset[Filled] = Field(frozenset(), title="Endpoints")

    def to_domain(self) -> Mapping[ValueKind, frozenset[str]]:
        """Return the values by their kinds, the products' own included."""
        return {
            kind: EVERYWHERE.get(kind, frozenset())
            | frozenset(
                value.rstrip("/") if kind is ValueKind.ENDPOINT else value
                for value in getattr(self, kind.value, ())
            )
            for kind in ValueKind
        }


class SiteConfig(Model):
    """One site."""

    chronograf: ServerConfig | None = Field(None, title="Chronograf")
    kapacitor: ServerConfig | None = Field(None, title="Kapacitor")
    grafana: ServerConfig | None = Field(None, title="Grafana")

    values: ValuesConfig = Field(default_factory=ValuesConfig, title="Values")
    """What is called differently there."""

    @property
    def secrets(self) -> frozenset[str]:
        """What must never be shown."""
        servers = (self.chronograf, self.kapacitor, self.grafana)
        given = {
            secret.get_secret_value()
            for server in servers
            if server is not None
            for secret in (server.password, server.token)
            if secret is not None
        }
        return self.values.hidden | given


class SitesConfig(Model):
    """The whole file."""

    sites: dict[SiteName, SiteConfig] = Field(title="Sites", min_length=1)
    """Sites by name. ``ours`` is taken: it is what comes with
    mirrorwatch, for ``--from``; its values can be named here."""

    everywhere: EverywhereConfig = Field(
        default_factory=EverywhereConfig, title="The same everywhere"
    )
    """What no site calls differently."""

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Load the sites.

        Raises
        ------
        ConfigError
            Raised if the file cannot be used, with all its problems.
        """
        document = read_document(path)
        if document.data is None:
            raise document.to_error(
                [ConfigProblem((), "is empty; needed are sites")]
            )
        return load(cls, document, lambda _: ())

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        ours = self.sites.get(OURS)
        if ours and (ours.chronograf or ours.kapacitor or ours.grafana):
            why = "has no servers: it is what comes with mirrorwatch; allowed"
            raise ProblemsError(
                [ConfigProblem(("sites", OURS), f"{why} are values")]
            )
        return self
