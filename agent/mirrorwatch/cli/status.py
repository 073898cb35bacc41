"""`mirrorwatch status`: asks a running agent how replication is."""

import ipaddress
import json
from pathlib import Path
from typing import Any

import click
import httpx
from rich.console import Console

from ..exceptions import WebError
from .status_page import print_status

__all__ = ["command"]

EXIT_UNHEALTHY = 3
"""The agent answered, and not every flow is ok."""

DEFAULT_URL = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 5.0
"""The agent answers in milliseconds; more is a fault worth telling."""

ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""An agent that listens everywhere is asked on loopback."""


@click.command(
    "status",
    epilog="Examples: mirrorwatch status; mirrorwatch status --json; "
    "mirrorwatch status --url http://mirrorwatch.ldf:8080",
)
@click.option(
    "--url",
    metavar="URL",
    help=f"Address of the agent; else from --config, else {DEFAULT_URL}.",
)
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    envvar="MIRRORWATCH_CONFIG",
    show_envvar=True,
    metavar="FILE",
    help="Configuration file of the agent, for its listening address.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print what /api/status says."
)
@click.pass_context
def command(
    ctx: click.Context, url: str | None, file: Path | None, *, as_json: bool
) -> None:
    """Ask a running agent how replication is.

    Exit status 0 if every flow is ok; 3 if any is critical, warning or
    unknown, or is not judged at all, or if the agent's last report is too
    old; 1 if the agent cannot be reached.
    """
    status = _ask(url or _configured_url(file))
    if as_json:
        click.echo(json.dumps(status, indent=2))
    else:
        print_status(status, Console(highlight=False))
    flows = status["flows"]
    if not flows or any(flow["health"] != "ok" for flow in flows):
        ctx.exit(EXIT_UNHEALTHY)


def _configured_url(file: Path | None) -> str:
    """Return where the configured agent listens, as seen from here."""
    if file is None:
        return DEFAULT_URL
    from ..config import Config  # noqa: PLC0415 - half a second, rarely needed

    web = Config.from_file(file).web
    if web.port == 0:
        raise WebError(
            f"{file} lets the agent choose its port (web.listen has port 0): "
            "give the address that it printed with --url"
        )
    host = ANY_ADDRESS.get(web.host, web.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{web.port}"


def _ask(address: str) -> dict[str, Any]:
    """Return the agent's answer.

    Raises
    ------
    WebError
        Raised if there is none.
    """
    try:
        url = httpx.URL(address.rstrip("/") + "/api/status")
    except httpx.InvalidURL as e:
        raise click.BadParameter(
            f"{address!r}: {e}", param_hint="--url"
        ) from e
    if url.scheme not in {"http", "https"} or not url.host:
        raise click.BadParameter(
            "it must begin with http:// or https:// and a host",
            param_hint="--url",
        )
    # A password in the address is for the server, not for the screen.
    shown = str(url.copy_with(username=None, password=None))
    try:
        answer = httpx.get(
            url,
            timeout=PATIENCE_SECONDS,
            # No proxy can lead to this machine.
            trust_env=not _is_loopback(url.host),
        )
    except httpx.HTTPError as e:
        raise WebError(
            f"No agent answers at {shown}: {e or type(e).__name__}. Is it "
            "running (mirrorwatch run)? Its address is web.listen in its "
            "configuration: give that with --config, or another with --url"
        ) from e
    return _read(answer, shown)


def _read(answer: httpx.Response, shown: str) -> dict[str, Any]:
    """Return the status; 503 brings one too, before the first report."""
    try:
        status = answer.json()
    except ValueError:
        status = None
    if (
        answer.status_code not in {200, 503}
        or not isinstance(status, dict)
        or not isinstance(status.get("flows"), list)
    ):
        raise WebError(
            f"What answers at {shown} (HTTP {answer.status_code}) is not a "
            "mirrorwatch agent: give the agent's address with --url"
        )
    return status


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
