"""Metrics of service levels."""

from collections.abc import Iterator

from ..metrics import Sample, counter, gauge
from .model import LevelsObservation, LevelState

__all__ = [
    "BAD",
    "BUDGET_LEFT",
    "BURN_RATE",
    "GOOD",
    "METRICS",
    "OBJECTIVE",
    "RATIO",
    "UNKNOWN",
    "UNKNOWN_RATIO",
    "WITHIN_SECONDS",
    "level_samples",
]


_LABELS = ("flow", "level")

GOOD = counter(
    "level_good",
    "probes or records",
    "level",
    _LABELS,
    "Probes that arrived within the bound, or records that were copied",
)
BAD = counter(
    "level_bad",
    "probes or records",
    "level",
    _LABELS,
    "Probes that did not arrive within the bound, or records that were "
    "skipped",
)
UNKNOWN = counter(
    "level_unknown",
    "probes or offsets",
    "level",
    _LABELS,
    "Probes that were due while mirrorwatch or the source was down or whose "
    "arrival was not seen, or offsets that cannot be verified: neither good "
    "nor bad",
)
OBJECTIVE = gauge(
    "level_objective_ratio",
    "ratio",
    "level",
    _LABELS,
    "Share of good ones that is wanted",
)
WITHIN_SECONDS = gauge(
    "level_within_seconds",
    "seconds",
    "level",
    _LABELS,
    "Bound of the latency; absent for records",
)
RATIO = gauge(
    "level_ratio",
    "ratio",
    "level",
    _LABELS,
    "Share of good ones of the last 30 days, of those that are known",
)
UNKNOWN_RATIO = gauge(
    "level_unknown_ratio",
    "ratio",
    "level",
    _LABELS,
    "Share of the last 30 days that is not known",
)
BUDGET_LEFT = gauge(
    "level_budget_left_ratio",
    "ratio",
    "level",
    _LABELS,
    "Share of the budget for bad ones that is left of the last 30 days; "
    "below 0 when it is overdrawn",
)
BURN_RATE = gauge(
    "level_burn_rate_ratio",
    "ratio",
    "level",
    (*_LABELS, "window"),
    "How fast the budget is used, by the lower of the rates over a window "
    "and over its short one: at 1 it lasts just 30 days",
)

METRICS = (
    GOOD,
    BAD,
    UNKNOWN,
    OBJECTIVE,
    WITHIN_SECONDS,
    RATIO,
    UNKNOWN_RATIO,
    BUDGET_LEFT,
    BURN_RATE,
)


def level_samples(seen: LevelsObservation) -> Iterator[Sample]:
    """Yield the samples of one flow's service levels."""
    for state in seen.levels:
        labels = (seen.flow, state.objective.level.value)
        yield from _of_level(state, labels)


def _of_level(state: LevelState, labels: tuple[str, str]) -> Iterator[Sample]:
    yield Sample(GOOD, labels, state.total.good)
    yield Sample(BAD, labels, state.total.bad)
    yield Sample(UNKNOWN, labels, state.total.unknown)
    yield Sample(OBJECTIVE, labels, state.objective.share)
    within = state.objective.within
    values = (
        (WITHIN_SECONDS, None if within is None else within.total_seconds()),
        (RATIO, state.month.share),
        (UNKNOWN_RATIO, state.month.unknown_share),
        (BUDGET_LEFT, state.budget_left),
    )
    for metric, value in values:
        if value is not None:
            yield Sample(metric, labels, value)
    for window, rate in state.burns.items():
        yield Sample(BURN_RATE, (*labels, window), rate)
