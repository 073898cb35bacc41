"""The check ``latency``: whether probes take longer than usual."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .report import Finding, Health, Verdict, conclude, seconds

__all__ = ["LatencyLimits", "LatencyObservation", "judge_latency"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyObservation:
    """How long the probes of one flow took, and what is usual."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When it was worked out (UTC)."""

    p99: timedelta | None
    """99th percentile of the last five minutes, `None` without arrivals."""

    usual: timedelta | None
    """What it usually is; `None` if that is not known yet."""

    measured: int
    """Arrivals in the last five minutes."""

    watched: timedelta | None = None
    """How long probes have been looked for, if that is less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyLimits:
    """Limits of the check `latency`, for the p99 of probes over 5 minutes.

    The baseline is the median of the last 24 hours. Both the time and the
    factor must be exceeded: the factor alone would alert on the jitter of a
    fast link, the time alone on the normal latency of a slow one.
    """

    enabled: bool = True
    """Whether probes are sent at all."""

    critical: timedelta = field(
        default=timedelta(seconds=5),
        metadata={"title": "Critical above", "gt": timedelta()},
    )
    """Five times the usual second of a long-distance link."""

    critical_factor: float = field(
        default=10, metadata={"title": "Critical above baseline", "gt": 1}
    )
    """Multiple of the flow's baseline. An order of magnitude is not jitter."""

    warning: timedelta = field(
        default=timedelta(seconds=2),
        metadata={"title": "Warning above", "gt": timedelta()},
    )
    """Twice the usual second of a long-distance link."""

    warning_factor: float = field(
        default=3, metadata={"title": "Warning above baseline", "gt": 1}
    )
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
        yield Finding(
            "latency.off",
            Health.OFF,
            "Canary is disabled (canary.enabled is false)",
        )
        return
    if seen is None or seen.p99 is None:
        over = "in the last 5 min"
        if seen is not None and seen.watched is not None:
            over = f"since mirrorwatch started, {seconds(seen.watched)} ago"
        yield Finding(
            "latency.no-data", Health.UNKNOWN, f"No probe has arrived {over}"
        )
        return
    usual = (
        "baseline not known yet"
        if seen.usual is None
        else f"baseline {_text(seen.usual)} s"
    )
    reason = (
        f"p99 end-to-end latency is {_text(seen.p99)} s over the last 5 min, "
        f"{usual}"
    )
    numbers = {
        "p99_seconds": _rounded(seen.p99),
        "usual_seconds": _rounded(seen.usual),
    }
    for health, least, factor in (
        (Health.CRITICAL, limits.critical, limits.critical_factor),
        (Health.WARNING, limits.warning, limits.warning_factor),
    ):
        unusual = seen.usual is None or seen.p99 > seen.usual * factor
        if seen.p99 > least and unusual:
            # Slow, but nobody knows whether more than usual: no alarm.
            known = seen.usual is not None
            yield Finding(
                "latency.high",
                health if known else Health.WARNING,
                reason,
                numbers=numbers,
            )
            return
    yield Finding("latency.ok", Health.OK, reason, numbers=numbers)


def _rounded(duration: timedelta | None) -> float | None:
    return None if duration is None else round(duration.total_seconds(), 3)


def _text(duration: timedelta) -> str:
    """Return seconds with three digits: nobody acts upon more."""
    total = duration.total_seconds()
    return f"{total:.3g}" if total < 1000 else f"{total:.0f}"
