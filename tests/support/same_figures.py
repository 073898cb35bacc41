"""Holds what each sink tells of one report against the others."""

from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.canary.model import CanaryCounts
from mirrorwatch.domain.report import Health

from .clean_run import CleanRun
from .looks import Figures
from .series import (
    LAST_TICK,
    influx_series,
    prometheus_series,
    rows_of_tick,
    without_events,
)
from .watch import FLOW

__all__ = ["check_figures"]

PRODUCE = "mirrorwatch_canary_produce_seconds"
MS = timedelta(milliseconds=1)


def check_figures(run: CleanRun, figures: Figures) -> int:
    """Hold one report against itself, as each sink tells it."""
    scraped = without_events(prometheus_series(figures.metrics))
    tick = datetime.fromtimestamp(scraped[LAST_TICK, ()], UTC)
    for partition in figures.canary["partitions"]:
        labels = (("flow", FLOW), ("partition", str(partition["partition"])))
        for name in CanaryCounts().as_dict():
            metric = f"mirrorwatch_canary_{name}_total"
            assert scraped[metric, labels] == partition[name]
        outstanding = scraped["mirrorwatch_canary_outstanding", labels]
        assert outstanding == partition["outstanding"]
    (flow,) = figures.status["flows"]
    for verdict in flow["verdicts"]:
        labels = (("check", verdict["check"]), ("flow", FLOW))
        health = Health[verdict["health"].upper()].value
        assert scraped["mirrorwatch_check_health", labels] == health
    assert run.rows is not None
    # The API gives milliseconds; what it cuts off must not be missed here.
    arrived = datetime.fromisoformat(figures.canary["observed_at"]) + MS
    written = influx_series(rows_of_tick(run.rows, tick, arrived), tick)
    assert written.keys() == scraped.keys()
    # Prometheus counts an acknowledgement when it is heard; InfluxDB has it
    # with the arrival, which may be yet to come.
    produce = {s for s in scraped if s[0].startswith(PRODUCE)}
    assert all(written[s] <= scraped[s] * (1 + 1e-9) for s in produce)
    assert {s: v for s, v in written.items() if s not in produce} == (
        pytest.approx(
            {s: v for s, v in scraped.items() if s not in produce}, rel=1e-9
        )
    )
    return len(written)
