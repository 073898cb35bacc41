"""Where an InfluxDB is and how to be let in: the two versions' ways."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from influxdb_client.client.influxdb_client import InfluxDBClient

from ..exceptions import ConfigError

__all__ = [
    "InfluxDbAccess",
    "open_client",
    "password_access",
    "token_access",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class InfluxDbAccess:
    """How to reach one bucket (2.x), or one retention policy (1.8+)."""

    url: str
    """Address of the server, without anything secret."""

    org: str
    """Organisation; ``-`` where the server knows none."""

    bucket: str
    """Bucket, or ``database/retention policy``."""

    secret: str = field(repr=False)
    """Token, or ``user:password``; empty if none is asked for."""

    basic: bool
    """Whether the secret is a user and a password."""

    login_keys: str
    """Which keys of the configuration say who we are."""

    place_keys: str
    """Which keys of the configuration say where the data goes."""

    ca: Path | None = None
    """Who signs the server's certificate, if no public authority does."""

    def __post_init__(self) -> None:
        # A header cannot carry such; the library's error would show it.
        if not self.secret.isprintable():
            raise ConfigError(
                f"{self.login_keys}: holds a line break or another control "
                "character; write the secret without it"
            )

    def hide(self, text: str) -> str:
        """Return a text without the secret, or any part of it."""
        password = self.secret.partition(":")[2] if self.basic else ""
        for secret in filter(None, (self.secret, password)):
            text = text.replace(secret, "***")
        return text


def open_client(access: InfluxDbAccess) -> InfluxDBClient:
    """Return the library's client; it connects when it is first used.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    try:
        trusted = ssl.create_default_context(cafile=access.ca)
    except OSError as e:
        raise ConfigError(f"sinks.influxdb.ca {access.ca}: {e}") from e
    return InfluxDBClient(
        url=access.url,
        token=access.secret,
        org=access.org,
        auth_basic=access.basic,
        enable_gzip=True,
        ssl_context=trusted,
    )


def token_access(
    *,
    url: str,
    org: str,
    bucket: str,
    token: str,
    ca: Path | None = None,
) -> InfluxDbAccess:
    """Return how to reach InfluxDB 2.x."""
    return InfluxDbAccess(
        url=_without_user(url),
        org=org,
        bucket=bucket,
        secret=token,
        basic=False,
        login_keys="token of sinks.influxdb",
        place_keys="url, org and bucket of sinks.influxdb",
        ca=ca,
    )


def password_access(
    *,
    url: str,
    database: str,
    retention_policy: str | None = None,
    username: str | None = None,
    password: str | None = None,
    ca: Path | None = None,
) -> InfluxDbAccess:
    """Return how to reach InfluxDB 1.8 or later 1.x, Enterprise included.

    Parameters
    ----------
    url
        Address of the server.
    database
        Database, which must exist.
    retention_policy
        Retention policy; `None` for the database's default.
    username
        User; `None` if the server asks for none.
    password
        Password of the user.
    ca
        Who signs the server's certificate, if no public authority does.

    Notes
    -----
    Sent as basic authentication: the form ``Token user:password`` that the
    manual gives cannot carry a password with a blank in it.
    """
    return InfluxDbAccess(
        url=_without_user(url),
        org="-",
        bucket=f"{database}/{retention_policy or ''}",
        secret=f"{username}:{password or ''}" if username else "",
        basic=bool(username),
        login_keys="username and password of sinks.influxdb",
        place_keys="url, database and retention_policy of sinks.influxdb",
        ca=ca,
    )


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigError(
            "sinks.influxdb.url: must not hold a user or a password; give "
            "them under their own keys"
        )
    return urlunsplit(parts)
