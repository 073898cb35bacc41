"""Findings of the check `latency`: what makes each, and what does not."""

from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.latency import (
    LatencyLimits,
    LatencyObservation,
    judge_latency,
)
from mirrorwatch.domain.report import Health

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("p99", "usual", "health", "code"),
    [
        (None, 1, Health.UNKNOWN, "latency.no-data"),
        (0.01, 0.001, Health.OK, "latency.ok"),
        (4.9, 0.1, Health.WARNING, "latency.high"),
        (5.1, 0.1, Health.CRITICAL, "latency.high"),
        (5.1, 1, Health.WARNING, "latency.high"),
        (5.1, 3, Health.OK, "latency.ok"),
        # Nobody knows whether that is unusual: no alarm.
        (2.1, None, Health.WARNING, "latency.high"),
        (5.1, None, Health.WARNING, "latency.high"),
        (1.9, None, Health.OK, "latency.ok"),
    ],
)
def test_latency_is_judged_by_time_and_by_what_is_usual(
    p99: float | None, usual: float | None, health: Health, code: str
) -> None:
    def seconds(number: float | None) -> timedelta | None:
        return None if number is None else timedelta(seconds=number)

    seen = LatencyObservation(
        flow="f", at=NOW, p99=seconds(p99), usual=seconds(usual), measured=1
    )
    (found,) = judge_latency("f", seen, LatencyLimits(), NOW).findings
    assert (found.health, found.code) == (health, code)
    if p99 is not None:
        assert found.numbers == {"p99_seconds": p99, "usual_seconds": usual}


@pytest.mark.parametrize(
    ("enabled", "health", "code"),
    [
        (True, Health.UNKNOWN, "latency.no-data"),
        (False, Health.OFF, "latency.off"),
    ],
)
def test_without_probes_nothing_is_known(
    enabled: bool, health: Health, code: str
) -> None:
    limits = LatencyLimits(enabled=enabled)
    verdict = judge_latency("f", None, limits, NOW)
    assert (verdict.health, verdict.codes) == (health, (code,))
