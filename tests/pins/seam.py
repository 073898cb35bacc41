"""What of the product the pins of its outputs touch: their seam.

When code is moved or renamed, the modules `seam*.py` of this folder follow,
and nothing else of the pins: their data and their tests name no class and no
module of the product.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog
from click.testing import CliRunner

from mirrorwatch.cli import main
from mirrorwatch.config import NotifyConfig
from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.notices.text import Links
from mirrorwatch.domain.report import Health
from mirrorwatch.ports import Report
from mirrorwatch.sinks.influxdb import to_points
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch.state import Database
from mirrorwatch.state.audits import write_file
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.wiring import wire_notify
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_result,
    write_audit,
    write_report,
)
from tests.support.builders import FLOW, NOON, a_report, a_verdict
from tests.support.full_report import a_full_report
from tests.support.page_scenes import broken, healthy
from tests.support.stage import SetClock, Stage, serve_stage

__all__ = ["COMMANDS", "EXAMPLE", "SCENES", "NoticesScene", "exposition"]
__all__ += ["invoke", "keep_audits", "keep_state", "lines", "serve_scene"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "agent" / "config.example.yaml"
COMMANDS = (
    *("alerts", "alerts diff", "alerts list", "alerts pull", "alerts push"),
    *("audit", "audit compare", "audit digest", "audit history"),
    *("audit report", "audit run", "check-config", "dashboards"),
    *("dashboards diff", "dashboards list", "dashboards pull"),
    *("dashboards push", "demo", "lab"),
    *("lab down", "lab faults", "lab status", "lab up", "maintenance"),
    *("notify", "once", "run", "status"),
)
DAY = timedelta(days=1)
TICK = timedelta(seconds=30)


def _only(health: Health) -> Report:
    return a_report(verdicts=[a_verdict(health)])


SCENES: dict[str, Callable[[], Report]] = {
    "full": a_full_report,
    "healthy": lambda: healthy(NOON),
    "broken": lambda: broken(NOON),
}
"""Reports of which the API is asked, by name."""

OTHERS: dict[str, Callable[[], Report]] = {
    "unknown": lambda: _only(Health.UNKNOWN),
    "warning": lambda: _only(Health.WARNING),
}


def exposition() -> str:
    """Return what ``/metrics`` says of the full report."""
    sink = PrometheusSink()
    sink.publish(a_full_report())
    return sink.exposition()[0].decode()


def lines() -> list[str]:
    """Return the full report in line protocol."""
    return [p.to_line_protocol() for p in to_points(a_full_report())]


@contextmanager
def serve_scene(
    scene: str, age: timedelta = timedelta(), audits: Path | None = None
) -> Iterator[str]:
    """Serve page and API at some age of a report; without one if unnamed."""
    stage = Stage(clock=SetClock(NOON + age), audits=audits)
    if scene:
        stage.tick((SCENES | OTHERS)[scene]())
    with serve_stage(stage) as server:
        yield server.url


def keep_audits(folder: Path, kind: str = "several") -> None:
    """Leave finished audits in a folder, as the audit does."""
    match kind:
        case "clean":
            results = [a_result()]
        case "findings":
            results = [a_result(a_finding(first=42, last=58))]
        case "gaps":
            gap = Unverifiable(
                flow=FLOW.name, topic="t", partition=1, reason="it expired"
            )
            results = [a_result(unverifiable=(gap,))]
        case "another version":
            file = folder / "runs/nightly-2026-11-21/result.json"
            write_file(file, json.dumps({"schema_version": 99, "value": {}}))
            results = []
        case _:
            results = [
                a_result(at=NIGHT - DAY),
                a_result(
                    a_finding(),
                    a_finding("duplicated", first=7, last=9),
                    a_finding("corrupted", topic="telemetry"),
                    a_finding("extra", topic="telemetry"),
                ),
                a_result(nightly=False),
            ]
    for result in results:
        write_audit(folder, a_finished(result))
    if kind == "several":
        write_report(folder, "nightly-2026-11-21", "<!doctype html>")


def keep_state(file: Path) -> None:
    """Leave a state file in which nothing but one tick is kept."""
    database = Database(file)
    MaintenanceStore(database)
    VerdictStore(database).save([a_verdict()], NOON)
    database.close()


def invoke(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command; return its exit status and both of its outputs."""
    runner = CliRunner()
    environment = {
        "MIRRORWATCH_CONFIG": None,
        "COLUMNS": "100",
        # Where state is kept by default depends on who asks.
        "XDG_STATE_HOME": "/state",
    }
    result = runner.invoke(main, arguments, env=environment)
    return result.exit_code, result.stdout, result.stderr


class NoticesScene:
    """An agent's notices, from reports to two receivers."""

    def __init__(self, *, plain: str, slack: str) -> None:
        receivers = [
            {"name": "plain", "kind": "webhook", "url": plain},
            {"name": "slack", "kind": "slack", "url": slack},
        ]
        self._database = Database(None)
        logger = structlog.get_logger()
        self._notices = wire_notify(
            NotifyConfig.model_validate({"receivers": receivers}),
            self._database,
            Links("http://watch"),
            logger,
        )
        self._store = MaintenanceStore(self._database)
        self._now: datetime = NOON

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._notices.close()
        self._database.close()

    @property
    def waiting(self) -> int:
        """Messages that were not brought."""
        return self._notices.spooled_points

    def announce(self, *, minutes: int, reason: str) -> None:
        """Announce maintenance from now on."""
        end = self._now + timedelta(minutes=minutes)
        self._store.announce([FLOW.name], self._now, end, reason)

    def tick(self, scene: str, *, minutes: int) -> None:
        """Publish a scene again and again, and bring what is told of it."""
        known = {v.check: v.since for v in broken(NOON).verdicts}
        made = (SCENES | OTHERS)[scene]()
        end = self._now + timedelta(minutes=minutes)
        while self._now < end:
            self._now += TICK
            report = replace(
                made,
                at=self._now,
                observations=tuple(
                    replace(seen, at=self._now)  # type: ignore[type-var]
                    for seen in made.observations
                ),
                verdicts=tuple(
                    replace(v, since=known[v.check]) for v in made.verdicts
                ),
                maintenance=self._store.in_force(self._now),
            )
            self._notices.publish(report)
            while self.waiting:
                for delivery in self._notices.deliveries:
                    delivery.step()
