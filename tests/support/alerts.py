"""An agent, a Prometheus that judges it by our rules, and who is told.

The rules are those that are shipped, but that nothing has to hold for long.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml
from influxdb_client.client.write.point import Point

from mirrorwatch.domain.report import Health
from mirrorwatch_alerting.alerts import ALERTS, Alert, WhenHealth
from mirrorwatch_alerting.kapacitor import scripts
from mirrorwatch_alerting.prometheus import KEEP, rules
from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.alert_servers import FLOW, Story, health_of

from .agent_process import AgentProcess
from .alert_servers import Alertmanager, RulingPrometheus
from .clean_run import CleanRun
from .influx import Rows
from .kapacitor import AlertingKapacitor
from .watch import wait_until
from .webhook import Webhook, serve_webhook

__all__ = [
    "AFTER",
    "BEGIN",
    "LONG_STEP",
    "ONCE",
    "STEP",
    "alert_scene",
    "at",
    "check_alerts",
    "expected",
    "fault_of",
    "keep_of",
    "raised_by",
    "steps_of",
    "told_by_kapacitor",
]


EXAMPLE = bundled_folder("alerts") / "alertmanager.example.yaml"
HOLD = timedelta(seconds=5)


@dataclass(frozen=True)
class Scene:
    """Who watches whom."""

    agent: AgentProcess
    prometheus: RulingPrometheus
    pages: Webhook
    tickets: Webhook

    @property
    def firing(self) -> set[str]:
        """Names of the alerts that fire."""
        found = self.prometheus.query('ALERTS{alertstate="firing"}')
        return {series["metric"]["alertname"] for series in found}

    def paged(self, flow: str | None = None) -> list[dict[str, Any]]:
        """Return the pages of one flow, or of the agent itself."""
        return [
            body
            for body in self.pages.bodies
            if body["groupLabels"].get("flow") == flow
        ]


@contextmanager
def alert_scene(
    folder: Path, config: Mapping[str, Any], *, together: timedelta
) -> Iterator[Scene]:
    """Set it up.

    Parameters
    ----------
    folder
        Empty folder for all of it.
    config
        Configuration of the agent.
    together
        How long the first message of a group waits for more alerts.
    """
    hurried = folder / "rules.yaml"
    alerts = [replace(a, hold=HOLD) for a in ALERTS]
    hurried.write_text(rules(alerts, keep=2 * HOLD))
    with ExitStack() as around:
        pages = around.enter_context(serve_webhook())
        tickets = around.enter_context(serve_webhook())
        agent = around.enter_context(AgentProcess(folder / "agent", config))
        alertmanager = Alertmanager(
            folder / "alertmanager",
            _configure(pages.url, tickets.url, together),
        )
        prometheus = RulingPrometheus(
            folder / "prometheus",
            agent=agent.url,
            rules=hurried,
            alertmanager=alertmanager,
        )
        for server in (alertmanager, prometheus):
            around.callback(server.kill)
            server.start()
        yield Scene(agent, prometheus, pages, tickets)


def _configure(pages: str, tickets: str, together: timedelta) -> Any:
    config = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    urls = {"mirrorwatch-pages": pages, "mirrorwatch-tickets": tickets}
    for receiver in config["receivers"]:
        for webhook in receiver.get("webhook_configs", ()):
            webhook["url"] = urls[receiver["name"]]
    (route,) = config["route"]["routes"]
    seconds = int(together.total_seconds())
    for each in (route, *route["routes"]):
        each |= {"group_wait": f"{seconds}s", "group_interval": "5s"}
    return config


STEP = timedelta(minutes=1)

LONG_STEP = timedelta(minutes=4)
"""For what has to hold for a day; series are stale after five minutes."""

ONCE = 3

BEGIN = 10

AFTER = 20
"""Steps that are looked at after a fault is mended."""


def raised_by(check: str, health: Health) -> dict[str, Alert]:
    """Return the alerts that a check raises in the end, by name."""
    found = {}
    for alert in ALERTS:
        when = alert.when
        if isinstance(when, WhenHealth) and check in when.checks:
            is_worse = when.or_worse and health > when.health
            if when.health is health or is_worse:
                found[alert.name] = alert
    return found


def expected(check: str, health: Health) -> set[str]:
    """Return the names of the alerts that a check raises in the end."""
    return {*raised_by(check, health)}


def at(alerts: Iterable[str], flow: str = FLOW) -> set[tuple[str, str]]:
    """Return alerts as they fire for one flow."""
    return {(name, flow) for name in alerts}


def steps_of(alert: Alert, step: timedelta = STEP) -> int:
    """Return how many steps an alert waits before it fires."""
    return -(-alert.hold // step)


def keep_of(step: timedelta = STEP) -> int:
    """Return how many steps after its condition an alert has ended."""
    return -(-KEEP // step) + 1


def fault_of(check: str, health: Health) -> Story:
    """One bad sample, then a lasting fault, then it is mended."""
    raised, bad = raised_by(check, health), health.value
    days = any(alert.hold > timedelta(hours=1) for alert in raised.values())
    step = LONG_STEP if days else STEP
    alerts = {*raised}
    holds = {name: steps_of(alert, step) for name, alert in raised.items()}
    at_once = {name for name, hold in holds.items() if not hold}
    last = max(holds.values())
    mended = BEGIN + last + 5
    just_before = {
        BEGIN + hold - 1: at(n for n, h in holds.items() if h < hold)
        for hold in holds.values()
    }
    return Story(
        name=f"{check} {health.label}",
        step=step,
        steps=mended + AFTER,
        series={
            health_of(check): f"0x{ONCE - 1} {bad} 0x{BEGIN - ONCE - 2} "
            f"{bad}x{mended - BEGIN - 1} 0x{AFTER}"
        },
        fires={
            **just_before,
            # One sample is enough for what is proved.
            BEGIN - 1: at(at_once),
            BEGIN + last: at(alerts),
            mended + 1: at(alerts),
            mended + keep_of(step): set(),
        },
        ever=alerts,
    )


END = "end"
"""Name of a flow that is broken after all others: when it is told of, all
that there is to tell is told."""

MINUTE = 60_000_000_000


def check_alerts(run: CleanRun, seconds: float) -> None:
    """Fail if an alert was raised, or about to be without a reason that
    others saw as well.
    """
    assert run.judged >= 0.5 * seconds / 15
    assert [alert for alert in run.alerts if alert[1] == "firing"] == []
    about = {alert.name: list[WhenHealth]() for alert in ALERTS}
    for alert in ALERTS:
        if isinstance(alert.when, WhenHealth):
            about[alert.name].append(alert.when)
    for name, _, at in run.alerts:
        moment = at.isoformat()
        assert not about[name] or any(
            run.is_true(moment, check, when.health.label)
            for when in about[name]
            for check in when.checks
        ), (name, at)


def told_by_kapacitor(rows: Rows, folder: Path) -> list[str]:
    """Return what Kapacitor tells of the points of a run, afterwards."""
    judging = {
        # As if they were fresh.
        name: text.replace("< 60000000000", f"< {24 * 60 * MINUTE}")
        for name, text in scripts(ALERTS).items()
        if name in {"mirrorwatch-flow", "mirrorwatch-sinks"}
    }
    kapacitor = AlertingKapacitor(folder, judging)
    try:
        kapacitor.start()
        kapacitor.install()
        last, lines = _to_lines(rows, {"health", "agent"})
        assert len(lines) > 100
        kapacitor.give(lines)
        for n in range(5):
            at = last + n * MINUTE
            kapacitor.give(
                [
                    f"health,flow={END} maintenance=0 {at}",
                    f"health,flow={END},check=canary check_health=3 {at}",
                ]
            )
        wait_until(
            lambda: any(t.id.endswith(f"/{END}") for t in kapacitor.told),
            what=lambda: kapacitor.problems,
        )
        assert kapacitor.problems == []
        return [t.id for t in kapacitor.told if not t.id.endswith(f"/{END}")]
    finally:
        kapacitor.kill()


def _to_lines(
    rows: Rows, measurements: Container[str]
) -> tuple[int, list[str]]:
    """Return the last time, and what was written, in the order of time."""
    found = []
    for (measurement, tags), times in rows.items():
        if measurement in measurements:
            for at, fields in times.items():
                point = Point(measurement).time(at)
                for tag, value in tags:
                    point.tag(tag, value)
                for field, figure in fields.items():
                    point.field(field, float(figure))
                found.append((at, point.to_line_protocol()))
    return max(found)[0], [line for _, line in sorted(found)]
