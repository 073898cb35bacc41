"""What was read of both sides, joined."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from mirrorwatch.audit.offsets import Offsets, freeze_offsets
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


@dataclass
class FakeSite:
    name: str
    asked: list[str]
    open_reads: int = 0
    """Reads for which a transaction stays open."""

    def ends(
        self, places: Iterable[tuple[str, int]], *, read_committed: bool
    ) -> Mapping[tuple[str, int], int]:
        level = "committed" if read_committed else "all"
        self.asked.append(f"{self.name} {level}")
        end = 10
        if read_committed and self.open_reads:
            self.open_reads -= 1
            end = 7
        return dict.fromkeys(places, end)

    def starts(
        self, places: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[str, int], int]:
        return dict.fromkeys(places, 3)


@dataclass
class FakeAskedMirror:
    asked: list[str]
    read_committed: bool | None = False
    floors: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def read_positions(self, floors: Mapping[tuple[str, int], int]) -> None:
        self.asked.append("positions")
        self.floors = floors


def an_end(source_end: int) -> AuditedEnd:
    return AuditedEnd(
        flow="f",
        topic="t",
        partition=0,
        source_end=source_end,
        target_end=0,
        source_id="here",
        target_id="there",
        cut_at=NOON,
    )


def test_positions_are_read_between_the_ends_of_both_sides() -> None:
    asked: list[str] = []
    sites = {name: FakeSite(name, asked) for name in ("summit", "ldf")}
    mirror = FakeAskedMirror(asked)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]), {"f": mirror}, sites, {}
    )
    assert asked == [
        *("summit all", "positions"),
        *("ldf all", "ldf committed", "summit all"),
    ]
    assert found.starts == {("summit", PLACE): 3, ("ldf", PLACE): 3}
    assert found.unsure == frozenset()


def test_syncs_are_wanted_from_where_it_was_audited_up_to() -> None:
    sites = {name: FakeSite(name, []) for name in ("summit", "ldf")}
    for source_end, floor in ((2, 3), (5, 5)):
        mirror, end = FakeAskedMirror([]), an_end(source_end)
        drafts = PairBuilder(lanes=[DRAFT])
        freeze_offsets(drafts, {"f": mirror}, sites, {end.place: end})
        assert mirror.floors == {PLACE: floor}


def test_the_markers_of_an_exactly_once_mirror_are_waited_for() -> None:
    asked: list[str] = []
    sites = {"summit": FakeSite("summit", asked)}
    sites["ldf"] = FakeSite("ldf", asked, open_reads=2)
    mirror = FakeAskedMirror(asked, read_committed=True)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]), {"f": mirror}, sites, {}
    )
    assert asked == [
        "summit committed",
        "positions",
        "ldf all",
        *["ldf committed"] * 3,
        "summit committed",
    ]
    assert found.targets == {("ldf", PLACE): 10}
    assert found.unsure == frozenset()


def test_a_transaction_that_stays_open_leaves_positions_unproved() -> None:
    sites = {"summit": FakeSite("summit", [])}
    sites["ldf"] = FakeSite("ldf", [], open_reads=1000)
    mirror = FakeAskedMirror([], read_committed=True)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]),
        {"f": mirror},
        sites,
        {},
        markers=timedelta(milliseconds=400),
    )
    assert found.targets == {("ldf", PLACE): 7}
    assert found.unsure == {("ldf", PLACE)}
