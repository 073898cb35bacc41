"""One catalogue, and everything made from it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from mirrorwatch.domain import samples
from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.canary.metrics import COUNTERS
from mirrorwatch.domain.canary.model import CanaryCounts
from mirrorwatch.domain.catalogue import CATALOGUE, LABELS, metrics_page
from mirrorwatch.domain.metrics import Metric, MetricType

DOCS = Path(__file__).parents[2] / "docs"

by_name = pytest.mark.parametrize("metric", CATALOGUE, ids=lambda m: m.name)


@by_name
def test_names_are_those_of_prometheus(metric: Metric) -> None:
    assert re.fullmatch(r"mirrorwatch_[a-z_]+", metric.name)
    is_counter = metric.type is MetricType.COUNTER
    assert metric.name.endswith("_total") is is_counter
    assert ("seconds" in metric.unit) is metric.name.endswith("_seconds")


@by_name
def test_labels_are_explained(metric: Metric) -> None:
    assert set(metric.labels) <= set(LABELS)


def test_no_label_is_explained_in_vain() -> None:
    assert set(LABELS) == {label for m in CATALOGUE for label in m.labels}


def test_no_two_metrics_share_a_name_or_a_field() -> None:
    names = Counter(m.name for m in CATALOGUE)
    fields = Counter((m.measurement, m.field) for m in CATALOGUE)
    assert max(names.values()) == 1
    assert max(fields.values()) == 1


def test_every_metric_of_the_module_is_in_the_catalogue() -> None:
    defined = [
        metric
        for subject in (samples, canary)
        for metric in vars(subject).values()
        if isinstance(metric, Metric)
    ]
    assert all(metric in CATALOGUE for metric in defined)


def test_every_counter_of_the_canary_has_a_metric() -> None:
    assert list(COUNTERS) == list(CanaryCounts().as_dict())


@pytest.mark.parametrize(
    ("name", "measurement", "field"),
    [
        ("mirrorwatch_health", "health", "health"),
        ("mirrorwatch_check_health", "health", "check_health"),
        ("mirrorwatch_canary_lost_total", "canary", "lost_total"),
        ("mirrorwatch_canary_latency_seconds", "canary", "latency_seconds"),
        ("mirrorwatch_sink_lost_points_total", "agent", None),
        ("mirrorwatch_tick_seconds", "agent", "tick_seconds"),
    ],
)
def test_influxdb_names_follow_from_the_name(
    name: str, measurement: str, field: str | None
) -> None:
    metric = next(m for m in CATALOGUE if m.name == name)
    expected = field or name.removeprefix("mirrorwatch_")
    assert (metric.measurement, metric.field) == (measurement, expected)


def test_the_page_in_docs_is_the_one_made_from_the_catalogue() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    assert page == metrics_page(), (
        "make it again: python -m mirrorwatch.domain.catalogue"
    )
