"""Which records are to be written again."""

from datetime import timedelta

from mirrorwatch.domain.audit.repair import RepairRange, ranges_to_repair
from tests.support.audit import a_finding, a_result


def test_records_of_another_time_are_not_those_of_a_finding() -> None:
    finding = a_finding(first=3, last=4)
    (wanted,) = ranges_to_repair(a_result(finding))
    assert finding.start is not None
    assert finding.end is not None
    assert wanted.may_hold(finding.start)
    assert wanted.may_hold(finding.end)
    assert not wanted.may_hold(finding.start - timedelta(seconds=2))
    assert not wanted.may_hold(finding.end + timedelta(seconds=2))
    # Of a finding without times nothing is known.
    old = RepairRange(flow="f", topic="events", partition=0, first=3, last=4)
    assert old.may_hold(finding.end + timedelta(days=9))


def test_what_was_noted_without_times_is_the_same_range() -> None:
    finding = a_finding(first=3, last=4)
    (wanted,) = ranges_to_repair(a_result(finding))
    noted = RepairRange(
        flow=wanted.flow, topic=wanted.topic, partition=0, first=3, last=4
    )
    assert noted == wanted
