"""The mirror's tasks on a real mirror: failed, killed, started again."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import Lab, LabSettings
from tests.support.findings import find
from tests.support.lab import copied, produce
from tests.support.oversized import (
    LIMIT,
    UNSYNCED,
    lower_limit,
    produce_alone,
)
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

BIG = "lab.big"
PARTITIONS = 3

TICK = 5
"""Seconds, as by default."""

TAIL = timedelta(seconds=15)
"""How far the reader of the status topic may be behind, on a busy machine."""


def failed_at(lab: Lab) -> datetime:
    """Return when Connect wrote that the task failed."""
    at = min(
        record.timestamp()[1]
        for record in lab.read("target", "mm2-status.summit.internal")
        if (record.key() or b"").startswith(b"status-task-MirrorSource")
        and json.loads(record.value() or b"{}").get("state") == "FAILED"
    )
    return datetime.fromtimestamp(at / 1000, UTC)


def wait_for(
    watch: Watch,
    health: Health,
    *,
    saying: str = "",
    ticks: list[datetime] | None = None,
) -> Verdict:
    """Wait for the verdict on tasks; note the ticks that had another."""
    met: list[Verdict] = []

    def is_so() -> bool:
        report = watch.agent.latest.get()
        if report is None:
            return False
        (found,) = [v for v in report.verdicts if v.check == "tasks"]
        if found.health is health and saying in (
            f"{found.codes} {found.reason} {found.evidence}"
        ):
            met.append(found)
            return True
        if ticks is not None:
            ticks.append(report.at)
        return False

    wait_until(is_so, what=lambda: watch.verdict("tasks"))
    return met[0]


def test_tasks_run_and_one_that_fails_says_where_it_is_stuck() -> None:
    settings = LabSettings(
        topics={"mirrorwatch.canary": 6, BIG: PARTITIONS},
        mirror_properties=UNSYNCED,
    )
    with Lab(settings) as lab, Watch(lab, interval=f"{TICK}s") as watch:
        verdict = wait_for(watch, Health.OK, saying="tasks.ok")
        find(verdict, "tasks.ok", running_tasks=1, tasks=1)
        produce(lab, BIG, [f"before {n}" for n in range(7)], partition=1)
        copied(lab, BIG, ["before 6"])
        lower_limit(lab, BIG)
        offset = produce_alone(lab, BIG, 1)
        assert offset == 7
        before: list[datetime] = []
        verdict = wait_for(watch, Health.CRITICAL, ticks=before)
        failed = failed_at(lab)
        took = (verdict.since - failed).total_seconds()
        print(f"critical {took:.1f} s after the task failed")
        # The first tick at which the agent could know.
        assert max(before, default=failed) < failed + TAIL
        verdict = watch.wait_for(
            Health.CRITICAL,
            "tasks.failed",
            check="tasks",
            connector="MirrorSourceConnector",
            task=0,
            stuck_records=1,
            topic=BIG,
            partition=1,
            offset=7,
            limit_bytes=LIMIT,
        )
        assert watch.tasks is not None
        (stopped,) = watch.tasks.stopped
    assert "RecordTooLargeException" in str(
        find(verdict, "tasks.failed").numbers["problem"]
    )
    assert stopped.partitions >= {
        *((BIG, n) for n in range(PARTITIONS)),
        *(("mirrorwatch.canary", n) for n in range(6)),
    }
    # Connect's REST API is off: a dedicated mirror has none.
    assert verdict.evidence["read_from"] == (
        "topic mm2-status.summit.internal at ldf"
    )
