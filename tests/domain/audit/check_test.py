"""The verdict on what an audit found, and on what it could not."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit import metrics as audit
from mirrorwatch.domain.audit.check import AuditLimits, judge_audit
from mirrorwatch.domain.audit.flow_result import (
    MOST_FINDINGS,
    Attempt,
    FlowResult,
    Outcome,
    TopicTally,
    flow_result_of,
    join,
    last_audit,
)
from mirrorwatch.domain.audit.plan import (
    SharedTopic,
    Stated,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import AuditResult, FindingKind
from mirrorwatch.domain.report import Health
from tests.support.audit import (
    CALM,
    DUE,
    GAP,
    HOUR,
    NIGHT,
    a_count,
    a_days_finding,
    a_finding,
    a_night,
    a_result,
    an_attempt,
    judged,
    with_findings,
)
from tests.support.builders import FLOW, NOON
from tests.support.findings import find

RUNNING = an_attempt("running", began=4 * HOUR)
NEWER = an_attempt("running")


@pytest.mark.parametrize(
    ("seen", "health", "codes"),
    [
        ({}, Health.OK, ["ok"]),
        ({"night": None, "overdue": None}, Health.UNKNOWN, ["no-data"]),
        (
            {"night": a_night(stated={"in_flight": 3, "expired": 9})},
            Health.OK,
            ["ok"],
        ),
        (
            {"night": a_night(gaps=(GAP, GAP), gaps_total=70)},
            Health.WARNING,
            ["unverifiable"],
        ),
        # A part of a night is not yet ok.
        (
            {"night": a_night(more=True), "overdue": None},
            Health.UNKNOWN,
            ["partial"],
        ),
        (
            {"night": a_night(more=True)},
            Health.WARNING,
            ["missed", "partial"],
        ),
        ({"overdue": DUE}, Health.OK, ["ok"]),
        ({"overdue": DUE + 2 * HOUR}, Health.WARNING, ["missed", "ok"]),
        ({"night": None}, Health.WARNING, ["missed", "no-data"]),
        # One that still runs after its grace is late; within the grace
        # nothing is overdue but the audit that was in time.
        (
            {"attempt": RUNNING, "overdue": RUNNING.due},
            Health.WARNING,
            ["late", "ok"],
        ),
        ({"attempt": RUNNING}, Health.OK, ["ok"]),
        # A new one that runs does not excuse one that was missed.
        (
            {"attempt": NEWER, "overdue": NEWER.due - 5 * HOUR},
            Health.WARNING,
            ["missed", "ok"],
        ),
        # A failure is forgiven once another came to its end.
        (
            {"attempt": an_attempt("failed", began=11 * HOUR)},
            Health.OK,
            ["ok"],
        ),
        # One that kept a part of what it compared has not come to its end.
        (
            {"attempt": an_attempt("failed", began=9.6 * HOUR)},
            Health.WARNING,
            ["failed", "ok"],
        ),
        (
            {"problems": ("no right",)},
            Health.UNKNOWN,
            ["unreadable", "ok"],
        ),
        ({"at": NOON - 4 * HOUR / 60}, Health.OK, ["ok"]),
        ({"at": NOON - 6 * HOUR / 60}, Health.UNKNOWN, ["stale", "ok"]),
    ],
)
def test_what_is_found(
    seen: dict[str, Any], health: Health, codes: list[str]
) -> None:
    verdict = judged(**seen)
    assert verdict.health is health
    assert list(verdict.codes) == [f"audit.{code}" for code in codes]


def test_without_an_audit_in_the_configuration_it_is_off() -> None:
    off = AuditLimits(enabled=False)
    verdict = judge_audit(FLOW.name, None, off, NOON)
    assert (verdict.health, verdict.codes) == (Health.OFF, ("audit.off",))
    nothing = judged(None)
    assert (nothing.health, nothing.codes) == (
        Health.UNKNOWN,
        ("audit.no-data",),
    )


@pytest.mark.parametrize(
    "outcome", ["failed", "timeout", "stopped", "abandoned"]
)
def test_one_that_did_not_come_to_its_end_is_a_warning(
    outcome: Outcome,
) -> None:
    attempt = an_attempt(outcome, error="no broker answers")
    for night in ({}, {"night": None}):
        verdict = judged(attempt=attempt, **night)
        assert verdict.health is Health.WARNING
        assert verdict.code == "audit.failed"
    assert verdict.evidence["attempt"] == outcome
    assert verdict.evidence["attempt_output_2"] == "Error: no broker answers"


@pytest.mark.parametrize("kind", ["dropped", "corrupted", "extra"])
def test_what_is_proved_is_one_finding_for_each_topic(
    kind: FindingKind,
) -> None:
    of_other = replace(a_days_finding(kind, 3), topic="other")
    verdict = judged(
        with_findings(
            a_days_finding(kind),
            a_days_finding(kind, 2, partition=1),
            a_days_finding("duplicated", 99),
            of_other,
        )
    )
    assert [
        (f.code, f.subject, f.numbers["records"]) for f in verdict.findings
    ] == [
        (f"audit.{kind}", {"topic": "events"}, 19),
        (f"audit.{kind}", {"topic": "other"}, 3),
        # What is lost is told before what is doubled.
        ("audit.duplicated", {"topic": "events"}, 99),
    ]
    assert {f.health for f in verdict.findings} == {Health.CRITICAL}
    assert verdict.evidence[f"{kind}_records"] == 22


def test_records_are_counted_that_no_range_was_kept_of() -> None:
    night = a_night(topics=(TopicTally(topic="t", found={"dropped": 7}),))
    verdict = judged(night=night)
    find(verdict, "audit.dropped", topic="t", records=7, source_ranges=None)


def test_what_could_not_be_verified_is_counted() -> None:
    topics = (TopicTally(topic="events", unverifiable=81),)
    night = a_night(topics=topics, gaps=(GAP, GAP), gaps_total=70)
    find(
        judged(night=night),
        "audit.unverifiable",
        topic="events",
        partition=1,
        records=81,
        ranges=70,
        problem=GAP.reason,
    )


def test_a_clean_night_says_of_what() -> None:
    verdict = judged(night=a_night(stated={"in_flight": 3, "expired": 9}))
    find(verdict, "audit.ok", records=1000, topics=2, stated_records=12)
    assert verdict.evidence["source_records"] == 1000
    assert verdict.evidence["dropped_records"] == 0
    assert verdict.evidence["next_due"] == "2026-01-03T02:00:00+00:00"
    assert verdict.evidence["in_flight_records"] == 3
    assert verdict.evidence["expired_records"] == 9


def test_findings_name_the_ranges_of_each_partition() -> None:
    verdict = judged(
        with_findings(a_days_finding(), a_days_finding(count=2, partition=1))
    )
    ranges = "partition 3: 42-57, 99; partition 1: 42-57, 99"
    find(verdict, "audit.dropped", source_ranges=ranges, target_ranges=None)


def test_what_a_filter_drops_is_counted_and_no_alarm() -> None:
    filtered = a_days_finding("filtered", 1203)
    verdict = judged(with_findings(filtered))
    assert (verdict.health, verdict.codes) == (Health.OK, ("audit.ok",))
    assert verdict.evidence["filtered_records"] == 1203
    assert verdict.evidence["dropped_records"] == 0
    # It hides nothing else.
    lossy = judged(with_findings(filtered, a_days_finding("dropped", 1)))
    assert lossy.codes == ("audit.dropped",)


def test_a_later_failure_never_makes_findings_better() -> None:
    verdict = judged(
        with_findings(a_days_finding()),
        attempt=an_attempt("failed", error="x"),
    )
    assert verdict.codes == ("audit.dropped", "audit.failed")
    assert verdict.health is Health.CRITICAL


maybe = st.none() | st.sampled_from([DUE, DUE + HOUR, NOON])


@given(
    night=st.sampled_from(
        [
            None,
            a_night(),
            with_findings(a_days_finding()).night,
            a_night(gaps=(GAP,), gaps_total=1),
            a_night(more=True),
        ]
    ),
    attempt=st.none()
    | st.builds(
        an_attempt,
        st.sampled_from(
            ["running", "finished", "failed", "timeout", "abandoned"]
        ),
        began=st.integers(1, 20).map(lambda hours: hours * HOUR),
    ),
    overdue=maybe,
    problems=st.sampled_from([(), ("blind",)]),
    at=st.sampled_from([NOON, NOON - HOUR]),
)
def test_ok_means_that_the_last_audit_due_was_clean(
    night: Any,
    attempt: Attempt | None,
    overdue: datetime | None,
    problems: tuple[str, ...],
    at: datetime,
) -> None:
    verdict = judged(
        night=night, attempt=attempt, overdue=overdue, problems=problems, at=at
    )
    if night is not None and night.findings:
        assert verdict.health is Health.CRITICAL
    if verdict.health is Health.OK:
        assert night is not None
        assert (night.findings, night.gaps, night.more) == ((), (), False)
        assert not problems
        assert overdue is None or night.end >= overdue
        assert at == NOON
        assert (
            attempt is None
            or attempt.outcome in {"running", "finished"}
            or (attempt.ended_at or NOON) <= night.ended_at
        )


FLOW_NAME = CALM.flow


def told(*topics: TopicTally) -> dict[tuple[str, ...], object]:
    assert CALM.night is not None
    seen = replace(CALM, night=replace(CALM.night, topics=topics))
    later = CALM.at + timedelta(minutes=1)
    return {
        (sample.metric.name, *sample.labels): sample.value
        for sample in audit.samples(seen, later)
        if sample.metric is not audit.LAST_SUCCESS
    }


def in_all(**found: int) -> dict[tuple[str, ...], object]:
    kinds = (*audit.FOUND, audit.UNJUDGED)
    return {(audit.IN_ALL.name, FLOW_NAME, k): found.get(k, 0) for k in kinds}


def test_a_clean_night_is_five_zeros_however_many_topics_there_are() -> None:
    topics = [TopicTally(topic=f"t{n}", source_records=9) for n in range(1000)]
    assert told(*topics) == in_all()


def test_topics_that_are_concerned_are_told_and_summed_up() -> None:
    figures = told(
        TopicTally(topic="clean", source_records=9),
        TopicTally(topic="lossy", found={"dropped": 3, "extra": 1}),
        TopicTally(topic="unclear", found={"dropped": 2}, unverifiable=40),
        TopicTally(topic="expired", unverifiable=2),
    )
    sums = in_all(dropped=5, extra=1, unverifiable=42)
    assert sums.items() <= figures.items()
    topics = {labels[2] for labels in figures if labels not in sums}
    assert topics == {"lossy", "unclear", "expired"}
    assert figures[audit.FOUND["dropped"].name, FLOW_NAME, "lossy"] == 3
    assert figures[audit.FOUND["corrupted"].name, FLOW_NAME, "lossy"] == 0
    assert figures[audit.UNVERIFIABLE.name, FLOW_NAME, "expired"] == 2


AUDITED_FLOW = "summit->ldf"
ONE_HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def of(result: AuditResult) -> FlowResult:
    night = flow_result_of(result, AUDITED_FLOW)
    assert night is not None
    return night


def a_gap(topic: str, records: int | None) -> Unverifiable:
    return Unverifiable(
        flow=AUDITED_FLOW,
        topic=topic,
        partition=0,
        reason="expired",
        records=records,
    )


def test_a_flow_that_the_result_does_not_name_has_no_night() -> None:
    assert flow_result_of(a_result(), "other") is None
    assert flow_result_of(a_result(a_finding()), "other") is None


def test_each_flow_of_a_merged_topic_has_its_night() -> None:
    """Else what one of them found would never be taken back."""
    gap = a_gap("events", 7)
    shared = SharedTopic(
        flow="other", reported_under=AUDITED_FLOW, topic="events"
    )
    result = replace(
        a_result(
            replace(a_finding(), flow="other"),
            a_finding("extra"),
            topics=(a_count("events", 10, 9), a_count("own")),
            unverifiable=(gap,),
        ),
        shared=(shared,),
    )
    night = flow_result_of(result, "other")
    assert night is not None
    (topic,) = night.topics
    assert (topic.topic, topic.source_records) == ("events", 10)
    # What was found is of one flow, what could not be judged is of all.
    assert topic.found == {"dropped": 1}
    assert night.gaps == (gap,)
    clean = flow_result_of(replace(a_result(), shared=(shared,)), "other")
    assert clean is not None
    assert not clean.wrong
    assert flow_result_of(result, "another") is None


def test_sums_are_by_topic_and_count_what_is_not_kept() -> None:
    findings = [
        a_finding(first=10 * n, last=10 * n) for n in range(MOST_FINDINGS + 20)
    ]
    night = of(
        a_result(
            *findings,
            a_finding("duplicated", topic="gone", last=44),
            stated=(
                Stated(
                    flow=AUDITED_FLOW,
                    topic="events",
                    partition=0,
                    kind="in_flight",
                    count=5,
                ),
            ),
            unverifiable=(a_gap("events", 7), a_gap("events", None)),
        )
    )
    events, gone = night.topics
    assert events.found == {"dropped": MOST_FINDINGS + 20}
    assert events.unverifiable == 8
    assert (gone.topic, gone.found) == ("gone", {"duplicated": 3})
    assert night.found("dropped") == MOST_FINDINGS + 20
    assert len(night.findings) == MOST_FINDINGS + 1
    assert night.stated == {"in_flight": 5}
    assert night.gaps_total == 2


@pytest.mark.parametrize(("records", "told"), [(7, 7), (None, 1), (0, 1)])
def test_what_could_not_be_verified_is_never_counted_as_nothing(
    records: int | None, told: int
) -> None:
    """Of a range that only the target has, no source offset is lost."""
    night = of(a_result(unverifiable=(a_gap("events", records),)))
    assert [topic.unverifiable for topic in night.topics] == [told]


def test_pieces_of_one_night_are_one_audit() -> None:
    first = of(replace(a_result(a_finding(), at=NIGHT), more=True))
    second = of(a_result(at=NIGHT + ONE_HOUR / 2))
    assert first.more
    second = replace(second, runs=("nightly-2026-11-21-2",))
    nights = last_audit([second, first], NIGHT)
    both = join(nights)
    assert both is not None
    # The second piece found nothing; the first one still did.
    assert both.found("dropped") == 1
    assert both.shown == first.shown
    assert both.end == second.end
    assert not both.more
    assert both.topics[0].source_records == 2000
    # So they are where the hourly schedule was due meanwhile.
    for since in (second.end - ONE_HOUR / 60, None):
        assert last_audit([first, second], since) == (first, second)
    third = of(a_result(at=NIGHT + DAY))
    assert last_audit([first, second, third], third.end) == (third,)


def test_the_next_night_takes_the_place_of_the_last() -> None:
    first = of(a_result(a_finding(), at=NIGHT - DAY))
    second = of(a_result(at=NIGHT))
    # In whatever order they are read.
    for runs in ([first, second], [second, first]):
        assert last_audit(runs, NIGHT) == (second,)


def test_nothing_is_joined_to_nothing() -> None:
    assert join(()) is None


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1))
def test_no_finding_is_forgotten_by_joining(found: list[list[int]]) -> None:
    nights: list[FlowResult] = []
    for number, counts in enumerate(found):
        at = NIGHT + number * ONE_HOUR / 60
        findings = [
            a_finding(first=n, last=n + count)
            for n, count in enumerate(counts)
        ]
        result = a_result(*findings, at=at, topics=(a_count(f"t{number}"),))
        nights.append(replace(of(result), runs=(f"nightly-{number}",)))
    joined = join(last_audit(nights, NIGHT))
    assert joined is not None
    assert len(joined.runs) == len(found)
    total = sum(count + 1 for counts in found for count in counts)
    assert joined.found("dropped") == total
