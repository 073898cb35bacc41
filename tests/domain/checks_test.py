"""Every verdict: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.check import CanaryLimits, judge_canary
from mirrorwatch.domain.canary.model import (
    CanaryCounts,
    CanaryObservation,
    CanaryPartition,
    Loss,
)
from mirrorwatch.domain.checks import (
    CHECKS,
    MIRROR,
    FlowLimits,
    judge,
    with_name,
)
from mirrorwatch.domain.latency import (
    LatencyLimits,
    LatencyObservation,
    judge_latency,
)
from mirrorwatch.domain.metrics import Histogram
from mirrorwatch.domain.report import Health, Problem, Verdict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = CanaryLimits()
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


def canary(seen: CanaryObservation | None) -> Verdict:
    return judge_canary("f", seen, LIMITS, NOW)


def with_partition(**changes: object) -> CanaryObservation:
    broken = replace(HEALTHY, partition=1, **changes)  # type: ignore[arg-type]
    return replace(SEEN, partitions=(HEALTHY, broken))


def test_probes_that_arrive_are_ok() -> None:
    verdict = canary(SEEN)
    assert verdict.health is Health.OK
    assert verdict.evidence["delivered"] == 16


@pytest.mark.parametrize(
    ("change", "health", "words"),
    [
        ({"oldest_outstanding": ago(30.1)}, Health.CRITICAL, "overdue"),
        ({"oldest_outstanding": ago(29.9)}, Health.OK, "arrive on all 2"),
        ({"oldest_unacked": ago(31)}, Health.UNKNOWN, "acknowledged"),
        ({"oldest_unacked": ago(29)}, Health.OK, "arrive"),
        ({"last_arrival": None}, Health.UNKNOWN, "on partition 1 of 2 for"),
        ({"last_arrival": ago(31)}, Health.UNKNOWN, "No probe has arrived"),
        ({"last_late": ago(599)}, Health.WARNING, "arrived late"),
        ({"last_late": ago(601)}, Health.OK, "arrive"),
        ({"last_duplicate": ago(5)}, Health.WARNING, "were duplicated"),
        ({"last_failed": ago(5)}, Health.WARNING, "could not be produced"),
        (
            {"warming": True, "last_arrival": None},
            Health.OK,
            "1 of them new and waiting for MirrorMaker",
        ),
    ],
)
def test_one_partition_decides(
    change: dict[str, object], health: Health, words: str
) -> None:
    verdict = canary(with_partition(**change))
    assert verdict.health is health
    assert words in verdict.reason


def test_partitions_are_named_unless_it_is_all_of_them() -> None:
    late = replace(HEALTHY, oldest_outstanding=ago(99), last_arrival=ago(99))
    few = [replace(late, partition=n) for n in range(7)]
    for partitions, named in (
        ([late], "Probes on the one partition are overdue"),
        (few[:3], "Probes on all 3 partitions are overdue"),
        (
            [*few, replace(HEALTHY, partition=7)],
            "Probes on partitions 0, 1, 2, 3, 4 and 2 more of 8 are overdue",
        ),
    ):
        verdict = canary(replace(SEEN, partitions=tuple(partitions)))
        assert verdict.reason.startswith(named)


def test_a_loss_is_critical_for_an_hour_and_named() -> None:
    verdict = canary(replace(SEEN, losses=(LOSS,)))
    assert verdict.health is Health.CRITICAL
    assert "sequence 17 on partition 3 (source offset 41)" in verdict.reason
    old = replace(LOSS, proved_at=ago(3601))
    assert canary(replace(SEEN, losses=(old,))).health is Health.OK


def test_nothing_seen_is_unknown() -> None:
    assert canary(None).health is Health.UNKNOWN
    assert canary(replace(SEEN, partitions=())).health is Health.UNKNOWN


def test_a_canary_that_stands_still_is_unknown() -> None:
    verdict = canary(replace(SEEN, at=ago(6)))
    assert verdict.health is Health.UNKNOWN
    assert "has been stuck for" in verdict.reason


def test_nothing_is_overdue_because_nobody_looked() -> None:
    # Sent a second before the agent was paused.
    paused = with_partition(oldest_outstanding=ago(26), last_arrival=ago(26))
    verdict = canary(replace(paused, at=ago(25)))
    assert verdict.health is Health.UNKNOWN
    assert "has been stuck for" in verdict.reason
    # What was overdue before is still known.
    overdue = with_partition(oldest_outstanding=ago(99), last_arrival=ago(99))
    verdict = canary(replace(overdue, at=ago(25)))
    assert verdict.health is Health.CRITICAL
    assert "outstanding for 74 s" in verdict.reason


def test_an_agent_that_may_not_read_does_not_blame_the_mirror() -> None:
    overdue = with_partition(oldest_outstanding=ago(99), last_arrival=ago(99))
    assert canary(overdue).health is Health.CRITICAL
    refused = Problem.unknown("Mirrorwatch lacks READ")
    unread = frozenset(p.partition for p in overdue.partitions)
    verdict = canary(replace(overdue, unread=unread, problems=(refused,)))
    assert verdict.health is Health.UNKNOWN
    assert verdict.reason.startswith("Mirrorwatch lacks READ")


def test_what_has_not_been_read_to_its_end_is_not_overdue_and_not_ok() -> None:
    # The first probes of a backlog have been read just now.
    behind = with_partition(oldest_outstanding=ago(99), last_arrival=ago(0))
    assert canary(behind).health is Health.CRITICAL
    unread = frozenset(p.partition for p in behind.partitions)
    verdict = canary(replace(behind, unread=unread))
    assert verdict.health is Health.UNKNOWN
    assert "at the target is still being read" in verdict.reason


def test_only_new_partitions_are_unknown() -> None:
    new = replace(HEALTHY, warming=True, last_arrival=None)
    verdict = canary(replace(SEEN, partitions=(new,)))
    assert verdict.health is Health.UNKNOWN
    assert "is new: waiting for MirrorMaker" in verdict.reason


def test_a_canary_that_is_off_is_off() -> None:
    limits = CanaryLimits(enabled=False)
    assert judge_canary("f", None, limits, NOW).health is Health.OFF


@given(st.lists(st.sampled_from(list(Health)), max_size=5))
def test_the_worst_problem_gives_the_reason_and_the_rest_is_evidence(
    healths: list[Health],
) -> None:
    problems = [Problem(h, f"trouble {n}") for n, h in enumerate(healths)]
    verdict = canary(replace(SEEN, problems=tuple(problems)))
    bad = [p for p in problems if p.health > Health.OK]
    worst = max((p.health for p in bad), default=Health.OK)
    assert verdict.health is worst
    said = [verdict.reason, *(str(v) for v in verdict.evidence.values())]
    assert all(any(p.text in text for text in said) for p in bad)


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("p99", "usual", "health"),
    [
        (None, SECOND, Health.UNKNOWN),
        (0.01 * SECOND, 0.0001 * SECOND, Health.OK),
        (4.9 * SECOND, 0.1 * SECOND, Health.WARNING),
        (5.1 * SECOND, 0.1 * SECOND, Health.CRITICAL),
        (5.1 * SECOND, 1 * SECOND, Health.WARNING),
        (5.1 * SECOND, 3 * SECOND, Health.OK),
        (2.1 * SECOND, None, Health.WARNING),
        (5.1 * SECOND, None, Health.WARNING),
        (1.9 * SECOND, None, Health.OK),
    ],
)
def test_latency_is_judged_by_time_and_by_what_is_usual(
    p99: timedelta | None, usual: timedelta | None, health: Health
) -> None:
    seen = LatencyObservation(
        flow="f", at=NOW, p99=p99, usual=usual, measured=1
    )
    assert judge_latency("f", seen, LatencyLimits(), NOW).health is health


@pytest.mark.parametrize(
    ("p99", "words"),
    [
        (0.004_84 * SECOND, "0.00484 s"),
        (0.1234 * SECOND, "0.123 s"),
        (231.041 * SECOND, "231 s"),
        (4231.4 * SECOND, "4231 s"),
    ],
)
def test_latency_is_told_with_three_digits(p99: timedelta, words: str) -> None:
    seen = LatencyObservation(
        flow="f", at=NOW, p99=p99, usual=SECOND, measured=1
    )
    reason = judge_latency("f", seen, LatencyLimits(), NOW).reason
    assert f"latency is {words} over the last 5 min" in reason
    assert reason.endswith("baseline 1 s")


@pytest.mark.parametrize(
    ("watched", "words"),
    [(2 * SECOND, "since mirrorwatch started, 2 s ago"), (None, "5 min")],
)
def test_no_more_is_said_of_probes_than_was_seen(
    watched: timedelta | None, words: str
) -> None:
    seen = LatencyObservation(
        flow="f", at=NOW, p99=None, usual=None, measured=0, watched=watched
    )
    verdict = judge_latency("f", seen, LatencyLimits(), NOW)
    assert verdict.health is Health.UNKNOWN
    assert verdict.reason.endswith(words)


def test_every_flow_has_a_verdict_for_every_check() -> None:
    limits: dict[str, FlowLimits] = {"one": {}, "two": {}}
    verdicts = judge(limits, [replace(SEEN, flow="two")], NOW)
    assert [(v.flow, v.check) for v in verdicts] == [
        (flow, check) for flow in limits for check in CHECKS
    ]
    healths = {(v.flow, v.check): v.health for v in verdicts}
    assert healths["one", "canary"] is Health.UNKNOWN
    assert healths["two", "canary"] is Health.OK


def stopped(title: str | None) -> Verdict:
    """Return the verdict of a canary all of whose probes are overdue."""
    late = replace(HEALTHY, oldest_outstanding=ago(600), last_arrival=ago(600))
    seen = replace(
        SEEN,
        partitions=(late, replace(late, partition=1)),
        topic="MirrorMaker",
    )
    limits: dict[str, FlowLimits] = {"f": {MIRROR: title}}
    verdicts = judge(limits, [seen], NOW)
    return next(v for v in verdicts if v.check == "canary")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        (None, "Check that MirrorMaker runs"),
        ("Mirus", "Check that Mirus runs"),
        ("the mirror", "Check that the mirror runs"),
    ],
)
def test_the_mirror_is_called_by_its_name(
    title: str | None, words: str
) -> None:
    assert words in stopped(title).reason


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("MirrorMaker was rewound", "The mirror was rewound"),
        ("It stopped. MirrorMaker is down", "It stopped. The mirror is down"),
        ("start MirrorMaker's worker", "start the mirror's worker"),
        ("Check the MirrorMaker task", "Check the mirror task"),
        # Other names stay as they are.
        ("MirrorMaker 1 does not run", "MirrorMaker 1 does not run"),
        ("a topic MirrorMaker[0]", "a topic MirrorMaker[0]"),
        ("a topic MirrorMaker.x", "a topic MirrorMaker.x"),
        ("the MirrorMakerConnector", "the MirrorMakerConnector"),
    ],
)
def test_only_the_mirror_is_renamed(reason: str, words: str) -> None:
    verdict = Verdict(
        flow="f",
        check="lag",
        health=Health.WARNING,
        reason=reason,
        since=NOW,
        evidence={"also_1": reason, "partitions": 2},
    )
    found = with_name(verdict, "the mirror")
    assert found.reason == words
    assert found.evidence == {"also_1": words, "partitions": 2}
