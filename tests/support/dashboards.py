"""Queries of the kept dashboards, filled in as the program does that asks."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mirrorwatch.bundled_files import bundled_folder

__all__ = ["LOOK_BACK", "Asked", "asked", "fill_chronograf", "fill_grafana"]
__all__ += ["numbers"]

LOOK_BACK = timedelta(minutes=15)
"""How far a dashboard looks back in tests."""

STEP_SECONDS = 10
RATE_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query of a panel, as it is kept."""

    board: str
    panel: str
    number: int
    """Which of the panel's queries, from 0."""

    text: str
    instant: bool = False
    short: str | None = None
    """How little of the past the panel looks at, as Grafana says it."""

    @property
    def name(self) -> tuple[str, str, int]:
        return (self.board, self.panel, self.number)


def asked(store: str) -> Iterator[Asked]:
    """Yield every query of the dashboards that are kept for a store."""
    for path in sorted((bundled_folder("dashboards") / store).glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        for panel in kept.get("panels", kept.get("cells")):
            queries = panel.get("targets", panel.get("queries"))
            for number, query in enumerate(queries):
                yield Asked(
                    board=path.stem,
                    panel=panel.get("title", panel.get("name")),
                    number=number,
                    text=query.get("expr") or query["query"],
                    instant=query.get("instant", False),
                    short=panel.get("timeFrom"),
                )


def fill_grafana(
    query: Asked, chosen: Mapping[str, str], now: datetime
) -> str:
    """Return a query as Grafana would send it.

    Parameters
    ----------
    query
        What is kept.
    chosen
        Values of variables, as regular expressions.
    now
        End of the time that is looked at.
    """
    begin = now - (_duration(query.short) if query.short else LOOK_BACK)
    first, last = (int(at.timestamp() * 1000) for at in (begin, now))
    text = query.text
    for name, value in {
        "$timeFilter": f"time >= {first}ms and time <= {last}ms",
        "$__rate_interval": f"{RATE_SECONDS}s",
        "$__interval_ms": f"{STEP_SECONDS}000",
        "$__interval": f"{STEP_SECONDS}s",
        "$__range": f"{LOOK_BACK.total_seconds():g}s",
        "v.timeRangeStart": begin.isoformat(),
        "v.timeRangeStop": now.isoformat(),
        "v.windowPeriod": f"{STEP_SECONDS}s",
        "v.defaultBucket": '"mirrorwatch"',
        **{f"${{{key}:regex}}": value for key, value in chosen.items()},
        **{f"${key}": value for key, value in chosen.items()},
    }.items():
        text = text.replace(name, value)
    assert not re.search(r"\$[a-z_{]|\bv\.", text), text
    return text


def fill_chronograf(
    text: str, chosen: Mapping[str, str], now: datetime
) -> str:
    """Return a query as Chronograf would send it."""
    for name, value in {
        ":dashboardTime:": f"now() - {LOOK_BACK.total_seconds():g}s",
        ":upperDashboardTime:": "now()",
        # The stores are asked of the moment when they were filled.
        "now()": f"{int(now.timestamp() * 1000)}ms",
        ":interval:": f"{STEP_SECONDS}000ms",
        **{f"= :{key}:": f"= '{value}'" for key, value in chosen.items()},
        **{f":{key}:": value for key, value in chosen.items()},
    }.items():
        text = text.replace(name, value)
    assert not re.search(r":[a-zA-Z]+:", text), text
    return text


def _duration(text: str) -> timedelta:
    assert text.endswith("m"), text
    return timedelta(minutes=int(text[:-1]))


def numbers(values: Any) -> list[float]:
    """Return what is a number, of what a store answered."""
    found = []
    for value in values:
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if number == number:  # noqa: PLR0124 - NaN is no data
            found.append(number)
    return found
