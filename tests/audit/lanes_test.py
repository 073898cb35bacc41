"""What was read of both sides, joined."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from mirrorwatch.audit.offsets import Offsets
from mirrorwatch.audit.planner import AuditedTopics, join_lanes
from mirrorwatch.domain.audit.facts import (
    Draft,
    LaneFacts,
    PairBuilder,
    SourceTopic,
)
from mirrorwatch.domain.audit.plan import AuditedEnd, AuditSpan, Unverifiable
from mirrorwatch.domain.cluster_view import TopicConfigs
from tests.support.builders import NOON

PLACE = ("t", 0)
HERE, THERE = ("summit", PLACE), ("ldf", PLACE)
KEY = (HERE, False)

DRAFT = Draft(
    cluster="ldf",
    place=PLACE,
    topic_id="there",
    origins=(
        SourceTopic(flow="f", cluster="summit", place=PLACE, topic_id="here"),
    ),
    flow="f",
    topic="t",
)

OFFSETS = Offsets(
    starts={HERE: 2, THERE: 1},
    sources={KEY: 10},
    targets={THERE: 9},
    later={KEY: 12},
    unsure=frozenset(),
)

END = AuditedEnd(
    flow="f",
    topic="t",
    partition=0,
    source_end=5,
    target_end=5,
    source_id="here",
    target_id="there",
    cut_at=NOON,
)


@dataclass
class FakeMirror:
    known: int | None = 10
    pairs: tuple[tuple[int, int], ...] = ((5, 4), (9, 8))
    read_committed: bool | None = False
    starts_at_end: bool | None = False

    def position(self, place: tuple[str, int]) -> int | None:
        assert place == PLACE
        return self.known

    def syncs(self, place: tuple[str, int]) -> tuple[tuple[int, int], ...]:
        assert place == PLACE
        return self.pairs


@dataclass
class Joined:
    """What comes of one lane."""

    mirror: FakeMirror = field(default_factory=FakeMirror)
    offsets: Offsets = OFFSETS
    end: AuditedEnd | None = END
    draft: Draft = DRAFT
    configs: dict[tuple[str, str], TopicConfigs] = field(default_factory=dict)

    def all(self) -> tuple[list[LaneFacts], list[Unverifiable]]:
        topics = AuditedTopics(
            drafts=PairBuilder(lanes=[self.draft]), configs=self.configs
        )
        ends = {} if self.end is None else {self.end.place: self.end}
        return join_lanes(topics, self.offsets, {"f": self.mirror}, ends)

    def lane(self) -> LaneFacts:
        (lane,), gaps = self.all()
        assert gaps == []
        return lane


def test_both_sides_are_joined() -> None:
    lane = Joined().lane()
    (feed,) = lane.feeds
    assert (feed.log.retained, feed.position) == (AuditSpan(2, 10), 10)
    assert feed.syncs == ((5, 4), (9, 8))
    assert not feed.steady
    assert lane.goal is not None
    assert lane.goal.retained == AuditSpan(1, 9)
    assert lane.timestamps
    assert not lane.compacted


def test_a_source_rests_whose_end_stays() -> None:
    offsets = replace(OFFSETS, later={KEY: 10})
    assert Joined(offsets=offsets).lane().feeds[0].steady


@pytest.mark.parametrize("position", [13, None])
def test_a_position_above_the_end_is_of_another_topic(
    position: int | None,
) -> None:
    lane = Joined(mirror=FakeMirror(known=position)).lane()
    assert lane.feeds[0].position is None


def test_what_was_said_of_a_topic_that_was_made_again_is_void() -> None:
    (feed,) = Joined(end=replace(END, source_id="before")).lane().feeds
    assert (feed.position, feed.syncs) == (None, ())
    (feed,) = Joined(end=replace(END, target_id="before")).lane().feeds
    assert (feed.position, feed.syncs) == (10, ())


@pytest.mark.parametrize("pair", [(12, 8), (9, 9)])
def test_syncs_above_an_end_are_of_another_topic(
    pair: tuple[int, int],
) -> None:
    mirror = FakeMirror(pairs=((5, 4), pair))
    assert Joined(mirror=mirror).lane().feeds[0].syncs == ()


def test_a_position_proves_nothing_where_the_target_is_behind_it() -> None:
    offsets = replace(OFFSETS, unsure=frozenset({THERE}))
    assert Joined(offsets=offsets).lane().feeds[0].position is None


@pytest.mark.parametrize(
    "offsets",
    [
        replace(OFFSETS, starts={}),
        replace(OFFSETS, sources={}),
        replace(OFFSETS, targets={}),
        replace(OFFSETS, later={}),
    ],
)
def test_a_partition_without_a_leader_is_unverifiable(
    offsets: Offsets,
) -> None:
    lanes, (gap,) = Joined(offsets=offsets).all()
    assert lanes == []
    assert "no leader" in gap.reason


def test_configurations_of_either_side_count() -> None:
    compact = TopicConfigs(cleanup_policy=frozenset({"compact"}))
    appended = TopicConfigs(timestamp_type="LogAppendTime")
    assert Joined(configs={("summit", "t"): compact}).lane().compacted
    assert Joined(configs={("ldf", "t"): compact}).lane().compacted
    assert not Joined(configs={("ldf", "t"): appended}).lane().timestamps
    # What the source puts on records is copied as it is.
    assert Joined(configs={("summit", "t"): appended}).lane().timestamps


def test_what_expires_when_is_known_of_both_sides() -> None:
    a_day = TopicConfigs(retention_ms=86_400_000, retention_bytes=-1)
    lane = Joined(configs={("summit", "t"): a_day}).lane()
    retention = lane.feeds[0].log.retention
    assert retention.kept_since(NOON, NOON + timedelta(hours=23))
    assert not retention.kept_since(NOON, NOON + timedelta(hours=25))
    assert lane.goal is not None
    assert not lane.goal.retention.kept_since(NOON, NOON)
