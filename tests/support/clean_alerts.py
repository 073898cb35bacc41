"""What alerts make of a run in which nothing is injected."""

from collections.abc import Container
from pathlib import Path

from influxdb_client.client.write.point import Point

from mirrorwatch_alerting import ALERTS
from mirrorwatch_alerting.alerts import WhenHealth
from mirrorwatch_alerting.kapacitor import scripts

from .clean_run import CleanRun
from .influx import Rows
from .kapacitor_alerts import AlertingKapacitor
from .watch import wait_until

__all__ = ["check_alerts", "told_by_kapacitor"]

END = "end"
"""Name of a flow that is broken after all others: when it is told of, all
that there is to tell is told."""

MINUTE = 60_000_000_000
"""In nanoseconds."""


def check_alerts(run: CleanRun, seconds: float) -> None:
    """Fail if an alert was raised, or about to be without a reason that
    others saw as well.
    """
    assert run.judged >= 0.5 * seconds / 15
    assert [alert for alert in run.alerts if alert[1] == "firing"] == []
    about = {a.name: a.when for a in ALERTS if isinstance(a.when, WhenHealth)}
    for name, _, at in run.alerts:
        if (when := about.get(name)) is not None:
            moment, health = at.isoformat(), when.health.label
            assert run.is_true(moment, when.check, health), (name, at)


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
