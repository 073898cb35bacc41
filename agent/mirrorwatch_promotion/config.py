"""`sites.yaml`: sites between which dashboards and rules are copied."""

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
from mirrorwatch.config.types import HttpServer

__all__ = ["OURS", "ServerConfig", "SiteConfig", "SitesConfig"]


OURS = "ours"
"""Name of the dashboards and rules that come with mirrorwatch."""

Filled = Annotated[str, StringConstraints(min_length=1)]


class ServerConfig(HttpServer):
    """Chronograf, Kapacitor or Grafana at one site."""

    token: SecretStr | None = Field(None, title="Token")
    """Bearer token, such as that of a service account of Grafana. Instead of
    user and password."""

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        if self.token is not None and self.username is not None:
            why = "is one way too many; allowed are token, or username and "
            raise ProblemsError([ConfigProblem(("token",), f"{why}password")])
        return self


class SiteConfig(Model):
    """Servers of a site, and values that differ between sites."""

    chronograf: ServerConfig | None = Field(None, title="Chronograf")
    kapacitor: ServerConfig | None = Field(None, title="Kapacitor")
    grafana: ServerConfig | None = Field(None, title="Grafana")

    values: dict[str, Filled] = Field(default_factory=dict, title="Values")
    """Values that differ between sites, by names of your choice. The same
    name at two sites means the same thing."""

    @property
    def secrets(self) -> frozenset[str]:
        """Logins, and values from references or with a secret's name."""
        servers = (self.chronograf, self.kapacitor, self.grafana)
        given = {
            secret.get_secret_value()
            for server in servers
            if server is not None
            for secret in (server.password, server.token)
            if secret is not None
        }
        return frozenset(given) | {
            value
            for name, value in self.values.items()
            if self.is_hidden("values", name)
        }


class SitesConfig(Model):
    """The whole file."""

    sites: dict[str, SiteConfig] = Field(title="Sites", min_length=1)
    """Sites by name. ``ours`` is taken: it is what comes with mirrorwatch."""

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
        if OURS in self.sites:
            why = "is what comes with mirrorwatch; choose another name"
            raise ProblemsError([ConfigProblem(("sites", OURS), why)])
        return self
