"""When an agent must say that probes are overdue: held to plain reading."""

from datetime import datetime, timedelta

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.sources.canary.encoding import decode
from mirrorwatch_lab import CANARY_TOPIC, Lab

from .watch import Watch, wait_until

__all__ = ["expect_overdue_in_time"]

DEADLINE = timedelta(seconds=10)

ACKED = timedelta(seconds=5)
"""Longest from the send of a probe to its acknowledgement, from which on its
deadline counts."""


def expect_overdue_in_time(watch: Watch, lab: Lab) -> None:
    """Wait until probes are overdue, which is at the first tick after the
    deadline of one: however long a busy machine makes a tick wait.
    """
    before: list[datetime] = []
    overdue = _wait_until_overdue(watch, before)
    ends = _oldest_not_copied(watch, lab) + DEADLINE
    print(f"overdue at {overdue.since}, due at {ends}, last {before[-1]}")
    assert overdue.since >= ends
    assert max(before) < ends + ACKED


def _wait_until_overdue(watch: Watch, before: list[datetime]) -> Verdict:
    """Return the first verdict that says so; note the ticks before it."""
    found: list[Verdict] = []

    def is_overdue() -> bool:
        report = watch.agent.latest.get()
        assert report is not None
        (verdict,) = (v for v in report.verdicts if v.check == "canary")
        if verdict.health is Health.CRITICAL:
            found.append(verdict)
        else:
            before.append(report.at)
        return found != []

    wait_until(is_overdue, what=watch.verdict)
    assert found[0].code == "canary.overdue"
    return found[0]


def _oldest_not_copied(watch: Watch, lab: Lab) -> datetime:
    """Return when the oldest probe was sent that is at the source only."""
    copied = {r.value() for r in lab.read("target", CANARY_TOPIC)}
    waiting = (
        decode(record.value())
        for record in lab.read("source", CANARY_TOPIC)
        if record.value() not in copied
    )
    return min(p.sent_at for p in waiting if p and p.run == watch.store.run)
