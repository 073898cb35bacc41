"""A broker that is lost while a real audit reads it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.audit_run import (
    SECONDS,
    AuditCommand,
    Ran,
    counts,
    last_value,
    records,
    write,
)
from tests.support.lab import copied
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

TOPIC = "lost.broker"

FIRST, SECOND = "2026-11-01", "2026-11-02"

RECORDS = 100_000
"""Of each night: seconds of work."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1, TOPIC: 1}
    with Lab(LabSettings(intervals="fast", topics=topics)) as lab:
        yield lab


@pytest.fixture(scope="module")
def audit(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> AuditCommand:
    return AuditCommand(lab, tmp_path_factory.mktemp("audit"), [TOPIC])


def fill(lab: Lab, first: int) -> None:
    begin = utc_now() - timedelta(minutes=10)
    written = records(begin, first, RECORDS)
    write(lab.source.bootstrap, TOPIC, written)
    copied(lab, TOPIC, last_value(written))


def run_of(audit: AuditCommand, night: str) -> Path:
    return audit.folder / "audit" / "runs" / f"nightly-{night}"


def is_whole(ran: Ran) -> bool:
    """Whether a night was clean and counted all of its records."""
    return ran.status == 0 and set(counts(ran).values()) == {
        (RECORDS, RECORDS)
    }


def test_a_source_that_is_killed_and_comes_back_is_waited_for_or_told(
    lab: Lab, audit: AuditCommand
) -> None:
    fill(lab, 0)
    night = ("run", "--date", FIRST, "--json")
    process = audit.start(*night)
    try:
        plan = run_of(audit, FIRST) / "plan.json"
        wait_until(plan.exists, within=SECONDS, what=process.poll)
        # What comes next is to read the source.
        lab.source.kill()
        lab.source.start()
        ran = audit.end(process)
    finally:
        process.kill()

    if ran.status != 0:
        assert (ran.status, ran.output) == (1, "")
        assert "Cannot sum up the source" in ran.errors
        ran = audit(*night)
    assert is_whole(ran)


def test_a_target_that_is_lost_fails_the_night_which_then_begins_again(
    lab: Lab, audit: AuditCommand
) -> None:
    fill(lab, RECORDS)
    night = ("run", "--date", SECOND, "--json")
    process = audit.start(*night)
    try:
        read = run_of(audit, SECOND) / "digests" / "source" / "_SUCCESS"
        wait_until(read.exists, within=SECONDS, what=process.poll)
        lab.target.kill()
        ran = audit.end(process)
    finally:
        process.kill()
    assert (ran.status, ran.output) == (1, "")
    assert "Cannot sum up the target" in ran.errors
    assert "Traceback" not in ran.errors
    assert not (run_of(audit, SECOND) / "result.json").exists()

    lab.target.start()
    assert is_whole(audit(*night))
