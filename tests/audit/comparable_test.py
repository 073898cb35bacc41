"""What digests of two sites have in common."""

from dataclasses import replace

from mirrorwatch.domain.audit.plan import Lane
from mirrorwatch_audit.compare.digests import comparable
from tests.support.audit import a_lane, a_plan


def committed(lane: Lane) -> Lane:
    sources = tuple(replace(s, read_committed=True) for s in lane.sources)
    return replace(lane, sources=sources)


def reason(plan: Lane, source: Lane, target: Lane) -> str | None:
    found = comparable(*(a_plan(lane) for lane in (plan, source, target)))
    assert bool(found.lanes) is not bool(found.unverifiable)
    for gap in found.unverifiable:
        return gap.reason
    return None


def test_what_both_sites_digested_is_compared() -> None:
    lane = a_lane()
    assert reason(lane, lane, lane) is None
    assert reason(*[committed(lane)] * 3) is None


def test_what_one_site_has_not_digested_is_unverifiable() -> None:
    lane, other = a_lane(), a_lane("other")
    assert "of the source does not" in (reason(lane, other, lane) or "")
    assert "of the target does not" in (reason(lane, lane, other) or "")
    # Another topic of the same name.
    anew = replace(lane, topic_id="anew")
    assert "of the target does not" in (reason(anew, lane, lane) or "")


def test_a_source_that_was_not_read_as_the_mirror_reads_is_unverifiable() -> (
    None
):
    lane = a_lane()
    assert "isolation" in (reason(committed(lane), lane, lane) or "")
    assert "isolation" in (reason(lane, committed(lane), lane) or "")


def test_timestamps_of_the_target_alone_are_unverifiable() -> None:
    lane = replace(a_lane(), timestamps=False)
    assert "timestamps of its own" in (reason(lane, lane, lane) or "")
