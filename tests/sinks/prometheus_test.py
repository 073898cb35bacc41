"""The last report as Prometheus reads it."""

import gzip
import math
import re
from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.metrics import MetricType, Sample
from mirrorwatch.domain.samples import BUILD_INFO, LAST_TICK, samples
from mirrorwatch.ports import Report
from mirrorwatch.sinks.prometheus import FORMATS, PrometheusSink
from tests.support.builders import FLOW, NOON, a_canary, a_report
from tests.support.examples import examples
from tests.support.full_report import ODD_FLOW, a_full_report
from tests.support.reports import reports
from tests.support.series import prometheus_series
from tests.support.watch import wait_until

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def exposition(report: Report) -> str:
    sink = PrometheusSink()
    sink.publish(report)
    return sink.exposition()[0].decode()


def ours(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if "mirrorwatch_" in line)


def test_an_agent_that_hangs_shows_nothing_that_was_true_once() -> None:
    now = [1000.0]
    sink = PrometheusSink(old_after=timedelta(minutes=2), clock=lambda: now[0])
    report = a_full_report()
    whole = {metric.name for metric in CATALOGUE}

    def shown(accept: str = "") -> set[str]:
        text = sink.exposition(accept)[0].decode()
        names = re.findall(r"^(\w+)[{ ]", text, re.MULTILINE)
        return whole & {name.removesuffix("_bucket") for name in names}

    sink.publish(report)
    for _ in range(3):
        shown(OPEN_METRICS)  # rendered ahead from now on
        sink.publish(report)
    assert shown() == whole
    now[0] += 120
    assert shown() == whole
    now[0] += 1
    timeless = {LAST_TICK.name, BUILD_INFO.name}
    for accept in ("", OPEN_METRICS):
        left = {m for m in CATALOGUE if m.name in shown(accept)}
        gauges = {m.name for m in left if m.type is MetricType.GAUGE}
        assert gauges == timeless
        assert len(left) > len(gauges)
    names = {family.name for family in sink.collect()}
    assert timeless <= names
    assert "mirrorwatch_health" not in names
    # It ticks again.
    sink.publish(report)
    assert shown() == whole


def test_help_and_type_come_from_the_catalogue() -> None:
    families = {
        family.name: family
        for family in text_string_to_metric_families(
            exposition(a_full_report())
        )
    }
    for metric in CATALOGUE:
        family = families[metric.name.removesuffix("_total")]
        assert family.type == metric.type.value
        assert family.documentation == metric.help


def test_odd_names_are_read_back_as_they_were() -> None:
    series = prometheus_series(exposition(a_full_report()))
    assert series["mirrorwatch_health", (("flow", ODD_FLOW.name),)] == 1


def test_it_serves_the_format_that_is_asked_for() -> None:
    sink = PrometheusSink()
    sink.publish(a_full_report())
    plain, plain_type = sink.exposition("text/plain;version=0.0.4")
    asked = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
    opened, opened_type = sink.exposition(asked)
    assert plain_type.startswith("text/plain")
    assert opened_type.startswith("application/openmetrics-text")
    assert not plain.decode().endswith("# EOF\n")
    families = {
        family.name  # the strict parser has no types of its own
        for family in openmetrics.text_string_to_metric_families(  # type: ignore[no-untyped-call]
            opened.decode()
        )
    }
    assert "mirrorwatch_canary_sent" in families


def test_before_the_first_report_it_tells_of_the_process_only() -> None:
    text = PrometheusSink().exposition()[0].decode()
    assert "process_resident_memory_bytes" in text
    assert "mirrorwatch_" not in text


def test_a_gauge_without_its_fact_is_gone_at_the_next_report() -> None:
    sink = PrometheusSink()
    sink.publish(a_full_report())
    sink.publish(a_report())
    text = sink.exposition()[0].decode()
    assert "mirrorwatch_canary_outstanding" not in text
    assert "mirrorwatch_health" in text


def test_it_is_rendered_once_a_report_and_format() -> None:
    sink = PrometheusSink()
    sink.publish(a_full_report())
    first = [sink.exposition(a)[0] for a in (None, OPEN_METRICS)]
    assert first[0] != first[1]
    for accept, before in zip((None, OPEN_METRICS), first, strict=True):
        assert sink.exposition(accept)[0] is before
    sink.publish(a_report(at=NOON + timedelta(seconds=5)))
    assert ours(sink.exposition()[0].decode()) != ours(first[0].decode())


def test_it_is_compressed_once_a_report() -> None:
    sink = PrometheusSink()
    sink.publish(a_full_report())
    packed, said = sink.exposition(packed=True)
    assert sink.exposition(packed=True)[0] is packed
    text, said_of_text = sink.exposition()
    assert ours(gzip.decompress(packed).decode()) == ours(text.decode())
    assert said == said_of_text
    assert len(packed) < len(text) / 5
    sink.publish(a_report(at=NOON + timedelta(seconds=5)))
    assert sink.exposition(packed=True)[0] != packed


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_asked_for_again_and_again_waits_for_whoever_asks(
    *, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compressed = []
    compress = gzip.compress

    def counting(data: bytes, level: int) -> bytes:
        compressed.append(len(data))
        return compress(data, level)

    monkeypatch.setattr(gzip, "compress", counting)
    sampled = []

    def sampler(report: Report) -> Iterable[Sample]:
        sampled.append(report.at)
        return samples(report)

    sink = PrometheusSink(sampler)
    for second in range(2):
        sink.publish(a_report(at=NOON + timedelta(seconds=second)))
        assert len(sampled) == second
        sink.exposition(packed=packed)
    sink.publish(a_report(at=NOON + timedelta(seconds=2)))
    wait_until(lambda: len(sampled) == 3)
    sink.exposition(packed=packed)
    assert len(sampled) == 3
    assert len(compressed) == (3 if packed else 0)


ACCEPTED = [
    "text/plain;version=0.0.4",
    "text/plain;version=1.0.0;escaping=allow-utf-8",
    "text/plain;version=1.0.0;escaping=dots",
    OPEN_METRICS,
    f"{OPEN_METRICS};escaping=allow-utf-8",
    f"{OPEN_METRICS};escaping=underscores",
    f"{OPEN_METRICS};escaping=values",
]


def assert_library_agrees(sink: PrometheusSink, accept: str) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(sink)
    encode, content_type = choose_encoder(accept)
    theirs, (mine, said) = encode(registry), sink.exposition(accept)
    assert said == content_type
    assert ours(mine.decode()) == ours(theirs.decode())


@pytest.mark.parametrize("accept", ACCEPTED)
def test_it_writes_the_same_bytes_as_the_library(accept: str) -> None:
    sink = PrometheusSink()
    for report in (a_full_report(), a_report()):
        sink.publish(report)
        assert_library_agrees(sink, accept)


@given(accept=st.sampled_from(ACCEPTED), report=reports)
@examples(280)
def test_any_report_is_written_as_by_the_library(
    accept: str, report: Report
) -> None:
    sink = PrometheusSink()
    sink.publish(report)
    assert_library_agrees(sink, accept)


def test_who_asks_for_ever_new_versions_does_not_fill_the_memory() -> None:
    sink = PrometheusSink()
    sink.publish(a_full_report())
    for minor in range(20):
        kind = f"application/openmetrics-text; version=1.{minor}.0"
        sink.exposition(kind)
    assert len(sink._rendered) <= FORMATS  # noqa: SLF001 - it is not shown


def test_figures_stay_as_published_though_the_books_go_on() -> None:
    # It works figures out when it is asked, so it leans on what books hand
    # out being a copy.
    sink = PrometheusSink()
    ledger = Ledger(flow="f", partition=0)
    state = ledger.snapshot(warming=False)
    sink.publish(a_report(observations=[a_canary(partitions=[state])]))
    before = ours(sink.exposition()[0].decode())
    ledger.send(NOON, warming=False)
    ledger.measure(ledger.latency, timedelta(seconds=1))
    assert ours(sink.exposition()[0].decode()) == before


def test_two_sinks_share_nothing_and_touch_nothing_global() -> None:
    one, other = PrometheusSink(), PrometheusSink()
    one.publish(a_report())
    assert "mirrorwatch_" not in other.exposition()[0].decode()
    assert not any(
        f.name.startswith("mirrorwatch") for f in REGISTRY.collect()
    )


@given(reports)
def test_every_figure_is_in_the_exposition_once(report: Report) -> None:
    text = exposition(report)
    series = prometheus_series(text)
    lines = [
        line for line in ours(text).splitlines() if not line.startswith("#")
    ]
    assert len(lines) == len(series)
    for sample in samples(report):
        labels = zip(sample.metric.labels, sample.labels, strict=True)
        # Prometheus takes an empty label for none.
        key = tuple(sorted(label for label in labels if label[1]))
        if isinstance(sample.value, int | float):
            got = series[sample.metric.name, key]
            assert math.isclose(got, sample.value, rel_tol=1e-12)
        else:
            total = series[f"{sample.metric.name}_count", key]
            assert total == sum(sample.value.counts)


@pytest.mark.parametrize("bound", ["0.005", "+Inf"])
def test_buckets_are_cumulative(bound: str) -> None:
    report = a_full_report()
    series = prometheus_series(exposition(report))
    labels = (("flow", FLOW.name), ("le", bound), ("partition", "0"))
    expected = {"0.005": 0, "+Inf": 5}[bound]
    assert series["mirrorwatch_canary_latency_seconds_bucket", labels] == (
        expected
    )
