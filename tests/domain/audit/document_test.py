from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import Speed, combined, result_document
from tests.support.audits import NIGHT, a_count, a_finding, a_result

GAP = Unverifiable(flow="f", topic="t", partition=None, reason="gone")


def test_the_document_has_exactly_these_keys() -> None:
    result = a_result(a_finding(), unverifiable=(GAP,))
    assert result_document(result) == {
        "from": "2026-11-20T02:00:00+00:00",
        "to": "2026-11-21T02:00:00+00:00",
        "clean": False,
        "topics": [
            {
                "flow": "summit->ldf",
                "topic": "events",
                "source_count": 1000,
                "target_count": 1000,
            }
        ],
        "findings": [
            {
                "flow": "summit->ldf",
                "topic": "events",
                "partition": 0,
                "kind": "dropped",
                "count": 1,
                "source_offsets": [[42, 42]],
                "target_offsets": [],
                "from": "2026-11-20T23:00:00+00:00",
                "to": "2026-11-20T23:00:02+00:00",
            }
        ],
        "unverifiable": [
            {"flow": "f", "topic": "t", "partition": None, "reason": "gone"}
        ],
    }


def test_a_finding_without_timestamps_has_null_times() -> None:
    finding = replace(a_finding(), start=None, end=None)
    document = result_document(a_result(finding))["findings"][0]
    assert (document["from"], document["to"]) == (None, None)


def test_only_a_result_that_knows_everything_is_clean() -> None:
    assert result_document(a_result())["clean"]
    assert not result_document(a_result(unverifiable=(GAP,)))["clean"]


def test_nights_made_up_for_are_one_result() -> None:
    before = a_result(
        a_finding(),
        at=NIGHT - timedelta(days=1),
        topics=(a_count("b", 5, 4), a_count("a", 1)),
        unverifiable=(GAP,),
    )
    after = a_result(a_finding("extra"), topics=(a_count("b", 10),))
    both = combined([before, after])
    assert (both.id, both.start, both.end) == (
        after.id,
        before.start,
        after.end,
    )
    assert [
        (t.topic, t.source_count, t.target_count) for t in both.topics
    ] == [
        ("a", 1, 1),
        ("b", 15, 14),
    ]
    assert [finding.kind for finding in both.findings] == ["dropped", "extra"]
    assert both.unverifiable == (GAP,)
    assert combined([after]) is after


def test_a_day_is_forecast_from_what_was_covered() -> None:
    speed = Speed(
        records=1_000_000,
        bytes=250_000_000,
        reading=timedelta(seconds=10),
        total=timedelta(seconds=30),
        covered=timedelta(hours=1),
    )
    assert speed.records_per_second == 100_000
    assert speed.bytes_per_second == 25_000_000
    assert speed.forecast == timedelta(seconds=260)
    assert replace(speed, covered=timedelta(seconds=5)).forecast is None
    assert replace(speed, reading=timedelta()).records_per_second is None
