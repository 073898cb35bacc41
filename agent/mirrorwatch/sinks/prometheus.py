"""The last report as Prometheus reads it."""

import gzip
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from threading import Lock, Thread
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

from ..domain.metrics import Histogram, Metric, MetricType, Sample
from ..domain.samples import BUILD_INFO, LAST_TICK, Sampler, samples
from ..ports import Report
from .exposition import Exposition

__all__ = ["FORMATS", "OLD_AFTER", "PrometheusSink", "to_families"]


FORMATS = 4
"""Formats that are kept of a report: Prometheus asks for one, and whoever asks
for one version after the other must not fill the memory."""

COMPRESSION = 7
"""Level of gzip. The 1.6 MB of 10,000 partitions become 59 kB in 6.5 ms of
processor time; 65 kB in 3.5 ms by the lowest level, 58 kB in 12 ms by the next
one."""


OPEN_METRICS = "application/openmetrics-text"

RESPELT = ("escaping=dots", "escaping=values")
"""Ends of content types that spell every name in another way, which nobody
asks for whose names are all plain: these are left to the library."""


OLD_AFTER = timedelta(minutes=2)
"""Age from which nothing of a report is shown as true now, as dashboards do;
later where ticks are rare."""

TIMELESS = (LAST_TICK, BUILD_INFO)
"""Gauges that stay true of an agent that makes no ticks."""


def _is_gauge(metric: Metric) -> bool:
    return metric.type is MetricType.GAUGE


class _Format(NamedTuple):
    """Requested exposition format: content type and compression."""

    content_type: str
    packed: bool


class PrometheusSink(Collector):
    """Holds the last report in memory and serves it to anyone who scrapes.

    Parameters
    ----------
    sampler
        Makes the samples of a report.
    old_after
        Longest age of a report whose gauges are served; `None` for any age.
    clock
        Gives seconds that no step of the wall clock changes.

    Notes
    -----
    An agent that hangs still answers, and what was true at its last tick must
    not look true now: of a report that is too old only counters are left, and
    the time of the last tick.

    It has a registry of its own and touches nothing global. The metrics are
    those of the last report, which no longer changes, so that they are those
    that the other sinks got; they are rendered when somebody asks, as ticks
    may come more often than scrapes, and once, as askers may come more often
    than ticks. A format that was asked for of each of the last two reports is
    rendered at once, and compressed if it was asked for so: nobody waits for
    it, and of 1 MB of text 43 kB are kept. They bear no timestamp of their
    own; their age is that of
    ``mirrorwatch_last_tick_timestamp_seconds``.
    """

    name = "prometheus"

    def __init__(
        self,
        sampler: Sampler = samples,
        old_after: timedelta | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sampler = sampler
        self._report: Report | None = None
        self._old_after, self._clock = old_after, clock
        self._published = 0.0
        self._write = Exposition()
        # One thread at a time renders.
        self._lock = Lock()
        self._rendered: dict[_Format, bytes] = {}
        # The ``Accept`` header of each format.
        self._asked: dict[_Format, str] = {}
        self._asked_before: dict[_Format, str] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._process = CollectorRegistry(auto_describe=False)
        for registry in (self._registry, self._process):
            ProcessCollector(registry=registry)

    def publish(self, report: Report) -> None:
        self._published = self._clock()
        self._report = report
        self._rendered = {}
        wanted = [
            (accept, format_.packed)
            for format_, accept in self._asked.items()
            if format_ in self._asked_before
        ]
        self._asked_before, self._asked = self._asked, {}
        if wanted:
            # Not in the tick's own: it has other sinks to serve.
            Thread(
                target=self._prepare,
                args=(wanted,),
                name="metrics",
                daemon=True,
            ).start()

    def collect(self) -> Iterable[Family]:
        """Return the families of the last report; none before the first."""
        return to_families(self._samples())

    def _samples(self) -> Iterator[Sample]:
        """Yield what is known of the last report; nothing before the first."""
        report = self._report
        is_old = self._is_old()
        for sample in () if report is None else self._sampler(report):
            metric = sample.metric
            if not is_old or metric in TIMELESS or not _is_gauge(metric):
                yield sample

    def _is_old(self) -> bool:
        if self._old_after is None:
            return False
        age = self._clock() - self._published
        return age > self._old_after.total_seconds()

    def exposition(
        self, accept: str | None = None, *, packed: bool = False
    ) -> tuple[bytes, str]:
        """Return the text of all metrics and its content type.

        Parameters
        ----------
        accept
            Value of the request's ``Accept`` header, if it has one.
        packed
            Compression by gzip is requested.
        """
        body, format_ = self._expose(accept or "", packed=packed)
        if len(self._asked) < FORMATS:
            self._asked[format_] = accept or ""
        return body, format_.content_type

    def _prepare(self, wanted: Iterable[tuple[str, bool]]) -> None:
        for accept, packed in wanted:
            self._expose(accept, packed=packed)

    def _expose(self, accept: str, *, packed: bool) -> tuple[bytes, _Format]:
        encode, content_type = choose_encoder(accept)
        format_ = _Format(content_type, packed)
        with self._lock:
            # One that grows old between two scrapes is rendered anew.
            rendered = {} if self._is_old() else self._rendered
            if format_ not in rendered:
                body = self._render(encode, content_type)
                if packed:
                    body = gzip.compress(body, COMPRESSION)
                if len(rendered) >= FORMATS:
                    rendered.clear()
                rendered[format_] = body
            return rendered[format_], format_

    def _render(
        self, encode: Callable[[Collector], bytes], content_type: str
    ) -> bytes:
        if content_type.endswith(RESPELT):
            return encode(self._registry)
        own = self._write(
            self._samples(),
            open_metrics=content_type.startswith(OPEN_METRICS),
        )
        return own.encode() + encode(self._process)

    def close(self) -> None:
        """Do nothing: the last metrics stay readable to the end."""


AnyFamily = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily


def to_families(found: Iterable[Sample]) -> tuple[Family, ...]:
    """Return samples as metric families, each with at least one metric."""
    families: dict[str, AnyFamily] = {}
    for sample in found:
        name = sample.metric.name
        if name not in families:
            families[name] = _family(sample.metric)
        _add(families[name], sample)
    return tuple(families.values())


def _family(metric: Metric) -> AnyFamily:
    match metric.type:
        case MetricType.COUNTER:
            kind: type[AnyFamily] = CounterMetricFamily
        case MetricType.GAUGE:
            kind = GaugeMetricFamily
        case MetricType.HISTOGRAM:
            kind = HistogramMetricFamily
    return kind(metric.name, metric.help, labels=metric.labels)


def _add(family: AnyFamily, sample: Sample) -> None:
    value = sample.value
    if isinstance(value, Histogram):
        if isinstance(family, HistogramMetricFamily):
            total = value.total.total_seconds()
            family.add_metric(sample.labels, value.cumulative(), total)
    elif not isinstance(family, HistogramMetricFamily):
        family.add_metric(sample.labels, value)
