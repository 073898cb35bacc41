"""Partitions at the target that the source has not."""

from dataclasses import replace

import pytest

from mirrorwatch.audit.planner import AuditedTopics, join_lanes
from mirrorwatch.domain.audit.facts import PairBuilder
from tests.audit.lanes_test import DRAFT, OFFSETS, THERE, FakeMirror, Joined


@pytest.mark.parametrize(("end", "told"), [(9, True), (1, False)])
def test_a_partition_that_only_the_target_has_is_told_if_it_is_not_empty(
    *, end: int, told: bool
) -> None:
    drafts = PairBuilder(surplus=[replace(DRAFT, origins=())])
    topics = AuditedTopics(drafts=drafts, configs={})
    offsets = replace(OFFSETS, targets={THERE: end})
    lanes, gaps = join_lanes(topics, offsets, {}, {})
    assert lanes == []
    assert ["8 offsets" in gap.reason for gap in gaps] == [True] * told


@pytest.mark.parametrize("starts_at_end", [True, False, None])
def test_where_a_mirror_begins_is_passed_on_as_it_is_known(
    *, starts_at_end: bool | None
) -> None:
    mirror = FakeMirror(starts_at_end=starts_at_end)
    assert Joined(mirror=mirror).lane().starts_at_end is starts_at_end
