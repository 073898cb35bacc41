"""What an agent says of itself at one moment."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpx

from .series import LAST_TICK, prometheus_series

__all__ = ["Figures", "Look", "look", "take_figures"]


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the agent said of itself at one moment."""

    at: str | None
    alive: bool
    health: str
    checks: dict[str, str]
    amiss: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One report as the API and ``/metrics`` told it."""

    status: dict[str, Any]
    metrics: str

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.status["at"])

    @property
    def canary(self) -> dict[str, Any]:
        (flow,) = self.status["flows"]
        canary: dict[str, Any] = flow["canary"]
        return canary


def look(client: httpx.Client) -> Look:
    status = client.get("/api/status").json()
    alive = client.get("/healthz").is_success
    verdicts = [v for f in status["flows"] for v in f["verdicts"]]
    return Look(
        at=status["at"],
        alive=alive,
        health=next((f["health"] for f in status["flows"]), "not judged"),
        checks={v["check"]: v["health"] for v in verdicts},
        amiss=tuple(
            f"{v['check']}: {v['reason']}"
            for v in verdicts
            if v["health"] not in {"ok", "off"}
        ),
    )


def take_figures(client: httpx.Client) -> Figures | None:
    """Take the API and ``/metrics``, `None` if a tick came between them."""
    status = client.get("/api/status").json()
    found = Figures(status=status, metrics=client.get("/metrics").text)
    tick = prometheus_series(found.metrics)[LAST_TICK, ()]
    # The API gives milliseconds.
    return found if abs(tick - found.at.timestamp()) < 0.002 else None
