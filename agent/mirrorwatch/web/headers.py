"""Headers that keep the page to itself."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SecurityHeaders"]

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For reports of audits: one file that holds its own style, and no script
whatever a topic is called."""

HEADERS = {
    # Everything comes from the agent: no site can be told who looks at it,
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


class SecurityHeaders:
    """Adds the headers to every response.

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
