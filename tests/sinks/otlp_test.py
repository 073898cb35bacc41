"""Points reach a collector by OTLP, parsed here by OpenTelemetry's own
messages.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from pydantic import SecretStr
from structlog.testing import capture_logs

from mirrorwatch.config import OtlpConfig, SinksConfig
from mirrorwatch.domain.metrics import LATENCY_BUCKETS
from mirrorwatch.exceptions import SinkError
from mirrorwatch.sinks.otlp import OtlpOutlet, to_batch, to_request
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch.sinks.queued import QueuedSink
from mirrorwatch.state import Database
from mirrorwatch.wiring.sinks import make_metric_sinks, to_otlp_access
from tests.support.builders import NOON
from tests.support.full_report import a_full_report
from tests.support.http import Answer, answering, certified
from tests.support.series import Series, prometheus_series
from tests.support.sink_process import stepping
from tests.support.webhook import until

SECRET = "Bearer pl4nted-t0ken"  # noqa: S105 - planted, to be looked for


def parse(body: bytes) -> list[Metric]:
    """Return what a collector understands; what it does not know fails."""
    request = Parse(body, ExportMetricsServiceRequest())
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    names = {a.key: a.value.string_value for a in resource.resource.attributes}
    assert names["service.name"] == "mirrorwatch"
    return list(scope.metrics)


def series_of(metrics: list[Metric]) -> Series:
    """Return the figures under their names in Prometheus."""
    found: Series = {}
    for metric in metrics:
        kind = getattr(metric, str(metric.WhichOneof("data")))
        [point] = kind.data_points
        tags = tuple(
            sorted((a.key, a.value.string_value) for a in point.attributes)
        )
        assert point.time_unix_nano == NOON.timestamp() * 10**9
        assert kind is metric.gauge or kind.aggregation_temporality == 2
        if kind is not metric.histogram:
            assert (kind is metric.gauge) or kind.is_monotonic
            assert metric.name.endswith("_total") == (kind is metric.sum)
            found[metric.name, tags] = point.as_double
            continue
        assert tuple(point.explicit_bounds) == LATENCY_BUCKETS
        bounds = [*map(str, LATENCY_BUCKETS), "+Inf"]
        for n, bound in enumerate(bounds, 1):
            up_to = tuple(sorted((*tags, ("le", bound))))
            counts = sum(point.bucket_counts[:n])
            found[f"{metric.name}_bucket", up_to] = counts
        found[f"{metric.name}_count", tags] = point.count
        found[f"{metric.name}_sum", tags] = point.sum
    return found


def test_a_collector_gets_what_prometheus_gets() -> None:
    prometheus = PrometheusSink()
    prometheus.publish(a_full_report())
    scraped = prometheus_series(prometheus.exposition()[0].decode())
    batch = to_batch(a_full_report())
    metrics = parse(to_request(batch))
    assert series_of(metrics) == scraped
    assert batch.points == len(metrics)
    units = {metric.name: metric.unit for metric in metrics}
    assert units["mirrorwatch_canary_latency_seconds"] == "s"
    assert units["mirrorwatch_health"] == ""


def config_of(url: str, **more: object) -> OtlpConfig:
    headers = {"Authorization": SecretStr(SECRET)}
    return OtlpConfig.model_validate({"url": url, "headers": headers, **more})


@contextmanager
def agent_of(state: Path, url: str) -> Iterator[QueuedSink]:
    with closing(Database(state)) as database:
        [sink] = make_metric_sinks(
            SinksConfig(otlp=config_of(url)), database, structlog.get_logger()
        )
        with stepping(sink), closing(sink):
            yield sink


def test_what_a_collector_misses_it_gets_when_it_is_back(
    tmp_path: Path,
) -> None:
    answer = Answer(status=503)
    with (
        capture_logs() as logs,
        answering(answer),
        agent_of(tmp_path / "state.db", answer.url) as sink,
    ):
        sink.publish(a_full_report())
        until(lambda: sink.up is False)
        points = sink.spooled_points
        assert points > 100
        answer.status, answer.bodies = 200, []
        until(lambda: sink.spooled_points == 0)
        until(lambda: sink.up is True)
    assert set(answer.asked) == {"/v1/metrics"}
    assert set(answer.logins) == {SECRET}
    taken = [m for body in answer.bodies for m in parse(body)]
    assert len(taken) == points
    assert sink.lost_points == 0
    assert "answered 503" in str(logs)
    assert SECRET not in str(logs)


def times_of(bodies: list[bytes]) -> list[int]:
    """Return the time of each request's first point."""
    found = []
    for body in bodies:
        metric = parse(body)[0]
        kind = getattr(metric, str(metric.WhichOneof("data")))
        found.append(kind.data_points[0].time_unix_nano)
    return found


@pytest.mark.parametrize("status", [503, 500])
def test_a_collector_gets_the_points_of_an_outage_in_their_order(
    tmp_path: Path, status: int
) -> None:
    answer = Answer(status=status)
    report = a_full_report()
    with (
        answering(answer),
        agent_of(tmp_path / "state.db", answer.url) as sink,
    ):
        for tick in range(8):
            at = report.at + tick * timedelta(seconds=5)
            sink.publish(replace(report, at=at))
        until(lambda: sink.up is False)
        answer.status, answer.bodies = 200, []
        until(lambda: sink.spooled_points == 0)
        times = times_of(answer.bodies)
    assert times == sorted(times), [t - times[0] for t in times]


def test_points_that_a_collector_drops_are_counted_and_not_sent_again(
    tmp_path: Path,
) -> None:
    answer = Answer(
        status=200, body=b'{"partialSuccess": {"rejectedDataPoints": "2"}}'
    )
    with (
        capture_logs() as logs,
        answering(answer),
        agent_of(tmp_path / "state.db", answer.url) as sink,
    ):
        sink.publish(a_full_report())
        until(lambda: bool(answer.bodies) and sink.spooled_points == 0)
        sent = [m for body in answer.bodies for m in parse(body)]
        assert len(sent) == to_batch(a_full_report()).points
        assert sink.lost_points == 2 * len(answer.bodies)
    assert "took all but 2 of" in str(logs)


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "correct headers of sinks.otlp"), (404, "correct url of")],
)
def test_an_error_says_what_to_correct(status: int, advice: str) -> None:
    with answering(Answer(status=status)) as answer:
        outlet = OtlpOutlet(to_otlp_access(config_of(answer.url)))
        with pytest.raises(SinkError, match=advice) as refused:
            outlet.send(to_batch(a_full_report()))
        outlet.close()
    assert "pl4nted" not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "busy"), [(429, True), (503, True), (500, False)]
)
def test_a_collector_that_is_busy_is_told_from_one_that_fails(
    status: int, *, busy: bool
) -> None:
    with answering(Answer(status=status)) as answer:
        outlet = OtlpOutlet(to_otlp_access(config_of(answer.url)))
        with pytest.raises(SinkError) as caught:
            outlet.send(to_batch(a_full_report()))
        outlet.close()
    assert caught.value.busy is busy


def test_over_tls_only_a_known_authority_is_believed(tmp_path: Path) -> None:
    ca, other = tmp_path / "ca.pem", tmp_path / "other.pem"
    certified(other)
    with answering(Answer(status=200), tls=certified(ca)) as answer:
        path = f"{answer.url}/v1/metrics"
        known = OtlpOutlet(to_otlp_access(config_of(path, ca=str(ca))))
        known.send(to_batch(a_full_report()))
        known.close()
        stranger = OtlpOutlet(to_otlp_access(config_of(path, ca=str(other))))
        with pytest.raises(SinkError, match="CERTIFICATE_VERIFY_FAILED"):
            stranger.send(to_batch(a_full_report()))
        stranger.close()
    assert answer.asked == ["/v1/metrics"]


def test_nobody_listening_is_said_in_plain_words() -> None:
    outlet = OtlpOutlet(to_otlp_access(config_of("http://127.0.0.1:1")))
    with pytest.raises(SinkError, match=r"does not answer: .*refused"):
        outlet.send(to_batch(a_full_report()))
    outlet.close()
