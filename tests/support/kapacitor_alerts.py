"""A real Kapacitor with our scripts, and what it tells its handlers."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from mirrorwatch.ports import Report
from mirrorwatch.sinks.influxdb import to_points

from .influx import Influx1
from .tick_site import Kapacitor

__all__ = ["AlertingKapacitor", "Told"]

DATABASE = "mirrorwatch"
POLICY = "autogen"
TOPIC = "mirrorwatch"


class Told(NamedTuple):
    """One message to a handler."""

    at: datetime
    """Time of the point that it was told for."""

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
