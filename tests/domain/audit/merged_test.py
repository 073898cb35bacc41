"""Several sources that feed one target, and sources without a target."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from mirrorwatch.domain.audit.facts import (
    AuditFound,
    Feed,
    FirstSince,
    LaneFacts,
    Log,
    Question,
    run_batched,
)
from mirrorwatch.domain.audit.nightly import NightlyInputs, plan_night
from mirrorwatch.domain.audit.plan import AuditedEnd, AuditSpan, Side
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from tests.support.audit_world import lane_of
from tests.support.builders import NOON

MINUTE = timedelta(minutes=1)
NOW = NOON + 10 * 60 * MINUTE


def minutes(*numbers: int) -> list[datetime]:
    return [NOON + number * MINUTE for number in numbers]


def a_log(
    cluster: str, stamps: list[datetime], *, start: int = 0, side: Side
) -> Log:
    return Log(
        side=side,
        cluster=cluster,
        place=("t", 0),
        topic_id=f"id {cluster}",
        retained=AuditSpan(start, len(stamps)),
    )


def plan(
    sources: Mapping[str, list[datetime]],
    target: list[datetime] | None,
    *,
    positions: Mapping[str, int | None],
    ends: Collection[AuditedEnd] = (),
    steady: bool = True,
    now: datetime = NOW,
    syncs: tuple[tuple[int, int], ...] = (),
) -> PlanningOutcome:
    stamps = {**sources, "hub": target or []}

    def answer(questions: Collection[Question]) -> dict[Question, AuditFound]:
        found = {}
        for question in questions:
            log = stamps[question.log.cluster]
            at = next(
                (
                    offset
                    for offset, time in enumerate(log)
                    if (
                        time >= question.time
                        if isinstance(question, FirstSince)
                        else offset >= question.offset
                    )
                ),
                None,
            )
            found[question] = AuditFound(at, None if at is None else log[at])
        return found

    lane = LaneFacts(
        cluster="hub",
        place=("t", 0),
        feeds=tuple(
            Feed(
                flow=f"{name}->hub",
                log=a_log(name, times, side="source"),
                steady=steady,
                position=positions[name],
                syncs=syncs,
            )
            for name, times in sources.items()
        ),
        goal=None if target is None else a_log("hub", target, side="target"),
    )
    night = NightlyInputs(
        now=now,
        settle=15 * MINUTE,
        slack=6 * 60 * MINUTE,
        ends={end.place: end for end in ends},
    )
    return run_batched([plan_night(lane, night)], answer)[0]


def test_sources_at_rest_are_compared_whole() -> None:
    lane = lane_of(
        plan(
            {"a": minutes(1, 3), "b": minutes(2, 4, 6)},
            minutes(1, 2, 3, 4, 6),
            positions={"a": 2, "b": 3},
        )
    )
    assert lane.cut == "idle"
    assert [s.span for s in lane.sources] == [AuditSpan(0, 2), AuditSpan(0, 3)]
    assert [s.flow for s in lane.sources] == ["a->hub", "b->hub"]
    assert lane.span == AuditSpan(0, 5)
    assert lane.topic == "t"


def test_a_source_that_lags_holds_back_the_cut_of_all() -> None:
    outcome = plan(
        {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
        minutes(1, 2, 3, 5, 7),
        positions={"a": 4, "b": 1},
    )
    lane = lane_of(outcome)
    assert lane.cut == "timestamp"
    # The first one of b that waits has minute 4.
    assert [s.span for s in lane.sources] == [AuditSpan(0, 2), AuditSpan(0, 1)]
    assert lane.span == AuditSpan(0, 3)
    assert lane.cut_at == NOON + 4 * MINUTE
    assert [(s.flow, s.count) for s in outcome.stated] == [("b->hub", 2)]


def test_a_source_that_joined_is_audited_from_its_start() -> None:
    end = AuditedEnd(
        flow="a->hub",
        topic="t",
        partition=0,
        source_end=2,
        target_end=2,
        source_id="id a",
        target_id="id hub",
        cut_at=NOON + 5 * MINUTE,
    )
    lane = lane_of(
        plan(
            {"a": minutes(1, 3, 6), "b": minutes(7, 8)},
            minutes(1, 3, 6, 7, 8),
            positions={"a": 3, "b": 2},
            ends=[end],
        )
    )
    assert [s.span for s in lane.sources] == [AuditSpan(2, 3), AuditSpan(0, 2)]
    assert lane.span == AuditSpan(2, 5)


def test_an_empty_source_needs_no_target() -> None:
    outcome = plan({"a": []}, None, positions={"a": None})
    assert outcome == PlanningOutcome()


def test_young_records_may_wait_for_their_topic() -> None:
    now = NOON + 10 * MINUTE
    outcome = plan({"a": minutes(1, 9)}, None, positions={"a": None}, now=now)
    assert outcome == PlanningOutcome()


def test_records_without_a_topic_are_unverifiable_if_nobody_read_them() -> (
    None
):
    outcome = plan({"a": minutes(1, 2)}, None, positions={"a": None})
    assert outcome.lane is None
    (gap,) = outcome.unverifiable
    assert gap.records == 2
    assert "not at the target hub" in gap.reason


def test_records_without_a_topic_are_missing_if_the_mirror_read_them() -> None:
    outcome = plan({"a": minutes(1, 2, 3)}, None, positions={"a": 2})
    lane = lane_of(outcome)
    assert (lane.sources[0].span, lane.span) == (
        AuditSpan(0, 2),
        AuditSpan(0, 0),
    )
    assert lane.topic_id == ""
    assert [gap.records for gap in outcome.unverifiable] == [1]
