"""Addresses: URLs without secrets in them, and where to listen."""

import re
import stat
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .base import NEVER_SHOWN, ConfigProblem, Model, ProblemsError

__all__ = [
    "BcryptHash",
    "FilePath",
    "HostName",
    "HttpServer",
    "HttpUrl",
    "ListenAddress",
    "PemFile",
    "Share",
    "TokenHash",
    "UserName",
    "find_file_fault",
]


PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%", re.ASCII)
"""A share; a bare number could be a part of 1 or of 100."""

LISTEN = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
"""``HOST:PORT``; an IPv6 address stands in brackets."""


def _check_url(url: str) -> str:
    """Check an address of HTTP.

    User and password in an address would reach logs and process lists.
    """
    if "@" in url or "?" in url or "#" in url:
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must hold no user, password, query or fragment; "
            "secrets have keys of their own",
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.hostname
        _ = parts.port  # reading it checks it
    except ValueError:
        usable = None
    if not usable:
        raise PydanticCustomError(
            "address", "must be an address such as http://host:port/path"
        )
    return url.rstrip("/")


def _check_listen(address: Any) -> str:
    # A bare port is a number to YAML.
    match = LISTEN.fullmatch(str(address))
    if match is None or int(match["port"]) > 65535:
        raise PydanticCustomError(
            "address", "must be HOST:PORT, such as 127.0.0.1:8080 or [::]:80"
        )
    return match[0]


BCRYPT = re.compile(r"\$2[aby]\$(?P<cost>\d\d)\$[./A-Za-z0-9]{53}")
"""A hash as ``htpasswd -B`` writes it."""

LOWEST_COST, HIGHEST_COST = 4, 15
"""Of bcrypt: less is not bcrypt, more takes seconds for each password."""


def _check_bcrypt(value: SecretStr) -> SecretStr:
    match = BCRYPT.fullmatch(value.get_secret_value())
    if match is None:
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must be a bcrypt hash, which begins with $2y$, $2b$ or $2a$: "
            "htpasswd -nBC 10 USER makes one",
        )
    if not LOWEST_COST <= int(match["cost"]) <= HIGHEST_COST:
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must be a bcrypt hash of a cost from 4 to 15: "
            "htpasswd -nBC 10 USER makes one",
        )
    return value


def _check_token_hash(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[0-9a-f]{64}", value.get_secret_value()):
        raise PydanticCustomError(
            NEVER_SHOWN,
            "must be the SHA-256 of the token, 64 hexadecimal digits in lower "
            "case: printf %s TOKEN | sha256sum",
        )
    return value


def _check_user(name: str) -> str:
    if not name or ":" in name or not name.isprintable():
        raise PydanticCustomError(
            NEVER_SHOWN, "a user's name has no colon and no control character"
        )
    return name


UserName = Annotated[str, AfterValidator(_check_user)]
"""User of basic authentication."""

BcryptHash = Annotated[SecretStr, AfterValidator(_check_bcrypt)]
"""Hash of a password."""

TokenHash = Annotated[SecretStr, AfterValidator(_check_token_hash)]
"""Hash of a token."""

HttpUrl = Annotated[str, AfterValidator(_check_url)]
"""Address of an HTTP server, without a slash at the end."""

HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$")]
"""Name of a host, without scheme and port."""

ListenAddress = Annotated[str, BeforeValidator(_check_listen)]
"""Address to listen on."""

MOST_PEM_BYTES = 10 * 1024 * 1024
"""The public CAs of a system have 250 kB."""


def find_file_fault(path: str | Path) -> str | None:
    """Return what is wrong with a file that a library will read, if anything.

    A pipe or a device would never end. A file that is not there yet is left
    to who reads it.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return "must be a regular file; copy it to one"
    if status.st_size > MOST_PEM_BYTES:
        return "is too large; a file of certificates or keys is smaller"
    return None


def _check_file(path: Path) -> Path:
    fault = find_file_fault(path)
    if fault is not None:
        raise PydanticCustomError("file", "{fault}", {"fault": fault})
    return path


def _check_path(value: Any) -> Any:
    """Check what a path is made of, which drops a slash of an address."""
    if isinstance(value, str) and "://" in value:
        raise PydanticCustomError(
            NEVER_SHOWN, "must be the path of a file, not an address"
        )
    return value


FilePath = Annotated[Path, BeforeValidator(_check_path)]
"""Path of a file."""

PemFile = Annotated[FilePath, AfterValidator(_check_file)]
"""File of certificates."""


class Share(float):
    """A part of a whole, written in percent: ``10%``."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{100 * float(self):g}%"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            cls._parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{PERCENT.pattern}$"}

    @classmethod
    def _parse(cls, value: Any) -> Self:
        if isinstance(value, cls):
            return value
        match = PERCENT.fullmatch(value) if isinstance(value, str) else None
        if match is None or not 0 <= float(match[1]) <= 100:
            raise PydanticCustomError(
                "share", "not a share; allowed are 0% to 100%, such as 10%"
            )
        return cls(float(match[1]) / 100)


class HttpServer(Model):
    """An HTTP server and its login."""

    url: HttpUrl = Field(title="URL")
    """URL of the server."""

    username: str | None = Field(None, title="User name")
    """User name for basic authentication."""

    password: SecretStr | None = Field(None, title="Password")
    """Password of that user."""

    ca: PemFile | None = Field(None, title="CA certificate")
    """PEM file with the CA that signed the server's certificate. Default: the
    public CAs."""

    @model_validator(mode="after")
    def _check_login(self) -> Self:
        if (self.username is None) != (self.password is None):
            missing = "password" if self.password is None else "username"
            raise ProblemsError(
                [
                    ConfigProblem(
                        (missing,),
                        "is missing; username and password go together",
                    )
                ]
            )
        return self
