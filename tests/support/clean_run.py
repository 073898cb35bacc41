"""A stretch of time in which nothing is injected, and what was seen of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch_lab import Lab

from .agent_process import AgentProcess
from .alerting_servers import ruling
from .footprint import Cost, Footprint
from .influx import InfluxServer, Rows
from .influx_config import influx_config, influx_environment
from .looks import Figures, Look, look, take_figures
from .onlooker import Onlooker
from .stalls import Stalls
from .watch import FLOW, describe, wait_until

__all__ = ["CleanRun", "run_cleanly"]

START_SECONDS = 600.0
"""Until everything is ok: the mirror has to make the canary topic first, and
what the first probes took on a busy machine is judged for five minutes."""

JUDGED = timedelta(minutes=5)
"""Of which the check `latency` speaks."""

SLOW_SECONDS = 1.8
"""A bit less than what the check `latency` warns of: percentiles are
estimates."""

FIGURES_KEPT = 20
"""How many reports are compared as a whole, spread over the run."""


@dataclass(kw_only=True)
class CleanRun:
    """Everything that is known of a run."""

    ok_after: float = 0.0
    """Seconds from the start of the agent until everything was ok."""

    looks: list[Look] = field(default_factory=list)
    """One a second, from then on."""

    figures: list[Figures] = field(default_factory=list)
    footprints: list[Footprint] = field(default_factory=list)
    onlooker: Onlooker
    stalls: Stalls
    """What the machine did beside."""

    exit_status: int | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    run: str = ""
    """Identity that every probe of the agent carries."""

    ledgers: dict[int, Ledger] = field(default_factory=dict)
    rows: Rows | None = None
    """What InfluxDB holds in the end; `None` without one."""

    alerts: list[tuple[str, str, datetime]] = field(default_factory=list)
    """Every alert that Prometheus had at some time, once for each: its name,
    whether it was pending or firing, and when."""

    judged: int = 0
    """How often Prometheus judged each of them."""

    @property
    def cost(self) -> Cost:
        return Cost(self.footprints[0], self.footprints[-1])

    @property
    def worries(self) -> list[dict[str, Any]]:
        """What was logged, once all was ok, for someone to look into."""
        begun = self.looks[0].at or ""
        return [
            event
            for event in self.events
            if event["level"] not in {"debug", "info"}
            and event["timestamp"] > begun
            and not self._is_explained(event)
        ]

    def is_true(self, at: str, check: str, health: str) -> bool:
        """Tell whether others saw what a verdict says of a busy machine.

        Probes were slow if the onlooker's were; nothing was known while
        nothing ran. Nothing else that is amiss is true in a clean run.
        """
        moment = datetime.fromisoformat(at)
        if check == "latency":
            slow = self.onlooker.worst_percent_seconds(moment - JUDGED, moment)
            return slow > SLOW_SECONDS
        return health == "unknown" and self.stalls.felt_at(moment)

    def _is_explained(self, event: dict[str, Any]) -> bool:
        at: str = event["timestamp"]
        if event["event"] == "Verdict changed":
            return self.is_true(at, event["check"], event["health"])
        return self.stalls.felt_at(datetime.fromisoformat(at))


def run_cleanly(
    lab: Lab,
    folder: Path,
    *,
    seconds: float,
    influx: InfluxServer | None = None,
    rules: Path | None = None,
    on_look: Callable[[float, AgentProcess], None] = lambda _at, _agent: None,
) -> CleanRun:
    """Let an agent watch a lab for some seconds, and look on.

    Parameters
    ----------
    lab
        The lab; it is left as it is.
    folder
        Empty folder for the agent.
    seconds
        How long, from the moment when everything is ok.
    influx
        Where it writes its figures to.
    rules
        Rules that a Prometheus follows beside, from the moment when
        everything is ok.
    on_look
        Called after every look with the seconds that have passed: where a
        soak injects its faults.
    """
    config = describe(lab)
    environment = {}
    if influx is not None:
        config["sinks"] = {"influxdb": influx_config(influx)}
        environment = influx_environment(influx)
    with (
        AgentProcess(folder, config, environment) as agent,
        httpx.Client(base_url=agent.url, timeout=60) as client,
    ):
        ok_after = wait_until(
            lambda: look(client).health == "ok",
            within=START_SECONDS,
            what=lambda: client.get("/api/status").json(),
        )
        with (
            Stalls(folder) as stalls,
            Onlooker(lab) as onlooker,
            ExitStack() as around,
        ):
            seen = CleanRun(
                onlooker=onlooker, stalls=stalls, ok_after=ok_after
            )
            # As sites do, every 15 s; it takes little from the others.
            prometheus = rules and around.enter_context(
                ruling(folder / "prometheus", agent.url, rules, every="15s")
            )
            _follow(agent, client, seconds, seen, on_look)
            if prometheus:
                seen.alerts = prometheus.alerts()
                seen.judged = prometheus.judged("canary")
        seen.exit_status = agent.stop()
    seen.events = agent.events
    database = Database(agent.state)
    store = CanaryStore(database, FLOW)
    seen.run, seen.ledgers = store.run, store.load()
    database.close()
    seen.rows = None if influx is None else influx.select_all()
    return seen


def _follow(
    agent: AgentProcess,
    client: httpx.Client,
    seconds: float,
    seen: CleanRun,
    on_look: Callable[[float, AgentProcess], None],
) -> None:
    """Look once a second; now and then take all figures of a report."""
    every = seconds / FIGURES_KEPT
    take_at = every
    for passed in _seconds(seconds):
        seen.looks.append(look(client))
        seen.footprints.append(agent.footprint)
        if passed >= take_at and (figures := take_figures(client)) is not None:
            seen.figures.append(figures)
            take_at += every
        on_look(passed, agent)


def _seconds(seconds: float) -> Iterator[float]:
    """Yield the time that has passed, about once a second."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds:
        yield passed
        time.sleep(1)  # the pace of the looks, and nothing waits for it
