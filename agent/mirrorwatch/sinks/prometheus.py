"""The last report as Prometheus reads it."""

from collections.abc import Callable, Iterable
from threading import Lock, Thread

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
from ..domain.samples import Sampler, samples
from ..ports import Report
from .exposition import Exposition

__all__ = ["FORMATS", "PrometheusSink", "to_families"]


FORMATS = 4
"""Formats that are kept of a report: Prometheus asks for one, and whoever asks
for one version after the other must not fill the memory."""


OPEN_METRICS = "application/openmetrics-text"

RESPELT = ("escaping=dots", "escaping=values")
"""Ends of content types that spell every name in another way, which nobody
asks for whose names are all plain: these are left to the library."""


class PrometheusSink(Collector):
    """Holds the last report in memory and serves it to anyone who scrapes.

    Parameters
    ----------
    sampler
        Makes the samples of a report.

    Notes
    -----
    It has a registry of its own and touches nothing global. The metrics are
    those of the last report, which no longer changes, so that they are those
    that the other sinks got; they are rendered when somebody asks, as ticks
    may come more often than scrapes, and once, as askers may come more often
    than ticks. A format that was asked for of each of the last two reports is
    rendered at once, so that nobody waits for it. They bear no timestamp of
    their own; their age is that of
    ``mirrorwatch_last_tick_timestamp_seconds``.
    """

    name = "prometheus"

    def __init__(self, sampler: Sampler = samples) -> None:
        self._sampler = sampler
        self._report: Report | None = None
        self._write = Exposition()
        # One thread at a time renders.
        self._lock = Lock()
        self._rendered: dict[str, bytes] = {}
        self._asked: dict[str, str] = {}
        self._asked_before: dict[str, str] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        self._process = CollectorRegistry(auto_describe=False)
        for registry in (self._registry, self._process):
            ProcessCollector(registry=registry)

    def publish(self, report: Report) -> None:
        self._report = report
        self._rendered = {}
        wanted = [
            accept
            for content_type, accept in self._asked.items()
            if content_type in self._asked_before
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
        report = self._report
        return () if report is None else to_families(self._sampler(report))

    def exposition(self, accept: str | None = None) -> tuple[bytes, str]:
        """Return the text of all metrics and its content type.

        Parameters
        ----------
        accept
            Value of the request's ``Accept`` header, if it has one.
        """
        body, content_type = self._expose(accept or "")
        if len(self._asked) < FORMATS:
            self._asked[content_type] = accept or ""
        return body, content_type

    def _prepare(self, wanted: Iterable[str]) -> None:
        for accept in wanted:
            self._expose(accept)

    def _expose(self, accept: str) -> tuple[bytes, str]:
        encode, content_type = choose_encoder(accept)
        with self._lock:
            rendered = self._rendered
            if content_type not in rendered:
                if len(rendered) >= FORMATS:
                    rendered.clear()
                rendered[content_type] = self._render(encode, content_type)
            return rendered[content_type], content_type

    def _render(
        self, encode: Callable[[Collector], bytes], content_type: str
    ) -> bytes:
        if content_type.endswith(RESPELT):
            return encode(self._registry)
        report = self._report
        own = (
            ""
            if report is None
            else self._write(
                self._sampler(report),
                open_metrics=content_type.startswith(OPEN_METRICS),
            )
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
