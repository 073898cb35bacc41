"""A night that is killed in the middle, and the nights after it."""

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import drop_marked
from tests.support.audit_run import (
    FAULTS,
    SECONDS,
    AuditCommand,
    counts,
    found,
    inject,
    last_value,
    records,
    write,
)
from tests.support.lab import copied
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(2400)]

EVENTS = "clean.events"
DROPPED = {"dropped": FAULTS["dropped"]}


@pytest.fixture
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1} | dict.fromkeys((EVENTS, *DROPPED), 1)
    settings = LabSettings(intervals="fast", topics=topics, start_mirror=False)
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
        yield lab


@pytest.fixture
def audit(lab: Lab, tmp_path: Path) -> AuditCommand:
    begin = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    events = records(begin, 0, 300)
    write(lab.source.bootstrap, EVENTS, events)
    inject(lab, DROPPED, begin)
    copied(lab, EVENTS, last_value(events))
    return AuditCommand(lab, tmp_path, [EVENTS, *DROPPED])


def test_a_night_that_was_killed_begins_again_and_the_next_one_goes_on(
    lab: Lab, audit: AuditCommand
) -> None:
    killed = audit.start("run", "--json")
    plans = audit.folder / "audit" / "runs"
    try:
        wait_until(
            lambda: any(plans.glob("nightly-*/plan.json")),
            within=SECONDS,
            what=lambda: "no plan yet",
        )
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    more = [{"key": b"k", "value": b"more %d" % n} for n in range(5)]
    write(lab.source.bootstrap, EVENTS, more)
    copied(lab, EVENTS, ["more 4"])

    night = audit("run", "--json")
    assert night.status == 3
    assert counts(night)[EVENTS] == (300, 300)
    assert found(night)["dropped"] == FAULTS["dropped"].found

    tomorrow = utc_now() + timedelta(days=1)
    after = audit("run", "--date", f"{tomorrow:%Y-%m-%d}", "--json")
    assert after.status == 0
    assert counts(after)[EVENTS] == (5, 5)
