"""Bounds how many topics have series of their own.

A counter that appears with its first event hides that event: nobody saw it at
zero, so nothing seems to increase. What topics without series of their own
count is therefore in one series for all of them, there from the start.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest

from .lag.metrics import LAG_RECORDS, LAG_SECONDS, TIME_TO_LOSS
from .lag.metrics import METRICS as LAG
from .metrics import Metric, MetricType, Sample

__all__ = ["OTHERS", "SEEN_WITHIN", "TopicBound"]

TOPIC = "topic"

OTHERS = ""
"""Topic of the series that has the rest."""

SEEN_WITHIN = timedelta(minutes=5)
"""Time in which all who read series have seen a new one, at zero: until then
its counts go to the rest. Prometheus calls a series gone after so long."""

Labels = tuple[str, ...]


@dataclass(slots=True)
class _Own:
    """A counter of one topic that has a series of its own."""

    since: datetime
    count: int = 0


@dataclass(slots=True)
class _Counted:
    """Counter of all topics of a flow."""

    last: dict[Labels, int]
    """Counter values in the report before."""

    rest: int = 0


class TopicBound:
    """Leaves series of topics out, beyond so many of each flow and metric.

    Parameters
    ----------
    most
        Number of topics with series of their own.

    Notes
    -----
    Lag is that of the topics that are furthest behind, and of the one that is
    next to lose records: the least time to loss is that of all topics.
    Counters are those of the topics that were first to count anything. They
    begin at zero with the agent, and so do those of the rest: none ever falls
    but at a restart, and all together are what was counted since.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counters: dict[tuple[str, Labels], _Counted] = {}
        self._own: defaultdict[tuple[str, Labels], dict[Labels, _Own]] = (
            defaultdict(dict)
        )

    def __call__(
        self, found: Iterable[Sample], at: datetime
    ) -> Iterator[Sample]:
        """Yield the samples of a report that are within the bound.

        Parameters
        ----------
        found
            All its samples.
        at
            Its time.
        """
        found = list(found)
        worst = self._find_worst(found)
        counters: dict[tuple[str, Labels], tuple[Metric, dict[Labels, int]]]
        counters = {}
        for sample in found:
            metric, labels, value = sample
            if TOPIC in metric.labels and metric.type is MetricType.COUNTER:
                key = metric.name, _without_topic(metric, labels)
                _, own = counters.setdefault(key, (metric, {}))
                own[labels] = int(value)  # type: ignore[arg-type]
            elif metric not in LAG or labels in worst:
                yield sample
        for key, (metric, values) in counters.items():
            yield from self._count(key, metric, values, at)

    def _find_worst(self, found: Iterable[Sample]) -> set[Labels]:
        ranks: dict[Labels, list[float]] = {}
        left: dict[str, tuple[float, Labels]] = {}
        for metric, labels, value in found:
            if metric is TIME_TO_LOSS and self._most:
                one = float(value), labels  # type: ignore[arg-type]
                left[labels[0]] = min(one, left.get(labels[0], one))
            if metric is LAG_SECONDS or metric is LAG_RECORDS:
                rank = ranks.setdefault(labels, [0.0, 0.0])
                rank[metric is LAG_RECORDS] = float(value)  # type: ignore[arg-type]
        flows: defaultdict[str, list[Labels]] = defaultdict(list)
        for place in ranks:
            flows[place[0]].append(place)
        return {place for _, place in left.values()} | {
            place
            for places in flows.values()
            for place in nlargest(self._most, places, key=lambda p: ranks[p])
        }

    def _count(
        self,
        key: tuple[str, Labels],
        metric: Metric,
        values: dict[Labels, int],
        at: datetime,
    ) -> Iterator[Sample]:
        known = self._counters.get(key)
        if known is None:
            # What was counted by then was counted before the agent began.
            known = self._counters[key] = _Counted(dict(values))
        own = self._own[key]
        risen: Counter[Labels] = Counter()
        for labels, value in values.items():
            risen[labels] = max(0, value - known.last.get(labels, 0))
        known.last.update(values)
        for labels, count in risen.items():
            if not count:
                continue
            mine = own.get(labels)
            if mine is None and len(own) < self._most:
                mine = own[labels] = _Own(at)
            if mine is None or at - mine.since < SEEN_WITHIN:
                known.rest += count
            else:
                mine.count += count
        where = metric.labels.index(TOPIC)
        before, after = key[1][:where], key[1][where:]
        yield Sample(metric, (*before, OTHERS, *after), known.rest)
        for labels, mine in own.items():
            yield Sample(metric, labels, mine.count)


def _without_topic(metric: Metric, labels: Labels) -> Labels:
    where = metric.labels.index(TOPIC)
    return (*labels[:where], *labels[where + 1 :])
