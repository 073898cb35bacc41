"""Findings of the check `canary`: what makes each, and what does not."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary import texts
from mirrorwatch.domain.canary.check import CanaryLimits, judge_canary
from mirrorwatch.domain.canary.model import (
    CanaryCounts,
    CanaryObservation,
    CanaryPartition,
    Loss,
)
from mirrorwatch.domain.metrics import Histogram
from mirrorwatch.domain.report import Finding, Health, Numbers, Verdict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HEALTHY = CanaryPartition(
    partition=0,
    counts=CanaryCounts(sent=9, acked=9, delivered=8),
    latency=Histogram(),
    replication=Histogram(),
    produce=Histogram(),
    outstanding=1,
    oldest_outstanding=NOW - timedelta(seconds=1),
    oldest_unacked=None,
    last_arrival=NOW - timedelta(seconds=1),
)
SEEN = CanaryObservation(
    flow="f",
    at=NOW,
    topic="canary",
    remote_topic="summit.canary",
    partitions=(HEALTHY, replace(HEALTHY, partition=1)),
)
LOSS = Loss(
    flow="f",
    partition=3,
    sequence=17,
    source_offset=41,
    sent_at=NOW,
    proved_at=NOW - timedelta(minutes=5),
    proof="The committed position is 50",
)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def judged(seen: CanaryObservation | None, *, enabled: bool = True) -> Verdict:
    return judge_canary("f", seen, CanaryLimits(enabled=enabled), NOW)


def with_partition(**changes: Any) -> CanaryObservation:
    broken = replace(HEALTHY, partition=1, **changes)
    return replace(SEEN, partitions=(HEALTHY, broken))


OVERDUE = with_partition(oldest_outstanding=ago(99), last_arrival=ago(99))
ALL = frozenset({0, 1})


@pytest.mark.parametrize(
    ("change", "health", "code", "numbers"),
    [
        ({}, Health.OK, "canary.ok", {"partitions": 2}),
        (
            {"oldest_outstanding": ago(30.1)},
            Health.CRITICAL,
            "canary.overdue",
            {"partitions": 1, "seconds": 30.1},
        ),
        ({"oldest_outstanding": ago(29.9)}, Health.OK, "canary.ok", {}),
        (
            {"oldest_unacked": ago(31)},
            Health.UNKNOWN,
            "canary.unacknowledged",
            {"partitions": 1, "seconds": 31},
        ),
        ({"oldest_unacked": ago(29)}, Health.OK, "canary.ok", {}),
        (
            {"last_arrival": None},
            Health.UNKNOWN,
            "canary.silent",
            {"partitions": 1},
        ),
        (
            {"last_arrival": ago(31)},
            Health.UNKNOWN,
            "canary.silent",
            {"partitions": 1},
        ),
        (
            {"last_late": ago(599)},
            Health.WARNING,
            "canary.late",
            {"partitions": 1, "seconds": 599},
        ),
        ({"last_late": ago(601)}, Health.OK, "canary.ok", {}),
        (
            {"last_duplicate": ago(5)},
            Health.WARNING,
            "canary.duplicated",
            {"seconds": 5},
        ),
        (
            {"last_failed": ago(5)},
            Health.WARNING,
            "canary.failed",
            {"seconds": 5},
        ),
        (
            {"warming": True, "last_arrival": None},
            Health.OK,
            "canary.ok",
            {"warming_partitions": 1},
        ),
    ],
)
def test_one_partition_decides(
    change: Mapping[str, Any], health: Health, code: str, numbers: Numbers
) -> None:
    verdict = judged(with_partition(**change))
    assert (verdict.health, verdict.code) == (health, code)
    found = verdict.findings[0].numbers
    assert {name: found[name] for name in numbers} == numbers


@pytest.mark.parametrize(
    ("seen", "health", "code"),
    [
        (None, Health.UNKNOWN, "canary.no-data"),
        (replace(SEEN, partitions=()), Health.UNKNOWN, "canary.no-data"),
        (replace(SEEN, at=ago(6)), Health.UNKNOWN, "canary.stale"),
        # Sent a second before the agent was paused.
        (
            replace(
                with_partition(
                    oldest_outstanding=ago(26), last_arrival=ago(26)
                ),
                at=ago(25),
            ),
            Health.UNKNOWN,
            "canary.stale",
        ),
        (OVERDUE, Health.CRITICAL, "canary.overdue"),
        # What has not been read to its end is neither overdue nor ok.
        (replace(OVERDUE, unread=ALL), Health.UNKNOWN, "canary.unread"),
        (
            replace(
                with_partition(oldest_outstanding=ago(99)),
                unread=ALL,
            ),
            Health.UNKNOWN,
            "canary.unread",
        ),
        # The cause comes first.
        (
            replace(
                OVERDUE,
                unread=ALL,
                problems=(
                    texts.UNREADABLE.found(
                        Health.UNKNOWN, problem="Mirrorwatch lacks READ"
                    ),
                ),
            ),
            Health.UNKNOWN,
            "canary.unreadable",
        ),
        (
            replace(
                SEEN,
                partitions=(
                    replace(HEALTHY, warming=True, last_arrival=None),
                ),
            ),
            Health.UNKNOWN,
            "canary.warming",
        ),
        (
            replace(
                SEEN,
                problems=(Finding("canary.loop", Health.CRITICAL, "Around"),),
            ),
            Health.CRITICAL,
            "canary.loop",
        ),
    ],
)
def test_what_else_decides(
    seen: CanaryObservation | None, health: Health, code: str
) -> None:
    verdict = judged(seen)
    assert (verdict.health, verdict.code) == (health, code)


def test_what_was_overdue_before_a_pause_is_still_known() -> None:
    overdue = judged(replace(OVERDUE, at=ago(25))).findings[0]
    assert (overdue.code, overdue.health) == (
        "canary.overdue",
        Health.CRITICAL,
    )
    assert overdue.numbers["seconds"] == 74


def test_losses_within_the_window_are_counted_exactly() -> None:
    old = replace(LOSS, proved_at=ago(3601))
    found = judged(replace(SEEN, losses=(old, LOSS, LOSS, LOSS)))
    (lost,) = (f for f in found.findings if f.code == "canary.lost")
    assert found.health is lost.health is Health.CRITICAL
    assert lost.subject == {"topic": "canary"}
    assert lost.numbers == {
        "records": 3,
        "window_seconds": 3600,
        "partition": 3,
        "source_offset": 41,
        "proof": LOSS.proof,
    }
    assert judged(replace(SEEN, losses=(old,))).codes == ("canary.ok",)


def test_a_canary_that_is_off_is_off() -> None:
    verdict = judged(SEEN, enabled=False)
    assert (verdict.health, verdict.codes) == (Health.OFF, ("canary.off",))


def test_the_evidence_sums_the_partitions() -> None:
    assert judged(SEEN).evidence["delivered"] == 16


@given(st.lists(st.sampled_from(list(Health)), max_size=5))
def test_every_problem_is_a_finding_and_the_worst_leads(
    healths: list[Health],
) -> None:
    problems = [
        Finding("canary.unreadable", h, f"trouble {n}")
        for n, h in enumerate(healths)
    ]
    verdict = judged(replace(SEEN, problems=tuple(problems)))
    assert verdict.health is max([*healths, Health.OK])
    assert [f.health for f in verdict.findings] == sorted(
        [*healths, Health.OK], reverse=True
    )
    assert all(problem in verdict.findings for problem in problems)
