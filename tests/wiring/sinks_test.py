"""Which points InfluxDB gets first."""

from dataclasses import replace
from datetime import timedelta

import structlog

from mirrorwatch.config import InfluxDBConfig
from mirrorwatch.sinks.influxdb import to_batch
from mirrorwatch.state import Database
from mirrorwatch.wiring.influxdb import make_influxdb_sink
from tests.support.full_report import a_full_report
from tests.support.http import Answer, answering

REPORTS = [
    replace(a_full_report(), at=a_full_report().at + timedelta(seconds=5 * n))
    for n in range(3)
]


def test_influxdb_gets_the_newest_points_first() -> None:
    with answering(Answer(status=500)) as answer:
        sink = make_influxdb_sink(
            InfluxDBConfig(url=answer.url, database="mirrors"),
            Database(None),
            structlog.get_logger(),
        )
        for report in REPORTS:
            sink.publish(report)
        sink.step()
        assert answer.bodies == [to_batch(REPORTS[-1]).body]
        sink.close()
