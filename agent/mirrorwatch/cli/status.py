"""`mirrorwatch status`: prints the verdicts of a running agent."""

import base64
import ipaddress
import json
import ssl
from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import click
import httpx
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..domain.report import counted
from ..exceptions import WebError
from ..http import bounded_client

__all__ = ["plain", "print_status"]


SIGNS = {
    "ok": ("✓", "green"),
    "unknown": ("?", "magenta"),
    "warning": ("!", "yellow"),
    "critical": ("✗", "bold red"),
    "off": ("-", "dim"),
}
"""A sign beside each colour, as terminals and eyes differ."""

SEVERITY = ("critical", "warning", "unknown", "ok", "off")
BAD = SEVERITY[:3]
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def print_status(status: Mapping[str, Any], console: Console) -> None:
    """Print the document of ``/api/status``.

    Parameters
    ----------
    status
        The document.
    console
        Where to print it.
    """
    agent = status.get("agent", {})
    if status.get("at") is None:
        console.print(
            Text("The agent has no report yet: try again in a moment")
        )
        return
    if agent.get("status") == "stale":
        age = _duration(agent.get("age_seconds"))
        console.print(
            Text(
                f"! The last report is {age} old: nothing below can be "
                "trusted. See the agent's log",
                style="bold yellow",
            )
        )
    for problem in agent.get("problems", ()):
        console.print(Text(f"! {plain(problem)}", style="bold yellow"))
    now = datetime.fromisoformat(agent.get("now") or status["at"])
    windows = {w["flow"]: w for w in status.get("maintenance", ())}
    for flow in status["flows"]:
        _print_flow(flow, windows.get(flow["name"]), now, console)


def _print_flow(
    flow: Mapping[str, Any],
    window: Mapping[str, Any] | None,
    now: datetime,
    console: Console,
) -> None:
    line = Text.assemble(
        _health(flow["health"]), "  ", (plain(flow["name"]), "bold")
    )
    ends = flow["source"], flow["target"]
    if flow["name"] != "->".join(ends):
        line.append(plain(f"  {' → '.join(ends)}"), style="dim")
    console.print(line)
    lost = flow.get("lost") or {}
    if lost.get("title") is not None:
        text = f"  ✗ {lost['title']}: {lost['detail']}"
        console.print(Text(plain(text), style="bold red"))
    if window is not None:
        until = datetime.fromisoformat(window["until"])
        left = _duration((until - now) / timedelta(seconds=1))
        text = f"  in maintenance for {left} more: {plain(window['reason'])}"
        console.print(Text(text, style="bold yellow"))
    if (cause := flow.get("cause")) is not None:
        text = f"  cause: {cause['part']}. {cause['reason']}"
        console.print(Text(plain(text), style="bold"))
    canary = _canary(flow.get("canary"))
    if canary:
        console.print(Text(f"  {canary}"))
    recovery = _recovery(flow, now)
    if recovery:
        console.print(Text(f"  {recovery}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("  check", header_style="dim", no_wrap=True)
    table.add_column("health", header_style="dim", no_wrap=True)
    table.add_column("for", header_style="dim", no_wrap=True)
    table.add_column("reason", header_style="dim", overflow="fold")
    verdicts = sorted(
        flow["verdicts"], key=lambda v: SEVERITY.index(v["health"])
    )
    for verdict in verdicts:
        since = now - datetime.fromisoformat(verdict["since"])
        bad = [f for f in verdict["findings"] if f["health"] in BAD]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        table.add_row(
            Text(f"  {plain(verdict['check'])}"),
            _health(verdict["health"]),
            Text(_duration(since / timedelta(seconds=1))),
            Text(
                plain(verdict["reason"]) + more,
                style="dim" if verdict["health"] == "off" else "",
            ),
        )
    console.print(table)
    console.print()


def _recovery(flow: Mapping[str, Any], now: datetime) -> str:
    """Return until when the target is complete, nothing if it is not known."""
    until, rpo = flow.get("complete_until"), flow.get("rpo") or {}
    if until is None:
        return ""
    at = datetime.fromisoformat(until)
    age = _duration((now - at) / timedelta(seconds=1))
    waiting = rpo.get("records")
    exception = (flow.get("lost") or {}).get("exception")
    but = f", {exception}" if exception else ""
    more = f"; RPO {counted(waiting, 'record')}" if waiting else ""
    return f"complete until {at:%Y-%m-%d %H:%M:%S} UTC, {age} ago{but}{more}"


def _canary(canary: Mapping[str, Any] | None) -> str:
    """Return the canary's metrics in a line, nothing if there are none."""
    if canary is None or not canary["partitions"]:
        return ""
    parts = []
    recent = canary.get("last_5_minutes")
    if recent and recent["latency_median_seconds"] is not None:
        parts.append(
            "last 5 minutes: median "
            f"{_duration(recent['latency_median_seconds'])}, "
            f"p99 {_duration(recent['latency_p99_seconds'])}, "
            f"worst {_duration(recent['latency_worst_seconds'])}"
        )
    elif recent:
        parts.append("nothing arrived in the last 5 minutes")
    names = {
        "outstanding": "in flight",
        "lost": "lost",
        "late": "late",
        "duplicates": "duplicates",
    }
    parts.append(
        ", ".join(
            f"{sum(p[name] for p in canary['partitions'])} {words}"
            for name, words in names.items()
        )
    )
    return "; ".join(parts)


def _health(health: str) -> Text:
    sign, style = SIGNS[health]
    return Text(f"{sign} {health}", style=style)


def plain(text: str) -> str:
    """Return text without what could steer a terminal."""
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for size, unit in UNITS:
        if abs(seconds) >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1000)} ms"


def _digits(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 99.5 else f"{number:.2g}"


EXIT_UNHEALTHY = 3
"""The agent answered, and not every flow is ok."""

DEFAULT_URL = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 5.0
"""The agent answers in milliseconds; more is a fault."""

ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""An agent that listens on every address is reached by loopback."""


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
    "--user",
    metavar="NAME",
    help="User, of an agent that asks for a password (--password-file).",
)
@click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the password of --user.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with a token, of an agent that asks for one.",
)
@click.option(
    "--cacert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="PEM file of the CA of the agent's certificate; else the system's.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print it as /api/status does.",
)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    url: str | None,
    file: Path | None,
    user: str | None,
    password_file: Path | None,
    token_file: Path | None,
    cacert: Path | None,
    as_json: bool,
) -> None:
    """Show the verdicts of a running agent.

    Exit status 0 if every flow is ok; 3 if any is critical, warning or
    unknown, or has no verdict, or if the agent's last report is too
    old; 1 if the agent cannot be reached.
    """
    login = _read_login(user, password_file, token_file)
    status = _ask(
        url or _configured_url(file), login=login, verify=_read_ca(cacert)
    )
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
    host = f"[{host}]" if ":" in host else host
    return f"{web.scheme}://{host}:{web.port}"


def _read_login(
    user: str | None, password_file: Path | None, token_file: Path | None
) -> str | None:
    """Return the header ``Authorization``, if one is wanted.

    From files: an argument would be in the process list.
    """
    if (user is None) != (password_file is None):
        raise click.UsageError("--user and --password-file need each other")
    if user is not None and token_file is not None:
        raise click.UsageError("give --user or --token-file, not both")
    if password_file is not None:
        password = _read_secret(password_file, "--password-file")
        pair = base64.b64encode(f"{user}:{password}".encode())
        return f"Basic {pair.decode()}"
    if token_file is not None:
        return f"Bearer {_read_secret(token_file, '--token-file')}"
    return None


def _read_secret(path: Path, option: str) -> str:
    """Return what a file holds, without the end of its line.

    Raises
    ------
    click.BadParameter
        Raised if it cannot be read, or is no secret of one line.
    """
    try:
        text = path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as e:
        why = getattr(e, "strerror", None) or "it is no text"
        raise click.BadParameter(f"{path}: {why}", param_hint=option) from None
    if not text.isprintable() or not text:
        raise click.BadParameter(
            f"{path} must hold one line", param_hint=option
        )
    return text


def _read_ca(path: Path | None) -> ssl.SSLContext | bool:
    """Return how the agent's certificate is verified.

    Raises
    ------
    click.BadParameter
        Raised if the file cannot be used.
    """
    if path is None:
        return True
    try:
        return ssl.create_default_context(cafile=path)
    except (OSError, ValueError) as e:
        raise click.BadParameter(
            f"{path}: no PEM file of certificates that can be read",
            param_hint="--cacert",
        ) from e


def _ask(
    address: str, *, login: str | None, verify: ssl.SSLContext | bool
) -> dict[str, Any]:
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
        with bounded_client(
            timeout_seconds=PATIENCE_SECONDS,
            # No proxy can lead to this machine.
            trust_env=not _is_loopback(url.host),
            verify=verify,
            headers={} if login is None else {"Authorization": login},
        ) as http:
            answer = http.get(url)
    except httpx.HTTPError as e:
        raise WebError(
            f"No agent answers at {shown}: {e or type(e).__name__}. Is it "
            "running (mirrorwatch run)? Its address is web.listen in its "
            "configuration: give that with --config, or another with --url; "
            "for https, a name in its certificate, and --cacert"
        ) from e
    return _read(answer, shown)


def _read(answer: httpx.Response, shown: str) -> dict[str, Any]:
    """Return the status; 503 brings one too, before the first report."""
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        raise WebError(
            f"What answers at {shown} asks for a login, or for another one: "
            "give --user and --password-file, or --token-file"
        )
    try:
        status = answer.json()
    except (ValueError, RecursionError):
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
