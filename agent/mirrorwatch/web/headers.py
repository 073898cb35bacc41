"""Headers of every answer, and host names that are answered."""

import ipaddress
import sys
from collections.abc import Collection
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..secrets import hide_in
from .login import Credentials, Login

__all__ = [
    "HEADERS",
    "JsonAnswer",
    "protected",
    "takes_gzip",
]

SMALL = 1024
"""Bytes of an answer below which compressing it gains nothing."""

COMPRESSION = 1
"""Level of gzip: JSON shrinks to a fifth at the least one already, in half the
time that the usual one takes."""

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For reports of audits: one file that holds its own style, and no script
whatever a topic is called."""

HEADERS = {
    # Everything comes from the agent: no site learns who looks at it,
    # and what a broker answers can never run as a script.
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

STATIC_CACHING = "no-cache"
"""Asked again every time (a small answer when unchanged), so that a page
never runs an older agent's scripts."""


class JsonAnswer(JSONResponse):
    """A JSON document, without what the configuration hides."""

    def render(self, content: Any) -> bytes:
        return super().render(hide_in(content))


def protected(
    app: ASGIApp,
    hosts: Collection[str] | None,
    credentials: Credentials | None = None,
    path: str = "",
) -> ASGIApp:
    """Return an application whose answers are compressed and bear the headers.

    Parameters
    ----------
    app
        Application that makes the answers.
    hosts
        Host names for which there are answers, `None` for every one.
    credentials
        Of those who may read the answers; `None` if everybody may.
    path
        Path of the page behind a proxy, such as ``/mirrorwatch``.
    """
    # Not in a thread: that takes longer than the ten milliseconds it saves
    # others, and clients that do not read could push the request out.
    app = Compressing(app, SMALL, COMPRESSION, thread_minimum_size=sys.maxsize)
    if credentials is not None:
        app = Login(app, credentials)
    app = SecurityHeaders(app if hosts is None else AllowedHosts(app, hosts))
    return UnderPath(app, path) if path else app


def takes_gzip(accepted: str) -> bool:
    """Return whether a client reads gzip, by its ``Accept-Encoding``.

    Its own weight counts before that of ``*``; a weight of 0 refuses it.
    """
    weights = dict(map(_weight, accepted.split(",")))
    for name in ("gzip", "x-gzip", "*"):
        if name in weights:
            return weights[name] > 0
    return False


def _weight(accepted: str) -> tuple[str, float]:
    name, *parameters = accepted.lower().split(";")
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name.strip(), float(value)
            except ValueError:
                return name.strip(), 0.0
    return name.strip(), 1.0


class UnderPath:
    """Answers below a path too, whether the proxy before it strips it or not.

    Parameters
    ----------
    app
        Application for the rest of the path. All its links are relative.
    path
        The path, without a slash at the end.
    """

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        asked = scope["path"]
        app: ASGIApp = self._app
        if asked == self._path:
            app = RedirectResponse(f"{self._path}/")
        elif asked.startswith(f"{self._path}/"):
            scope = {**scope, "path": asked.removeprefix(self._path)}
        await app(scope, receive, send)


class Compressing(GZipMiddleware):
    """Compresses answers for those who read gzip, and for nobody else.

    The library looks for the word alone, and so compresses for clients that
    refuse it by ``gzip;q=0``.
    """

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        accepted = Headers(scope=scope).get("accept-encoding", "")
        means = b"gzip" if takes_gzip(accepted) else b"identity"
        others = [h for h in scope["headers"] if h[0] != b"accept-encoding"]
        plain = {**scope, "headers": [*others, (b"accept-encoding", means)]}
        await super().__call__(plain, receive, send)


class SecurityHeaders:
    """Adds the headers to every response, errors included.

    Parameters
    ----------
    app
        Application that makes the responses.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/audit/"):
                    headers["Content-Security-Policy"] = REPORT_POLICY
                static = scope["path"].startswith("/static/")
                headers["Cache-Control"] = (
                    STATIC_CACHING if static else "no-store"
                )
            await send(message)

        await self._app(scope, receive, send_with_headers)


class AllowedHosts:
    """Refuses requests for host names that are not the agent's.

    Parameters
    ----------
    app
        Application for the others.
    names
        Host names, lower case.

    Notes
    -----
    A stranger's page can have its own name resolved to the agent's address,
    and then read what the agent answers (DNS rebinding). It needs a name for
    that, so addresses are allowed.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = frozenset(names)

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send
    ) -> None:
        host = _host_of(Headers(scope=scope).get("host", ""))
        if host in self._names or _is_address(host):
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse(
            "This host name is not allowed. If it is mirrorwatch's, add it "
            "to web.hosts in the configuration",
            status_code=421,
        )
        await refused(scope, receive, send)


def _host_of(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0].lower() or header.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return not host  # HTTP/1.0 needs no host, and no browser speaks it
    return True
