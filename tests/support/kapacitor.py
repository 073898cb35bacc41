"""A real Kapacitor with our scripts, and what it tells its handlers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import Report
from mirrorwatch.sinks.influxdb import to_points
from mirrorwatch_alerting.alerts import ALERTS, Alert, WhenHealth

from .builders import a_report, a_verdict, a_window
from .influx import Influx1
from .tick_site import Kapacitor
from .watch import wait_until

__all__ = [
    "BY_CHECK",
    "HURRIED",
    "PATIENCE",
    "RECOVERY",
    "TICK",
    "AlertingKapacitor",
    "Story",
    "play",
    "reports",
]


DATABASE = "mirrorwatch"
POLICY = "autogen"
TOPIC = "mirrorwatch"


class Told(NamedTuple):
    """One message to a handler."""

    at: datetime
    id: str
    level: str
    message: str


class AlertingKapacitor(Kapacitor):
    """Kapacitor that tells a test what it would tell people.

    Parameters
    ----------
    folder
        A folder of its own.
    scripts
        TICKscripts by name.
    influx
        What gives it its points; without one they are given by `feed`.
    """

    def __init__(
        self,
        folder: Path,
        scripts: Mapping[str, str],
        influx: Influx1 | None = None,
    ) -> None:
        super().__init__(folder, influx, subscribed=True)
        self._scripts = scripts
        self._told = folder / "told"

    def install(self) -> None:
        """Define and enable every script, and listen to their topic."""
        handler = {
            "id": "test",
            "kind": "log",
            "options": {"path": str(self._told), "mode": 0o600},
        }
        topics = "/kapacitor/v1/alerts/topics"
        self.ask("POST", f"{topics}/{TOPIC}/handlers", json=handler)
        for name, script in self._scripts.items():
            task = {"id": name, "script": script, "status": "enabled"}
            self.ask("POST", "/kapacitor/v1/tasks", json=task)

    def restart_tasks(self) -> None:
        """Let tasks forget what they saw; topics remember."""
        for status in ("disabled", "enabled"):
            for name in self._scripts:
                change = {"status": status}
                self.ask("PATCH", f"/kapacitor/v1/tasks/{name}", json=change)

    def feed(self, reports: Iterable[Report]) -> None:
        """Give it the points that the InfluxDB sink makes of reports."""
        for report in reports:
            self.give([p.to_line_protocol() for p in to_points(report)])

    def give(self, lines: Iterable[str]) -> None:
        """Give it lines of our database, in the order of their times."""
        self.write(DATABASE, POLICY, *lines, precision="ns")

    @property
    def told(self) -> list[Told]:
        """Everything that was told so far."""
        text = self._told.read_text("utf-8") if self._told.exists() else ""
        # The last line may be half written.
        whole = text[: text.rfind("\n") + 1]
        events = [json.loads(line) for line in whole.splitlines()]
        return [
            Told(
                datetime.fromisoformat(e["time"]),
                e["id"],
                e["level"],
                e["message"],
            )
            for e in events
        ]

    @property
    def problems(self) -> list[str]:
        """What it logged of errors."""
        log = (self.folder / "log").read_text(errors="replace")
        return [line for line in log.splitlines() if "lvl=error" in line]


# Stories of flows that are told to a Kapacitor, and what it makes of them.
#
# An hour or a minute of holding is a second here. Points bear their own times,
# so seconds pass in a moment.

TICK = timedelta(seconds=1)
BEFORE = timedelta(seconds=20)
"""How long ago a story begins. It ends before points are from the future."""

PATIENCE = 60.0
"""Seconds for what takes less than one."""

RECOVERY = 1
"""Ticks that a flow has to be well before that is told."""

Story = Sequence[Mapping[str, Health]]
"""What is not ok of a flow, by check, tick by tick."""


def hurried(alert: Alert) -> Alert:
    """Let an alert hold for a second for each minute, or hour."""
    slow = 3600 if alert.hold >= timedelta(hours=1) else 60
    return replace(alert, hold=alert.hold / slow)


HURRIED = [hurried(a) for a in ALERTS if isinstance(a.when, WhenHealth)]
BY_CHECK = [
    (alert, check)
    for alert in HURRIED
    if isinstance(alert.when, WhenHealth)
    for check in alert.when.checks
]


def reports(
    stories: Mapping[str, Story], *, held: range = range(0), end: str = "end"
) -> list[Report]:
    """Return what an agent would report of flows, and of a last one, which
    is broken when all others are at their end.
    """
    begin = utc_now() - BEFORE
    length = max(map(len, stories.values()))
    last: Story = [*[{}] * length, *[{"canary": Health.CRITICAL}] * 5]
    return [
        a_report(
            begin + n * TICK,
            flows=[
                Flow(name=flow, source="a", target="b")
                for flow in (*stories, end)
            ],
            verdicts=[
                a_verdict(
                    (story[n] if n < len(story) else {}).get(check, Health.OK),
                    flow=flow,
                    check=check,
                )
                for flow, story in {**stories, end: last}.items()
                for check in CHECKS
            ],
            maintenance=[a_window(flow=flow) for flow in stories if n in held],
        )
        for n in range(length + 5)
    ]


def play(
    kapacitor: AlertingKapacitor,
    stories: Mapping[str, Story],
    *,
    held: range = range(0),
) -> dict[str, list[tuple[int, str, str]]]:
    """Return what was told of each flow: tick, level, message."""
    end = f"end of {', '.join(stories)}"
    played = reports(stories, held=held, end=end)
    kapacitor.feed(played)
    # It is told of last, so all others were.
    wait_until(
        lambda: any(
            told.id == f"mirrorwatch/{end}" for told in kapacitor.told
        ),
        within=PATIENCE,
        what=lambda: (kapacitor.told, kapacitor.problems),
    )
    return {
        name: [
            (round((told.at - played[0].at) / TICK), told.level, told.message)
            for told in kapacitor.told
            if told.id == f"mirrorwatch/{name}"
        ]
        for name in stories
    }
