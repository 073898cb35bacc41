"""One flow's part of an audit."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.flow_result import (
    MOST_FINDINGS,
    FlowResult,
    add_flow_result,
    flow_result_of,
    join,
)
from mirrorwatch.domain.audit.plan import Stated, Unverifiable
from mirrorwatch.domain.audit.result import AuditResult
from mirrorwatch.state.codec import from_json, to_json
from tests.support.audits import NIGHT, a_count, a_finding, a_result

FLOW = "summit->ldf"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def of(result: AuditResult) -> FlowResult:
    night = flow_result_of(result, FLOW)
    assert night is not None
    return night


def a_gap(topic: str, records: int | None) -> Unverifiable:
    return Unverifiable(
        flow=FLOW,
        topic=topic,
        partition=0,
        reason="expired",
        records=records,
    )


def test_a_flow_that_the_result_does_not_name_has_no_night() -> None:
    assert flow_result_of(a_result(), "other") is None
    assert flow_result_of(a_result(a_finding()), "other") is None


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
                    flow=FLOW,
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


def test_a_night_survives_the_state_file() -> None:
    night = of(a_result(a_finding(), unverifiable=(a_gap("events", None),)))
    assert from_json(FlowResult, to_json(night)) == night


def test_pieces_of_one_night_are_one_audit() -> None:
    first = of(replace(a_result(a_finding(), at=NIGHT), more=True))
    second = of(a_result(at=NIGHT + HOUR / 2))
    assert first.more
    second = replace(second, runs=("nightly-2026-11-21-2",))
    nights = add_flow_result(add_flow_result((), first, NIGHT), second, NIGHT)
    both = join(nights)
    assert both is not None
    # The second piece found nothing; the first one still did.
    assert both.found("dropped") == 1
    assert both.shown == first.shown
    assert both.end == second.end
    assert not both.more
    assert both.topics[0].source_records == 2000
    assert add_flow_result((first,), second, None) == (second,)


def test_the_next_night_takes_the_place_of_the_last() -> None:
    first = of(a_result(a_finding(), at=NIGHT - DAY))
    second = of(a_result(at=NIGHT))
    assert add_flow_result((first,), second, NIGHT) == (second,)
    # In whatever order they are read.
    assert add_flow_result((second,), first, NIGHT) == (second,)


def test_a_run_that_was_run_again_counts_once() -> None:
    first = of(a_result(a_finding(), at=NIGHT))
    again = of(a_result(at=NIGHT))
    assert add_flow_result((first,), again, NIGHT) == (again,)


def test_nothing_is_joined_to_nothing() -> None:
    assert join(()) is None


@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1))
def test_no_finding_is_forgotten_by_joining(found: list[list[int]]) -> None:
    nights: tuple[FlowResult, ...] = ()
    for number, counts in enumerate(found):
        at = NIGHT + number * HOUR / 60
        findings = [
            a_finding(first=n, last=n + count)
            for n, count in enumerate(counts)
        ]
        result = a_result(*findings, at=at, topics=(a_count(f"t{number}"),))
        night = replace(of(result), runs=(f"nightly-{number}",))
        nights = add_flow_result(nights, night, NIGHT)
    joined = join(nights)
    assert joined is not None
    assert len(joined.runs) == len(found)
    total = sum(count + 1 for counts in found for count in counts)
    assert joined.found("dropped") == total
