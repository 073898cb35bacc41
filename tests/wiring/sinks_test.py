"""Which points each server gets first."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import structlog

from mirrorwatch.config import SinksConfig
from mirrorwatch.sinks.influxdb import to_batch as to_influxdb
from mirrorwatch.sinks.otlp import to_batch, to_request
from mirrorwatch.state import Database
from mirrorwatch.wiring.sinks import make_metric_sinks
from tests.support.full_report import a_full_report
from tests.support.http import Answer, answering

REPORTS = [
    replace(a_full_report(), at=a_full_report().at + timedelta(seconds=5 * n))
    for n in range(3)
]


@pytest.mark.parametrize(
    ("name", "more", "encode", "first"),
    [
        (
            "influxdb",
            {"database": "mirrors"},
            lambda r: to_influxdb(r).body,
            2,
        ),
        ("otlp", {}, lambda r: to_request(to_batch(r)), 0),
    ],
)
def test_influxdb_gets_the_newest_points_first_and_a_collector_the_oldest(
    name: str, more: dict[str, Any], encode: Any, first: int
) -> None:
    with answering(Answer(status=500)) as answer:
        block = {"url": answer.url, **more}
        [sink] = make_metric_sinks(
            SinksConfig.model_validate({name: block}),
            Database(None),
            structlog.get_logger(),
        )
        for report in REPORTS:
            sink.publish(report)
        sink.step()
        assert answer.bodies == [encode(REPORTS[first])]
        sink.close()
