"""Stories of flows that are told to a Kapacitor, and what it makes of them.

An hour or a minute of holding is a second here. Points bear their own times,
so seconds pass in a moment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import Report
from mirrorwatch_alerting import ALERTS, Alert
from mirrorwatch_alerting.alerts import WhenHealth

from .builders import a_report, a_verdict, a_window
from .kapacitor_alerts import AlertingKapacitor
from .watch import wait_until

__all__ = ["HURRIED", "PATIENCE", "RECOVERY", "TICK", "Story", "hurried"]
__all__ += ["play", "reports"]

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
"""The alerts on checks."""


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
