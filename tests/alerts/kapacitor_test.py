"""The scripts on a real Kapacitor, fed with the points of the real sink."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_alerting import ALERTS, Alert, Severity
from mirrorwatch_alerting.alerts import WhenHealth
from tests.support.kapacitor_alerts import AlertingKapacitor
from tests.support.kapacitor_stories import (
    HURRIED,
    RECOVERY,
    TICK,
    Story,
    play,
    reports,
)

pytestmark = pytest.mark.kapacitor

HOUR = timedelta(hours=1)
LEVEL = {Severity.PAGE: "CRITICAL", Severity.TICKET: "WARNING"}
CRITICAL = Health.CRITICAL


def told(message: str) -> list[str]:
    """Return the summaries that a message has."""
    return [a.summary for a in ALERTS if f" {a.summary} (" in message]


def fault(alert: Alert) -> Story:
    """One bad sample, then a lasting fault, then it is mended."""
    assert isinstance(alert.when, WhenHealth)
    bad = {alert.when.check: alert.when.health}
    lasts = alert.hold // TICK + 3
    return [*[{}] * 3, bad, *[{}] * 3, *[bad] * lasts, {}]


def test_each_check_is_told_for_its_fault_only_and_when_it_is_well_again(
    kapacitor: AlertingKapacitor,
) -> None:
    heard = play(kapacitor, {a.name: fault(a) for a in HURRIED})
    for alert in HURRIED:
        hold = alert.hold // TICK
        (raised, well) = heard[alert.name]
        assert raised[:2] == (7 + hold, LEVEL[alert.severity])
        assert told(raised[2]) == [alert.summary]
        assert f"/runbook#{alert.section})" in raised[2]
        assert well[:2] == (7 + hold + 3 + RECOVERY, "OK")
        assert told(well[2]) == []


def test_another_check_that_joins_is_told_under_the_same_name(
    kapacitor: AlertingKapacitor,
) -> None:
    canary, lag = {"canary": CRITICAL}, {"lag": CRITICAL}
    story = [{}, *[canary] * 5, *[canary | lag] * 5, *[lag] * 3, {}, {}]
    heard = play(kapacitor, {"joined": story})["joined"]
    assert [(tick, level, len(told(text))) for tick, level, text in heard] == [
        (3, "CRITICAL", 1),
        (8, "CRITICAL", 2),
        (11, "CRITICAL", 1),
        (14 + RECOVERY, "OK", 0),
    ]


def test_maintenance_holds_what_is_new_and_takes_nothing_back(
    kapacitor: AlertingKapacitor,
) -> None:
    canary, lag = {"canary": CRITICAL}, {"lag": CRITICAL}
    quiet: Story = [{}] * 10
    heard = play(
        kapacitor,
        {
            "in it only": [*quiet, *[canary] * 8, *quiet],
            "beyond it": [*quiet, *[canary] * 20, *quiet],
            "before it": [*[canary] * 20, {}, *quiet],
            "joined in it": [*[canary] * 10, *[canary | lag] * 20],
            "well in it": [*[canary] * 12, *quiet],
        },
        held=range(8, 22),
    )
    short = {
        name: [(tick, level, len(told(text))) for tick, level, text in events]
        for name, events in heard.items()
    }
    assert short == {
        "in it only": [],
        "beyond it": [(24, "CRITICAL", 1), (30 + RECOVERY, "OK", 0)],
        "before it": [(2, "CRITICAL", 1), (20 + RECOVERY, "OK", 0)],
        "joined in it": [
            (2, "CRITICAL", 1),
            (24, "CRITICAL", 2),
            (30 + RECOVERY, "OK", 0),
        ],
        "well in it": [(2, "CRITICAL", 1), (12 + RECOVERY, "OK", 0)],
    }


@pytest.mark.parametrize("off", [-HOUR, HOUR])
def test_points_of_another_time_raise_nothing(
    kapacitor: AlertingKapacitor, off: timedelta
) -> None:
    name = f"off by {off}"
    kapacitor.feed(
        replace(report, at=report.at + off)
        for report in reports({name: [{"canary": CRITICAL}] * 30})
    )
    assert play(kapacitor, {f"{name}, now": [{}]}) == {f"{name}, now": []}
    assert [t for t in kapacitor.told if t.id == f"mirrorwatch/{name}"] == []
