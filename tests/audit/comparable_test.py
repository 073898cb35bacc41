"""What digests of two sites have in common."""

from dataclasses import replace

from mirrorwatch.domain.audit.plan import PartitionPair
from mirrorwatch_audit.compare.digests import comparable
from tests.support.audit import a_pair, a_plan


def committed(pair: PartitionPair) -> PartitionPair:
    sources = tuple(replace(s, read_committed=True) for s in pair.sources)
    return replace(pair, sources=sources)


def reason(
    plan: PartitionPair, source: PartitionPair, target: PartitionPair
) -> str | None:
    plans = [a_plan(pair) for pair in (plan, source, target)]
    found = comparable(plans[0], plans[1], plans[2])
    assert bool(found.pairs) is not bool(found.unverifiable)
    for gap in found.unverifiable:
        return gap.reason
    return None


def test_what_both_sites_digested_is_compared() -> None:
    pair = a_pair()
    assert reason(pair, pair, pair) is None
    assert reason(*[committed(pair)] * 3) is None


def test_what_one_site_has_not_digested_is_unverifiable() -> None:
    pair, other = a_pair(), a_pair("other")
    assert "of the source does not" in (reason(pair, other, pair) or "")
    assert "of the target does not" in (reason(pair, pair, other) or "")
    # Another topic of the same name.
    anew = replace(pair, topic_id="anew")
    assert "of the target does not" in (reason(anew, pair, pair) or "")


def test_a_source_that_was_not_read_as_the_mirror_reads_is_unverifiable() -> (
    None
):
    pair = a_pair()
    assert "isolation" in (reason(committed(pair), pair, pair) or "")
    assert "isolation" in (reason(pair, committed(pair), pair) or "")


def test_timestamps_of_the_target_alone_are_unverifiable() -> None:
    pair = replace(a_pair(), timestamps=False)
    assert "timestamps of its own" in (reason(pair, pair, pair) or "")


def test_so_are_those_that_only_records_tell() -> None:
    pair = a_pair()
    plan = a_plan(pair)
    own = {(pair.flow, pair.target_topic, pair.partition)}
    found = comparable(plan, plan, plan, own)
    assert not found.pairs
    assert "timestamps of its own" in found.unverifiable[0].reason
