"""The blocks `web`, `sinks`, `state` and `audit`."""

import ipaddress
import os
import socket
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .base import (
    NEVER_SHOWN,
    ConfigProblem,
    Duration,
    Model,
    ProblemsError,
)
from .types import (
    BcryptHash,
    FilePath,
    HostName,
    HttpUrl,
    ListenAddress,
    PemFile,
    TokenHash,
    UserName,
)

__all__ = [
    "InfluxDBConfig",
    "NotifyConfig",
    "ReceiverConfig",
    "SinksConfig",
    "StateConfig",
    "WebConfig",
    "WebTLSConfig",
    "default_state",
]


FORMS = {
    "2.x": ("org", "bucket", "token"),
    "1.x": ("database", "retention_policy", "username", "password"),
}
"""Keys that belong to each generation of InfluxDB."""


class InfluxDBConfig(Model):
    """An InfluxDB server: 2.x with a token, or 1.8 with a database."""

    url: HttpUrl = Field(title="URL")
    """URL of the server."""

    org: str | None = Field(None, title="Organization (2.x)", min_length=1)
    """Name or id of the organization."""

    bucket: str | None = Field(None, title="Bucket (2.x)", min_length=1)
    """Bucket for the points. It must exist: see [InfluxDB](influxdb.md)."""

    token: SecretStr | None = Field(None, title="Token (2.x)")
    """Token with write permission for the bucket."""

    database: str | None = Field(None, title="Database (1.8)", min_length=1)
    """Database for the points. It must exist: see [InfluxDB](influxdb.md)."""

    retention_policy: str | None = Field(None, title="Retention policy (1.8)")
    """Retention policy for the points. Default: the default one of the
    database."""

    username: str | None = Field(None, title="User name (1.8)")
    """User with write permission for the database, if the server requires a
    login."""

    password: SecretStr | None = Field(None, title="Password (1.8)")
    """Password of that user."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the server's certificate. Default: the
    public CAs."""

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        given = {
            form: [key for key in keys if getattr(self, key) is not None]
            for form, keys in FORMS.items()
        }
        if given["1.x"] and given["2.x"]:
            raise ProblemsError(
                [
                    ConfigProblem(
                        (),
                        f"mixes keys of 2.x ({', '.join(given['2.x'])}) and "
                        f"of 1.x ({', '.join(given['1.x'])}); allowed are "
                        "the keys of one",
                    )
                ]
            )
        needed = ["org", "bucket", "token"]
        if given["1.x"]:
            needed = ["database"]
            if self.username is not None or self.password is not None:
                needed += ["username", "password"]
        missing = [key for key in needed if getattr(self, key) is None]
        if missing:
            raise ProblemsError(
                [
                    ConfigProblem(
                        (key,),
                        "is missing; needed are org, bucket and token (2.x), "
                        "or database, and username with password (1.x)",
                    )
                    for key in missing
                ]
            )
        return self


def _check_url(url: SecretStr) -> SecretStr:
    try:
        parts = urlsplit(url.get_secret_value())
        usable = parts.scheme and parts.netloc
    except ValueError:
        usable = None
    if not usable or not _is_clean(url):
        raise _no_address()
    return url


def _check_webhook(url: SecretStr) -> None:
    """Refuse what Apprise may know, and no browser."""
    try:
        parts = urlsplit(url.get_secret_value())
        usable = parts.scheme in {"http", "https"} and parts.hostname
        _ = parts.port  # reading it checks it
    except ValueError:
        usable = None
    if not usable:
        raise _no_address()


def _no_address() -> PydanticCustomError:
    return PydanticCustomError(
        NEVER_SHOWN,
        "must be an address such as https://hooks.example.org/path; "
        "yours is not shown, as it may hold a secret",
    )


def _check_header(value: SecretStr) -> SecretStr:
    if not _is_clean(value):
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must hold no line break or other character that no header can "
            "carry; yours is not shown",
        )
    return value


def _is_clean(value: SecretStr) -> bool:
    text = value.get_secret_value()
    return text.isascii() and text.isprintable() and text == text.strip()


class ReceiverConfig(Model):
    """A receiver of notifications."""

    shown_to_all = frozenset({"name"})

    name: str = Field(title="Name", min_length=1)
    """Name of the receiver in the log. Its URL is never logged."""

    kind: Literal["slack", "webhook", "apprise"] = Field(title="Format")
    """`slack` for Slack, Mattermost and Rocket.Chat; `webhook` for programs,
    which get the JSON described in [notifications](notifications.md);
    `apprise` for PagerDuty, Opsgenie, Teams, e-mail and the other services of
    Apprise (extra `apprise`)."""

    url: Annotated[SecretStr, AfterValidator(_check_url)] = Field(title="URL")
    """URL of the webhook, or Apprise's URL of the service. Handled as a
    secret, because anyone who knows it can post there."""

    authorization: (
        Annotated[SecretStr, AfterValidator(_check_header)] | None
    ) = Field(None, title="Authorization")
    """Value of the HTTP header `Authorization`, such as `Bearer
    ${env:TOKEN}`."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the server's certificate. Default: the
    public CAs."""

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if self.kind != "apprise":
            _check_webhook(self.url)
            return self
        if self.authorization or self.ca:
            raise ValueError(
                "authorization and ca are for slack and webhook; Apprise's "
                "url holds what the service needs"
            )
        return self


class NotifyConfig(Model):
    """Notifications when a flow fails or recovers.

    Not needed at sites that alert through Prometheus or Kapacitor.
    """

    receivers: tuple[ReceiverConfig, ...] = Field(
        title="Receivers", min_length=1
    )
    """Each receiver gets every notification, independently of the others."""

    minimum: Literal["warning", "critical"] = Field(
        "warning", title="Minimum severity"
    )
    """Less severe states are not notified. `unknown` is always notified,
    because it may hide any problem."""

    hold: Duration = Field(
        timedelta(seconds=30),
        title="Hold time",
        ge=timedelta(),
        le=timedelta(days=1),
    )
    """Hold time of a status (worse than last notified, or ok again) before it
    is notified. Long enough to ignore a problem that resolves by itself, short
    compared with the time until somebody responds."""

    remind: Duration = Field(
        timedelta(hours=4), title="Reminder interval", ge=timedelta()
    )
    """Interval between reminders while a flow is critical. The default is
    twice in a shift. `0s` disables reminders."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        counts = Counter(receiver.name for receiver in self.receivers)
        problems = [
            ConfigProblem(
                ("receivers", index, "name"),
                "is the name of another receiver too; names must differ",
            )
            for index, receiver in enumerate(self.receivers)
            if counts[receiver.name] > 1
        ]
        if problems:
            raise ProblemsError(problems)
        return self


EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - distinguished, not listened on
"""Hosts that mean every address of the machine, and lead nowhere."""


class WebTLSConfig(Model):
    """TLS of the page, as in Prometheus's web configuration file.

    The files are read again when they change, so a renewed certificate needs
    no restart.
    """

    cert_file: PemFile = Field(title="Certificate")
    """PEM file of the certificate, followed by those of its chain."""

    key_file: PemFile = Field(title="Key")
    """PEM file of its key, without a password."""

    client_ca_file: PemFile | None = Field(None, title="CA of clients")
    """PEM file of the CAs whose clients may connect: those without a
    certificate of theirs are refused. Kubernetes' probes have none."""


class WebConfig(Model):
    """The status page, the API and `/metrics`."""

    shown_to_all = frozenset({"url"})

    listen: ListenAddress = Field("127.0.0.1:8080", title="Listen address")
    """`HOST:PORT`. The default is the loopback address, because the page has
    no login unless one is configured. Port 0 selects a free port."""

    url: HttpUrl | None = Field(
        None,
        title="External URL",
        json_schema_extra={"default_text": "made of `listen`"},
    )
    """URL under which users reach the page, such as
    `https://mirrorwatch.example.org` or `https://example.org/mirrorwatch`, if
    it is behind a proxy. Used for links in alerts and notifications;
    everything is answered below its path too. Default: the listen address, or
    the hostname of this machine if the page listens on all addresses."""

    hosts: tuple[HostName, ...] = Field(
        (),
        title="Allowed host names",
        json_schema_extra={"default_text": "see below"},
    )
    """Host names by which browsers and Prometheus may ask for the page; IP
    addresses, `localhost` and the host of `web.url` are always allowed.
    Default: no other name if the page listens on loopback, any name if it
    listens on another address. Set it if a page of a stranger must not read
    the status through a visitor's browser (DNS rebinding)."""

    tls_server_config: WebTLSConfig | None = Field(None, title="TLS")
    """Certificate and key of the page. Without them it is served by HTTP."""

    basic_auth_users: dict[UserName, BcryptHash] | None = Field(
        None, title="Users", min_length=1
    )
    """bcrypt hashes of passwords, by user, as `htpasswd -nBC 10 USER` makes
    them. Set it, or `bearer_tokens`, and nobody reads the page, the API or
    `/metrics` without a login. `/healthz` and `/readyz` then say their status
    to everybody, and no more."""

    bearer_tokens: dict[str, TokenHash] | None = Field(
        None, title="Tokens", min_length=1
    )
    """SHA-256 of tokens that are accepted as `Authorization: Bearer TOKEN`, by
    a name of your choice. Make tokens with `openssl rand -hex 32`, as a word
    that people can remember is found from such a hash, and hashes with
    `printf %s TOKEN | sha256sum`. Browsers do not send tokens."""

    topics_in_metrics: int | None = Field(
        None,
        title="Topics in /metrics",
        ge=0,
        le=100_000,
        json_schema_extra={"default_text": "all"},
    )
    """Number of topics per flow with their own series in `/metrics`. Lag is
    then shown for the topics with the highest lag, and for the one that is
    next to lose records; counters for those that were first to count anything.
    The others are counted in the series with an empty `topic`, so no increase
    is missed; counters then begin at zero with the agent. The page, the API
    and other sinks always have all topics."""

    @property
    def has_login(self) -> bool:
        """Return whether login is required."""
        clients = self.tls_server_config
        return bool(
            self.basic_auth_users
            or self.bearer_tokens
            or (clients and clients.client_ca_file)
        )

    @property
    def scheme(self) -> str:
        """URL scheme of the page."""
        return "http" if self.tls_server_config is None else "https"

    @property
    def allowed_hosts(self) -> frozenset[str] | None:
        """Host names for which there are answers; `None` for every one."""
        if not self.hosts and not self.is_loopback:
            return None
        own = {"localhost", self.host.lower()}
        if self.url is not None:
            own.add(urlsplit(self.url).hostname or "")
        return frozenset(own | {name.lower() for name in self.hosts})

    @property
    def is_loopback(self) -> bool:
        """Return whether the page is on loopback."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @property
    def address(self) -> str:
        """Address of the page in links, without a slash at the end."""
        if self.url is not None:
            return self.url
        unknown = self.host in EVERYWHERE or self.is_hidden("listen")
        name = socket.gethostname() if unknown else self.host
        name = f"[{name}]" if ":" in name else name
        return f"{self.scheme}://{name}:{self.port}"

    @property
    def host(self) -> str:
        """Host to bind."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Port to bind; 0 for a free one."""
        return int(self.listen.rpartition(":")[2])


class SinksConfig(Model):
    """Sinks for reports, in addition to page, `/metrics` and log."""

    influxdb: InfluxDBConfig | None = Field(None, title="InfluxDB")
    """Points of every report, queued while the server is unavailable."""

    notify: NotifyConfig | None = Field(None, title="Notifications")
    """Messages to people when a flow fails and when it recovers."""


def default_state() -> Path:
    """Return where the state file is unless configured."""
    base = os.environ.get("XDG_STATE_HOME")
    home = Path(base) if base else Path.home() / ".local" / "state"
    return home / "mirrorwatch" / "state.db"


def _check_state(path: Path) -> Path:
    if path.exists() and not path.is_file():
        raise PydanticCustomError(
            "state", "must be a regular file, or one that does not exist yet"
        )
    return path


class StateConfig(Model):
    """Storage of the agent's state across restarts."""

    path: Annotated[FilePath, AfterValidator(_check_state)] = Field(
        default_factory=default_state,
        title="State file",
        json_schema_extra={
            "default_text": "`$XDG_STATE_HOME/mirrorwatch/state.db`"
        },
    )
    """SQLite file, created if it does not exist. The default is a directory of
    the user, because it needs no root permissions; in a container, use a
    volume. `XDG_STATE_HOME` defaults to `~/.local/state`."""
