"""The steps of `A new sink` in docs/development.md: a file of JSON lines.

`JsonLinesSink` is all that a new sink needs: the pipeline is the real one,
and knows nothing of it but what `Sink` declares.
"""

import json
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.clock import Clock
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.exceptions import SinkError
from mirrorwatch.pipeline import Pipeline
from mirrorwatch.ports import QueueingSink, Report
from mirrorwatch.sinks.queued import QueuedSink
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.state.queue import Batch, DeliveryQueue, DurableQueue
from tests.support.builders import FLOW


class JsonLinesSink:
    """Appends the verdicts of every tick to a file."""

    name = "json_lines"

    def __init__(self, path: Path) -> None:
        self._path = path

    def publish(self, report: Report) -> None:
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(to_lines(report))
        except OSError as e:
            raise SinkError(
                f"Cannot write {self._path}", sink=self.name
            ) from e

    def close(self) -> None:
        """Do nothing: every line is written when it is published."""


class JsonLinesOutlet:
    """The same behind a server: what `QueuedSink` needs of it."""

    name = "json_server"

    def __init__(self) -> None:
        self.is_away = True
        self.taken: list[str] = []

    def send(self, batch: Batch, timeout: timedelta) -> None:
        if self.is_away:
            raise SinkError("It does not answer", sink=self.name)
        self.taken += batch.body.decode().splitlines()

    def close(self) -> None:
        """Do nothing: there is no connection."""


def to_lines(report: Report) -> str:
    return "".join(
        json.dumps({"at": report.at.isoformat(), "check": verdict.check})
        + "\n"
        for verdict in report.verdicts
    )


def to_batch(report: Report) -> Batch:
    return Batch(to_lines(report).rstrip().encode(), len(report.verdicts))


def a_pipeline(*sinks: JsonLinesSink | QueuedSink) -> Pipeline:
    return Pipeline(
        flows=[FLOW],
        limits={FLOW.name: {}},
        sources=[],
        sinks=sinks,
        verdicts=VerdictStore(Database(None)),
        clock=Clock(),
        logger=structlog.get_logger(),
    )


def test_a_sink_is_one_class(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    pipeline = a_pipeline(JsonLinesSink(path))
    first, second = pipeline.tick(), pipeline.tick()
    pipeline.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["check"] for line in lines] == [*CHECKS, *CHECKS]
    assert lines[-1]["at"] == second.at.isoformat()
    assert second.agent.sinks_up == {"json_lines": True}
    assert first.agent.spooled_points == {}


def test_its_failure_is_seen_and_logged_once(tmp_path: Path) -> None:
    pipeline = a_pipeline(JsonLinesSink(tmp_path))
    with capture_logs() as logs:
        reports = [pipeline.tick() for _ in range(3)]
    assert reports[-1].agent.sinks_up == {"json_lines": False}
    assert [log["event"] for log in logs] == ["Sink unavailable"]


@pytest.mark.parametrize("ticks", [1, 3])
def test_one_behind_a_server_gets_its_queue_and_retries(ticks: int) -> None:
    outlet = JsonLinesOutlet()
    sink = QueuedSink(
        outlet,
        encode=to_batch,
        queue=DeliveryQueue(DurableQueue(Database(None), outlet.name)),
        logger=structlog.get_logger(),
    )
    assert isinstance(sink, QueueingSink)
    pipeline = a_pipeline(sink)
    for _ in range(ticks):
        pipeline.tick()
    sink.step()  # the daemon runs it in a thread
    report = pipeline.tick()
    assert report.agent.sinks_up == {}
    assert report.agent.spooled_points == {outlet.name: ticks * len(CHECKS)}
    outlet.is_away = False
    pipeline.close()
    assert len(outlet.taken) == (ticks + 1) * len(CHECKS)
    assert sink.lost_points == 0
