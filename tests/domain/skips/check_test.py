"""The verdict on skips: what makes it, and what leaves it silent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.copies.journal import (
    CopyCounters,
    CopyEvent,
    ForeignRecords,
)
from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.model import PendingReads, SkipsObservation
from tests.support.findings import find

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALM = SkipsObservation(
    flow="f", at=NOW, partitions=7, counters=(("t", CopyCounters()),)
)
SKIP = CopyEvent(
    kind=EventKind.SKIPPED,
    topic="t",
    partition=3,
    source_id="s",
    ranges=((30, 39),),
    count=10,
    at=NOW - timedelta(minutes=59),
)


def judged(seen: SkipsObservation | None) -> Verdict:
    return judge_skips("f", seen, SkipsLimits(), NOW)


def happened(*events: tuple[CopyEvent, int]) -> SkipsObservation:
    return replace(CALM, events=events)


def since(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def an_event(kind: EventKind, minutes: float = 0) -> CopyEvent:
    return replace(SKIP, kind=kind, at=since(minutes))


def foreign(minutes: float) -> SkipsObservation:
    found = ForeignRecords(records=12, at=since(minutes))
    return replace(CALM, foreign=(("t", found),))


def pending(minutes: float) -> SkipsObservation:
    unread = PendingReads(partitions=2, since=since(minutes))
    return replace(CALM, unread=unread)


ONE = {"topic": "t", "partition": 3, "records": 10, "partitions": 1}


@pytest.mark.parametrize(
    ("seen", "health", "code", "facts"),
    [
        (CALM, Health.OK, "ok", {"partitions": 7, "merged_topics": None}),
        (None, Health.UNKNOWN, "no-data", {}),
        (
            replace(CALM, at=since(2)),
            Health.UNKNOWN,
            "stale",
            {"seconds": 120},
        ),
        (replace(CALM, at=since(1)), Health.OK, "ok", {}),
        (
            replace(CALM, problems=("ldf does not answer",)),
            Health.UNKNOWN,
            "unreadable",
            {},
        ),
        (
            replace(CALM, without_syncs=4),
            Health.UNKNOWN,
            "no-syncs",
            {"partitions": 4},
        ),
        (
            pending(3),
            Health.UNKNOWN,
            "pending",
            {"partitions": 2, "seconds": 180},
        ),
        (pending(1), Health.OK, "ok", {}),
        (replace(CALM, merged=2), Health.OK, "ok", {"merged_topics": 2}),
        (
            replace(CALM, partitions=0, merged=2),
            Health.OFF,
            "off",
            {"merged_topics": 2},
        ),
        *(
            case
            for kind in ("skipped", "head", "tail")
            for case in (
                (
                    happened((an_event(EventKind(kind), 59), 10)),
                    Health.CRITICAL,
                    "dropped",
                    {**ONE, kind: 10},
                ),
                (
                    happened((an_event(EventKind(kind), 61), 10)),
                    Health.OK,
                    "ok",
                    {},
                ),
            )
        ),
        (happened((SKIP, 4)), Health.CRITICAL, "dropped", {"records": 4}),
        (happened((SKIP, 0)), Health.OK, "ok", {}),
        (
            happened((an_event(EventKind.TRUNCATED, 59), 10)),
            Health.CRITICAL,
            "truncated",
            ONE,
        ),
        (
            happened((an_event(EventKind.REPEATED, 9), 10)),
            Health.WARNING,
            "duplicated",
            ONE,
        ),
        (
            happened((an_event(EventKind.REPEATED, 11), 10)),
            Health.OK,
            "ok",
            {},
        ),
        (
            happened((an_event(EventKind.UNVERIFIABLE, 59), 10)),
            Health.WARNING,
            "unverifiable",
            ONE,
        ),
        (
            happened((an_event(EventKind.UNVERIFIABLE, 61), 10)),
            Health.OK,
            "ok",
            {},
        ),
        (
            foreign(50),
            Health.WARNING,
            "foreign-producer",
            {"topic": "t", "records": 12, "seconds": 3000},
        ),
        (foreign(70), Health.OK, "ok", {}),
    ],
)
def test_each_finding_fires_and_stays_silent(
    seen: SkipsObservation | None,
    health: Health,
    code: str,
    facts: dict[str, str | float],
) -> None:
    verdict = judged(seen)
    assert (verdict.health, verdict.code) == (health, f"skips.{code}")
    find(verdict, f"skips.{code}", **facts)


def test_a_topic_that_is_hidden_is_not_known_and_others_are() -> None:
    hidden = "Mirrorwatch cannot see u, which MirrorMaker copies"
    lag = LagObservation(flow="f", at=NOW, hidden=hidden)
    verdict = judge_skips("f", CALM, SkipsLimits(), NOW, lag)
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "skips.hidden-topics"
    skipped = happened((SKIP, 10))
    verdict = judge_skips("f", skipped, SkipsLimits(), NOW, lag)
    assert verdict.code == "skips.dropped"
    assert "skips.hidden-topics" in verdict.codes
    # Only what is denied: one that may be deleted is listed no more, too.
    lag = LagObservation(flow="f", at=NOW, problems=("u is listed no more",))
    verdict = judge_skips("f", CALM, SkipsLimits(), NOW, lag)
    assert verdict.health is Health.OK


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (EventKind.SKIPPED, "skips.dropped"),
        (EventKind.TRUNCATED, "skips.truncated"),
        (EventKind.REPEATED, "skips.duplicated"),
        (EventKind.UNVERIFIABLE, "skips.unverifiable"),
    ],
)
def test_records_of_each_topic_add_up(kind: EventKind, code: str) -> None:
    first = an_event(kind)
    second = replace(first, partition=4, count=1)
    verdict = judged(
        happened(
            (first, 10),
            (second, 1),
            (replace(first, topic="u"), 10),
            (an_event(kind, 61), 10),
        )
    )
    found = [f for f in verdict.findings if f.code == code]
    assert [(f.subject, f.numbers["records"]) for f in found] == [
        ({"topic": "u", "partition": 3}, 10),
        ({"topic": "t"}, 11),
    ]


def test_findings_name_the_newest_ranges_of_each_partition() -> None:
    first = replace(SKIP, ranges=((10, 10), (30, 39)), count=11)
    other = replace(SKIP, partition=4, ranges=((7, 8),), count=2)
    find(
        judged(happened((first, 11), (other, 2))),
        "skips.dropped",
        records=13,
        ranges="partition 4: 7-8; partition 3: 30-39, 10",
    )
    many = replace(SKIP, ranges=tuple((n, n) for n in range(0, 22, 2)))
    found = find(judged(happened((many, 11))), "skips.dropped", records=11)
    assert str(found.numbers["ranges"]).endswith(" 2; ...")


def test_records_of_all_topics_add_up_to_what_was_dropped() -> None:
    drops = [(replace(SKIP, topic=f"t{n}"), 1) for n in range(1200)]
    found = judged(happened(*drops)).findings
    named = [f for f in found if f.code == "skips.dropped"]
    assert sum(int(f.numbers["records"] or 0) for f in named) == 1200
    assert {f.subject["topic"] for f in named} == {e.topic for e, _ in drops}


def test_the_evidence_adds_all_topics() -> None:
    counters = (
        ("a", CopyCounters(skipped=3)),
        ("b", CopyCounters(skipped=4, repeated=9)),
    )
    seen = replace(CALM, counters=counters)
    evidence = judged(seen).evidence
    assert evidence["skipped_records"] == 7
    assert evidence["repeated_records"] == 9
