"""Writes reports to a collector of OpenTelemetry, by OTLP over HTTP.

In OTLP's own JSON. Its SDK is passed over: it asks instruments, where the
samples are there already, and what an outage holds up it forgets.
"""

import gzip
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic_core import from_json

from .. import __version__
from ..domain.metrics import LATENCY_BUCKETS, Histogram, MetricType, Sample
from ..domain.samples import Sampler, samples
from ..exceptions import ConfigError, SinkError, SinkRejectedError
from ..http import BUSY, bounded_client, describe_failure, read_retry_after
from ..ports import Report
from ..state.queue import Batch

__all__ = ["OtlpAccess", "OtlpOutlet", "to_batch"]


NAME = "otlp"
"""Name of the sink."""

PATH = "/v1/metrics"
"""Where a collector takes metrics, below its address (OTLP 1.0)."""

TIMEOUT = timedelta(seconds=10)
"""The default of OpenTelemetry's exporters."""

REFUSED = {400, 413, 422}
"""What is wrong with the points themselves. All else may be mended at the
collector, a wrong token too."""

UNITS = {"seconds": "s", "bytes": "By"}
"""Units as OpenTelemetry writes them (UCUM); others are in the names."""

CUMULATIVE = 2
"""``AGGREGATION_TEMPORALITY_CUMULATIVE``: counts go on from the state file
after a restart, so no time is given at which they began."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class OtlpAccess:
    """How to reach a collector."""

    url: str
    """Its address, with or without the path of metrics."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, such as a login; never shown."""

    ca: Path | None = None
    """Who signs its certificate, if no public authority does."""

    @property
    def metrics_url(self) -> str:
        """Where points go."""
        url = self.url.rstrip("/")
        return url if url.endswith(PATH) else url + PATH


class OtlpOutlet:
    """Sends points to one collector.

    Parameters
    ----------
    access
        Where it is and how to be let in.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """

    name = NAME

    def __init__(self, access: OtlpAccess) -> None:
        self._url = access.metrics_url
        try:
            trusted = ssl.create_default_context(cafile=access.ca)
        except OSError as e:
            raise ConfigError(f"sinks.otlp.ca {access.ca}: {e}") from e
        headers = httpx.Headers(access.headers)
        headers["Content-Type"] = "application/json"
        headers["Content-Encoding"] = "gzip"
        self._http = bounded_client(
            timeout_seconds=TIMEOUT.total_seconds(),
            verify=trusted,
            trust_env=False,  # the secret goes to the configured server only
            headers=headers,
        )

    def send(self, batch: Batch, timeout: timedelta = TIMEOUT) -> None:
        """Send points.

        Raises
        ------
        SinkRejectedError
            Raised if the collector refuses some of them for good.
        SinkError
            Raised if it did not take them now. No header is part of it.
        """
        seconds = timeout.total_seconds()
        try:
            answer = self._http.post(
                self._url,
                content=gzip.compress(to_request(batch)),
                timeout=seconds,
            )
        except (httpx.TransportError, httpx.InvalidURL) as e:
            why = "an address that cannot be used"
            if isinstance(e, httpx.TransportError):
                why = describe_failure(e, seconds)
            raise SinkError(
                f"The OTLP receiver at {self._url} does not answer: {why}",
                sink=NAME,
            ) from e
        if answer.status_code != httpx.codes.OK:
            raise self._error(answer)
        rejected = _count_rejected(answer.content)
        if rejected:
            raise SinkRejectedError(
                f"The OTLP receiver at {self._url} took all but {rejected} of "
                f"{batch.points} points; its own log may say why",
                sink=NAME,
                points=rejected,
                others_taken=True,
            )

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _error(self, answer: httpx.Response) -> SinkError:
        status = answer.status_code
        advice = {
            401: " (correct headers of sinks.otlp)",
            403: " (correct headers of sinks.otlp)",
            404: " (correct url of sinks.otlp)",
        }
        text = (
            f"The OTLP receiver at {self._url} answered {status}"
            f"{advice.get(status, '')}"
        )
        if status in REFUSED:
            return SinkRejectedError(text, sink=NAME)
        asked = read_retry_after(answer)
        return SinkError(
            text, sink=NAME, retry_after=asked, busy=status in BUSY
        )


def _count_rejected(body: bytes) -> int:
    """Return how many points a collector refused of those that it took."""
    try:
        match from_json(body):
            case {"partialSuccess": {"rejectedDataPoints": count}}:
                return int(count)  # a text, as all JSON of 64 bits is
            case _:
                return 0
    except (ValueError, TypeError):
        return 0  # it said 200


BEGINNING = json.dumps(
    {
        "resource": {
            "attributes": [
                {"key": key, "value": {"stringValue": text}}
                for key, text in (
                    ("service.name", "mirrorwatch"),
                    ("service.version", __version__),
                )
            ]
        }
    }
)
"""Who sends the points."""


def to_request(batch: Batch) -> bytes:
    """Return the points of a queue as one ``ExportMetricsServiceRequest``."""
    metrics = batch.body.replace(b"\n", b",")
    return (
        b'{"resourceMetrics":['
        + BEGINNING[:-1].encode()
        + b',"scopeMetrics":[{"scope":{"name":"mirrorwatch"},"metrics":['
        + metrics
        + b"]}]}]}"
    )


def to_batch(report: Report, sampler: Sampler = samples) -> Batch:
    """Return the points of a report, each a ``Metric`` with one data point,
    under its name in Prometheus.

    Parameters
    ----------
    report
        What was learned in one tick.
    sampler
        Makes the samples of a report.
    """
    nanoseconds = (report.at - EPOCH) // timedelta(microseconds=1) * 1000
    time = {"timeUnixNano": str(nanoseconds)}
    lines = [
        json.dumps(_metric(sample, time), separators=(",", ":"))
        for sample in sampler(report)
    ]
    return Batch("\n".join(lines).encode(), len(lines))


def _metric(sample: Sample, time: Mapping[str, str]) -> dict[str, Any]:
    metric, value = sample.metric, sample.value
    point: dict[str, Any] = {
        "attributes": [
            {"key": key, "value": {"stringValue": text}}
            for key, text in zip(metric.labels, sample.labels, strict=True)
            if text  # an empty label is none
        ],
        **time,
    }
    found: dict[str, Any] = {
        "name": metric.name,
        "description": metric.help,
        "unit": UNITS.get(metric.unit, ""),
    }
    if isinstance(value, Histogram):
        point |= {
            "count": str(sum(value.counts)),
            "sum": value.total.total_seconds(),
            "bucketCounts": [str(count) for count in value.counts],
            "explicitBounds": LATENCY_BUCKETS,
        }
        kind = {"aggregationTemporality": CUMULATIVE}
        return found | {"histogram": {"dataPoints": [point], **kind}}
    point["asDouble"] = float(value)
    if metric.type is MetricType.COUNTER:
        kind = {"aggregationTemporality": CUMULATIVE}
        total = {"dataPoints": [point], "isMonotonic": True, **kind}
        return found | {"sum": total}
    return found | {"gauge": {"dataPoints": [point]}}
