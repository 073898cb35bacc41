"""Check of end-to-end latency against its baseline."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from . import latency_texts as texts
from .finding import Finding, Health
from .report import Verdict, conclude

__all__ = ["LatencyLimits", "LatencyObservation", "judge_latency"]

WINDOW = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyObservation:
    """Latency of the probes of one flow, and the usual latency."""

    flow: str
    at: datetime

    p99: timedelta | None
    """99th percentile of the last five minutes, `None` without arrivals."""

    usual: timedelta | None
    """Usual latency; `None` if it is not known yet."""

    measured: int
    """Arrivals in the last five minutes."""

    watched: timedelta | None = None
    """Time for which probes have been observed, if that is less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyLimits:
    """Limits of the check `latency`, for the p99 of probes over 5 minutes.

    The baseline is the median of the last 24 hours. Both the time and the
    factor must be exceeded: the factor alone would alert on the jitter of a
    fast link, the time alone on the normal latency of a slow one.
    """

    enabled: bool = True
    """Probes are sent."""

    critical: timedelta = field(
        default=timedelta(seconds=5),
        metadata={"title": "Critical above", "gt": timedelta()},
    )
    """Five times the usual second of a long-distance link."""

    critical_factor: ClassVar[float] = 10
    """Multiple of the flow's baseline. An order of magnitude is not jitter."""

    warning: timedelta = field(
        default=timedelta(seconds=2),
        metadata={"title": "Warning above", "gt": timedelta()},
    )
    """Twice the usual second of a long-distance link."""

    warning_factor: ClassVar[float] = 3
    """Multiple of the flow's baseline. Above the variation between day and
    night."""


def judge_latency(
    flow: str,
    seen: LatencyObservation | None,
    limits: LatencyLimits,
    now: datetime,
) -> Verdict:
    """Judge the 99th percentile of the last five minutes.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Its latency, and what is usual.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits),
        flow=flow,
        check="latency",
        now=now,
        evidence={}
        if seen is None
        else {
            "p99_seconds": _rounded(seen.p99),
            "usual_p99_seconds": _rounded(seen.usual),
            "arrivals": seen.measured,
        },
    )


def _find(
    seen: LatencyObservation | None, limits: LatencyLimits
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None or seen.p99 is None:
        watched = None if seen is None else seen.watched
        yield texts.NO_DATA.found(
            Health.UNKNOWN, seconds=(watched or WINDOW).total_seconds()
        )
        return
    code, health = texts.OK, Health.OK
    for bad, least, factor in (
        (Health.WARNING, limits.warning, limits.warning_factor),
        (Health.CRITICAL, limits.critical, limits.critical_factor),
    ):
        if seen.p99 > least and seen.usual is None:
            # High, but not known to be above the baseline: no alarm.
            code, health = texts.HIGH, Health.WARNING
        elif seen.p99 > least and seen.p99 > (seen.usual or least) * factor:
            code, health = texts.HIGH, bad
    yield code.found(
        health,
        p99_seconds=_rounded(seen.p99),
        usual_seconds=_rounded(seen.usual),
    )


def _rounded(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)
