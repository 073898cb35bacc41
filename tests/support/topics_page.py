"""Ticks with everything that the page shows of topics and checks."""

from dataclasses import replace
from datetime import timedelta

from selenium.webdriver import Chrome

from mirrorwatch.domain.lag.model import TopicLag
from mirrorwatch.domain.observations import Observation
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.ports import Report
from tests.support.builders import a_verdict
from tests.support.page import SECOND, a_tick
from tests.support.topics_report import a_lag, some_skips

__all__ = ["OFF", "OK", "WRONG", "a_tick_with_topics", "rows"]

OK = ("latency", "lag", "skips", "position", "retention", "topics", "configs")
WRONG = {"lag": Health.CRITICAL, "retention": Health.WARNING}
OFF = ("heartbeats", "checkpoints", "bottleneck")


def a_tick_with_topics(
    topics: list[TopicLag],
    wrong: dict[str, Health] | None = None,
    *,
    age: timedelta = timedelta(),
    skips: bool = False,
) -> Report:
    """Return a tick of which some checks are wrong, the others fine."""
    tick = a_tick(age)
    wrong = wrong or {}
    seen: list[Observation] = [*tick.observations, a_lag(topics, tick.at)]
    if skips:
        seen.append(some_skips(tick.at))
    return replace(
        tick,
        observations=tuple(seen),
        verdicts=(
            *tick.verdicts,
            *(_verdict(check, wrong.get(check), tick) for check in OK),
            *(
                a_verdict(
                    Health.OFF,
                    check=check,
                    reason=f"Nothing tells {check}",
                    since=tick.at,
                )
                for check in OFF
            ),
        ),
    )


def _verdict(check: str, health: Health | None, tick: Report) -> Verdict:
    return a_verdict(
        health or Health.OK,
        check=check,
        reason=f"Something is wrong with {check}"
        if health
        else f"Nothing is wrong with {check}",
        since=tick.at - 300 * SECOND,
        evidence={"lag_records": 12_352},
    )


def rows(browser: Chrome) -> int:
    """Return how many topics the table shows."""
    found = browser.execute_script(
        "return document.querySelectorAll('.topics-table tbody tr').length"
    )
    return int(found)
