"""Prints what the agent says, for a person at a terminal."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def print_status(status: Mapping[str, Any], console: Console) -> None:
    """Print what ``/api/status`` said.

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
            Text("The agent has made no report yet: ask again in a moment")
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
    now = datetime.fromisoformat(agent.get("now") or status["at"])
    held = {w["flow"]: w for w in status.get("maintenance", ())}
    for flow in status["flows"]:
        _print_flow(flow, held.get(flow["name"]), now, console)


def _print_flow(
    flow: Mapping[str, Any],
    held: Mapping[str, Any] | None,
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
    if held is not None:
        until = datetime.fromisoformat(held["until"])
        left = _duration((until - now) / timedelta(seconds=1))
        text = f"  in maintenance for {left} more: {plain(held['reason'])}"
        console.print(Text(text, style="bold yellow"))
    canary = _canary(flow.get("canary"))
    if canary:
        console.print(Text(f"  {canary}"))
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
        table.add_row(
            Text(f"  {plain(verdict['check'])}"),
            _health(verdict["health"]),
            Text(_duration(since / timedelta(seconds=1))),
            Text(
                plain(verdict["reason"]),
                style="dim" if verdict["health"] == "off" else "",
            ),
        )
    console.print(table)
    console.print()


def _canary(canary: Mapping[str, Any] | None) -> str:
    """Return the canary's figures in a line, nothing if there are none."""
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
        "outstanding": "on their way",
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
    """Return a duration in the unit that suits it."""
    if seconds is None:
        return "-"
    for size, unit in UNITS:
        if abs(seconds) >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1000)} ms"


def _digits(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 99.5 else f"{number:.2g}"
