"""Faults as alert rules live through them, by the words of the docs."""

from collections.abc import Iterable
from datetime import timedelta

from mirrorwatch.domain.report import Health
from mirrorwatch_alerting import ALERTS
from tests.support.promtool import FLOW, Story, health_of

__all__ = [
    "AFTER",
    "BEGIN",
    "BY_NAME",
    "LONG_STEP",
    "ONCE",
    "STEP",
    "at",
    "expected",
    "fault_of",
    "steps_of",
]

STEP = timedelta(minutes=1)

LONG_STEP = timedelta(minutes=4)
"""For what has to hold for a day; series are stale after five minutes."""

ONCE = 3
"""When one sample is bad."""

BEGIN = 10
"""When all are."""

AFTER = 8
"""Steps that are looked at after a fault is mended."""

BY_NAME = {alert.name: alert for alert in ALERTS}


def expected(check: str, health: Health) -> set[str]:
    """Return what a check fires in the end, by the words of the docs."""
    name = f"Mirrorwatch{check.capitalize()}"
    return {
        Health.CRITICAL: {f"{name}Critical", f"{name}Warning"},
        Health.WARNING: {f"{name}Warning"},
        Health.UNKNOWN: {f"{name}Unknown"},
    }[health] & BY_NAME.keys()


def at(alerts: Iterable[str], flow: str = FLOW) -> set[tuple[str, str]]:
    """Return alerts as they fire for one flow."""
    return {(name, flow) for name in alerts}


def steps_of(name: str, step: timedelta = STEP) -> int:
    """Return how many steps an alert waits before it fires."""
    return -(-BY_NAME[name].hold // step)


def fault_of(check: str, health: Health) -> Story:
    """One bad sample, then a lasting fault, then it is mended."""
    alerts, bad = expected(check, health), health.value
    days = any(BY_NAME[n].hold > timedelta(hours=1) for n in alerts)
    step = LONG_STEP if days else STEP
    holds = {name: steps_of(name, step) for name in alerts}
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
            BEGIN - 1: set(),
            **just_before,
            BEGIN + last: at(alerts),
            mended + 1: set(),
        },
        ever=alerts,
    )
