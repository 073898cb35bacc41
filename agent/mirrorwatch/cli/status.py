"""`mirrorwatch status`: prints the verdicts of a running agent."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..domain.report import counted
from .agent import Agent, agent_options

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
        Console to print it on.
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
        if lost.get("acknowledge") is not None:
            console.print(Text(f"    known: {plain(lost['acknowledge'])}"))
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


@click.command(
    "status",
    epilog="Examples: mirrorwatch status; mirrorwatch status --json; "
    "mirrorwatch status --url http://mirrorwatch.ldf:8080",
)
@agent_options
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print it as /api/status does.",
)
@click.pass_context
def command(ctx: click.Context, *, agent: Agent, as_json: bool) -> None:
    """Show the verdicts of a running agent.

    Exit status 0 if every flow is ok; 3 if any is critical, warning or
    unknown, or has no verdict, or if the agent's last report is too
    old; 1 if the agent cannot be reached.
    """
    status = agent.ask("/api/status", "flows")
    if as_json:
        click.echo(json.dumps(status, indent=2))
    else:
        print_status(status, Console(highlight=False))
    flows = status["flows"]
    if not flows or any(flow["health"] != "ok" for flow in flows):
        ctx.exit(EXIT_UNHEALTHY)
