"""The verdict on skips: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.model import (
    ForeignRecords,
    PendingReads,
    SkipCounters,
    SkipEvent,
    SkipKind,
    SkipsObservation,
    SuspectedDrop,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALM = SkipsObservation(
    flow="f", at=NOW, partitions=7, tallies=(("t", SkipCounters()),)
)
SKIP = SkipEvent(
    kind=SkipKind.SKIPPED,
    topic="t",
    partition=3,
    source_id="s",
    ranges=((30, 39),),
    count=10,
    at=NOW - timedelta(minutes=59),
)


def judged(seen: SkipsObservation | None) -> Verdict:
    return judge_skips("f", seen, SkipsLimits(), NOW)


def happened(*events: tuple[SkipEvent, int]) -> SkipsObservation:
    return replace(CALM, events=events)


def test_nothing_skipped_is_ok() -> None:
    verdict = judged(CALM)
    assert verdict.health is Health.OK
    assert (
        "No record was skipped or duplicated on 7 partitions" in verdict.reason
    )


def test_a_topic_that_is_hidden_is_not_known_and_others_are() -> None:
    hidden = "Mirrorwatch cannot see u, which MirrorMaker copies"
    lag = LagObservation(flow="f", at=NOW, hidden=hidden)
    verdict = judge_skips("f", CALM, SkipsLimits(), NOW, lag)
    assert (verdict.health, verdict.reason) == (Health.UNKNOWN, hidden)
    skipped = happened((SKIP, 10))
    verdict = judge_skips("f", skipped, SkipsLimits(), NOW, lag)
    assert verdict.health is Health.CRITICAL
    assert hidden in verdict.evidence.values()
    # Only what is denied: one that may be deleted is listed no more, too.
    lag = LagObservation(flow="f", at=NOW, problems=("u is listed no more",))
    verdict = judge_skips("f", CALM, SkipsLimits(), NOW, lag)
    assert verdict.health is Health.OK


@pytest.mark.parametrize(
    "kind",
    [
        SkipKind.SKIPPED,
        SkipKind.HEAD,
        SkipKind.TAIL,
        SkipKind.TRUNCATED,
    ],
)
def test_a_skip_is_critical_and_named(kind: SkipKind) -> None:
    verdict = judged(happened((replace(SKIP, kind=kind), 10)))
    assert verdict.health is Health.CRITICAL
    assert verdict.reason.startswith(
        "10 records of t partition 3 (source offsets 30 to 39) "
    )
    assert verdict.evidence["skip_1"] == (
        "10 of t partition 3 (source offsets 30 to 39)"
    )


def test_of_a_sample_the_count_is_a_lower_bound() -> None:
    verdict = judged(happened((replace(SKIP, kind=SkipKind.SAMPLED), 10)))
    assert verdict.health is Health.CRITICAL
    assert verdict.reason.startswith(
        "At least 10 records of t partition 3 (source offsets 30 to 39) were "
    )


def test_a_skip_is_forgotten_after_its_window_or_when_it_is_copied() -> None:
    old = replace(SKIP, at=NOW - timedelta(minutes=61))
    assert judged(happened((old, 10))).health is Health.OK
    assert judged(happened((SKIP, 0))).health is Health.OK
    verdict = judged(happened((SKIP, 4)))
    assert verdict.reason.startswith("4 records of t partition 3")


def test_more_skips_are_counted_behind_the_last_one() -> None:
    other = replace(SKIP, partition=4, ranges=((7, 7),), count=1)
    verdict = judged(happened((SKIP, 10), (other, 1)))
    assert verdict.reason.startswith("1 record of t partition 4")
    assert "10 more in other ranges" in verdict.reason


@pytest.mark.parametrize(
    ("kind", "minutes", "says", "name"),
    [
        (
            SkipKind.REPEATED,
            10,
            "were duplicated; none was lost",
            "repeat_1",
        ),
        (SkipKind.UNVERIFIABLE, 60, "cannot be verified", "unverifiable_1"),
    ],
)
def test_repeats_warn_for_ten_minutes_and_what_may_be_lost_for_an_hour(
    kind: SkipKind, minutes: int, says: str, name: str
) -> None:
    young = replace(SKIP, kind=kind, at=NOW - timedelta(minutes=minutes - 1))
    verdict = judged(happened((young, 10)))
    assert verdict.health is Health.WARNING
    assert says in verdict.reason
    assert verdict.evidence[name] == (
        "10 of t partition 3 (source offsets 30 to 39)"
    )
    old = replace(SKIP, kind=kind, at=NOW - timedelta(minutes=minutes + 1))
    assert judged(happened((old, 10))).health is Health.OK
    assert name not in judged(happened((old, 10))).evidence


@pytest.mark.parametrize("kind", SkipKind)
def test_one_record_alone_is_told_of_each_kind(kind: SkipKind) -> None:
    one = replace(SKIP, kind=kind, count=1, ranges=((7, 7),), at=NOW)
    assert "1 record of t" in judged(happened((one, 1))).reason


def test_records_of_others_warn_and_say_what_cannot_be_proved() -> None:
    young = ForeignRecords(records=12, at=NOW - timedelta(minutes=50))
    old = ForeignRecords(records=3, at=NOW - timedelta(minutes=70))
    verdict = judged(replace(CALM, foreign=(("t", young), ("u", old))))
    assert verdict.health is Health.WARNING
    assert verdict.reason.startswith(
        "12 records of t at the target are not from MirrorMaker"
    )
    assert "dropped records cannot be proved missing" in verdict.reason
    assert verdict.evidence["foreign_1"] == "12 in t"
    assert judged(replace(CALM, foreign=(("u", old),))).health is Health.OK


def test_a_suspicion_warns_and_counts() -> None:
    suspicion = SuspectedDrop(
        topic="t",
        partition=0,
        first=20,
        end=30,
        count=10,
        since=NOW - timedelta(minutes=3),
    )
    verdict = judged(replace(CALM, suspicions=(suspicion,)))
    assert verdict.health is Health.WARNING
    assert "10 records of t partition 0 (source offsets 20 to 29)" in (
        verdict.reason
    )
    assert "suspected" in verdict.reason
    assert verdict.evidence["suspected_records"] == 10
    assert verdict.evidence["suspected_1"] == (
        "10 of t partition 0 (source offsets 20 to 29)"
    )


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (None, "have not been compared yet"),
        (replace(CALM, at=NOW - timedelta(minutes=2)), "last compared 2 min"),
        (replace(CALM, blind=4), "4 partitions have replicated records"),
        (replace(CALM, problems=("ldf does not answer",)), "ldf does not"),
        (
            replace(
                CALM,
                unread=PendingReads(
                    partitions=2,
                    since=NOW - timedelta(minutes=3),
                    problem="Mirrorwatch lacks READ",
                ),
            ),
            "2 partitions has been pending for 3 min: Mirrorwatch lacks",
        ),
    ],
)
def test_what_is_not_known_is_unknown(
    seen: SkipsObservation | None, says: str
) -> None:
    verdict = judged(seen)
    assert verdict.health is Health.UNKNOWN
    # Minutes are told from two on.
    assert says.replace("2 min", "120") in verdict.reason.replace(
        "2 min", "120"
    )


def test_a_stretch_that_was_just_found_may_wait() -> None:
    unread = PendingReads(partitions=2, since=NOW - timedelta(minutes=1))
    assert judged(replace(CALM, unread=unread)).health is Health.OK


def test_merged_topics_are_left_to_the_audit() -> None:
    some = judged(replace(CALM, merged=2))
    assert some.health is Health.OK
    assert "2 merged topics are compared by the audit only" in some.reason
    assert judged(replace(CALM, partitions=0, merged=2)).health is Health.OFF


def test_the_evidence_adds_all_topics() -> None:
    tallies = (
        ("a", SkipCounters(skipped=3)),
        ("b", SkipCounters(skipped=4, repeated=9)),
    )
    evidence = judged(replace(CALM, tallies=tallies)).evidence
    assert evidence["skipped_records"] == 7
    assert evidence["repeated_records"] == 9
