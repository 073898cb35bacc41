"""Document of ``/api/history``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from ..exceptions import WebError
from ..state.history import Bucket, Series
from .status import time_text

__all__ = ["HistoryQuery", "history_document", "parse_time"]


DEFAULT_SPAN = timedelta(hours=1)
DEFAULT_POINTS = 180
"""Points of 20 s over the hour that is shown by default."""

SANE = (datetime(1970, 1, 2, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
"""Times outside are a mistake, and none may lead to an overflow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryQuery:
    """Which part of which flow's history is asked for."""

    flow: str
    start: datetime
    end: datetime
    points: int

    @classmethod
    def parse(cls, given: Mapping[str, str], now: datetime) -> Self:
        """Read the parameters of a request.

        Raises
        ------
        WebError
            Raised with what is allowed if one of them makes no sense.
        """
        if "flow" not in given:
            raise WebError("'flow' is missing: the name of a flow")
        end = parse_time("to", given["to"]) if "to" in given else now
        if not SANE[0] <= end <= SANE[1]:
            raise WebError(f"'to' must be between {SANE[0]} and {SANE[1]}")
        start = (
            parse_time("from", given["from"])
            if "from" in given
            else end - DEFAULT_SPAN
        )
        if not SANE[0] <= start < end:
            raise WebError(f"'from' must be before 'to', after {SANE[0]}")
        points = given.get("points", str(DEFAULT_POINTS))
        if not (points.isascii() and points.isdigit()):
            raise WebError(f"'points' is {points!r}: give a whole number")
        # Digits without end would be slow to read; more is capped anyway.
        most = int(points[:6])
        return cls(flow=given["flow"], start=start, end=end, points=most)


def history_document(flow: str, series: Series) -> dict[str, Any]:
    """Return a part of a flow's history, one list for each line of a chart.

    Parameters
    ----------
    flow
        Name of the flow.
    series
        Part of its history.

    Notes
    -----
    Where nothing was seen there is `null`, never the value before. Medians
    and 99th percentiles are those of all probes of the point, within 1 %.
    """
    buckets = [point.bucket for point in series.points]
    starts = [point.at for point in series.points]
    step = series.step
    return {
        "flow": flow,
        "from": time_text(starts[0]),
        "to": time_text(starts[-1] + step),
        "step_seconds": step.total_seconds(),
        "at_unix_seconds": [int(at.timestamp()) for at in starts],
        "latency_median_seconds": _quantiles(buckets, 0.5),
        "latency_p99_seconds": _quantiles(buckets, 0.99),
        "latency_worst_seconds": [_seconds(b.worst) for b in buckets],
        "outstanding": [b.outstanding for b in buckets],
        "delivered": [_seen(b, b.delivered) for b in buckets],
        "late": [_seen(b, b.late) for b in buckets],
        "lost": [_seen(b, b.lost) for b in buckets],
        "duplicates": [_seen(b, b.duplicates) for b in buckets],
        "health": [
            None if b.health is None else b.health.label for b in buckets
        ],
    }


def parse_time(name: str, text: str) -> datetime:
    """Read a time of a request's parameter.

    Raises
    ------
    WebError
        Raised with the allowed forms if it is none.
    """
    try:
        if text.isascii() and text.isdigit() and len(text) <= 10:
            return datetime.fromtimestamp(int(text), UTC)
        # A plus sign that was not escaped arrives as a space.
        at = datetime.fromisoformat(text.replace(" ", "+"))
        if at.tzinfo is None:
            raise _not_a_time(name, text)
        return at.astimezone(UTC)
    except (ValueError, OverflowError) as e:
        raise _not_a_time(name, text) from e


def _not_a_time(name: str, text: str) -> WebError:
    return WebError(
        f"'{name}' is {text!r}: give ISO 8601 with a zone, or Unix seconds"
    )


def _quantiles(buckets: Iterable[Bucket], share: float) -> list[float | None]:
    return [_seconds(b.quantile(share)) for b in buckets]


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def _seen(bucket: Bucket, count: int) -> int | None:
    """Return a count, `None` where the canary was not seen."""
    return None if bucket.outstanding is None and not count else count
