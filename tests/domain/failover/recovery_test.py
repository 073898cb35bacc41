"""Recovery point: complete until then, whatever happens."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    PartitionView,
    TopicFacts,
    TopicPartition,
)
from mirrorwatch.domain.failover import recovery
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.metrics import samples
from mirrorwatch.domain.failover.recovery import (
    CopyFacts,
    Hole,
    RecoveryPoint,
    RecoveryState,
    RecoveryTracker,
)
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.position.model import Reset, ResetKind
from tests.support.builders import NOON

TICK = timedelta(seconds=5)
PLACE = ("t", 0)


class Site:
    """Topics and a mirror of them."""

    def __init__(self) -> None:
        self.now = self.said = NOON - TICK
        self.written = {PLACE: 100}
        self.copied = {PLACE: 100}
        self.ids = {"t": ("s1", "d1")}
        self.partitions = 1

        self.syncs: dict[TopicPartition, tuple[int, int]] = {PLACE: (99, 99)}
        self.positions: dict[TopicPartition, int | None] = {}
        """Positions of the mirror that are no number of copies."""

        self.facts = CopyFacts()
        self.starts: dict[TopicPartition, int] = {}
        self.target_up = self.caught_up = True
        self.no_leader: set[TopicPartition] = set()
        self.tracker = RecoveryTracker(RecoveryState())

    def restart(self) -> None:
        self.tracker = RecoveryTracker(self.tracker.to_state())

    def add(self, topic: str, written: int, copied: int) -> None:
        self.written[topic, 0], self.copied[topic, 0] = written, copied
        self.ids[topic] = (f"s-{topic}", f"d-{topic}")

    def tick(self) -> RecoveryPoint:
        """Look once."""
        self.now += TICK
        self.said = self.now
        self.tracker.take(
            self._view(), replace(self.facts, position=self._position)
        )
        assert self.tracker.point is not None
        return self.tracker.point

    def _position(
        self, place: TopicPartition, _: PartitionView
    ) -> tuple[int, bool] | None:
        position = self.positions.get(place, self.copied[place])
        return None if position is None else (position, True)

    def _view(self) -> FlowView:
        def side(alias: str, n: int, ends: Mapping[Any, int]) -> ClusterView:
            return ClusterView(
                alias=alias,
                id=alias,
                at=self.now,
                topics={
                    topic: TopicFacts(
                        id=ids[n],
                        partitions=self.partitions,
                        replication_factor=1,
                    )
                    for topic, ids in self.ids.items()
                },
                ends={
                    k: v
                    for k, v in ends.items()
                    if n or k not in self.no_leader
                },
                starts=self.starts,
            )

        return FlowView(
            flow="f",
            at=self.now,
            committed={},
            syncs={
                (topic, p): Sync(
                    topic=topic,
                    partition=p,
                    upstream=up,
                    downstream=down,
                    written_at=self.said,
                )
                for (topic, p), (up, down) in self.syncs.items()
            },
            caught_up=self.caught_up,
            target=side("ldf", 1, self.copied) if self.target_up else None,
            source=side("summit", 0, self.written),
            names={topic: topic for topic in self.ids},
        )


@pytest.fixture
def site() -> Site:
    return Site()


def test_heartbeats_that_no_mirror_copies_yet_are_waited_for_by_nobody() -> (
    None
):
    site = Site()
    site.add("heartbeats", written=50, copied=0)
    point = site.tick()
    assert (point.records, point.complete_until) == (0, site.now)
    site.add("beats", written=50, copied=0)
    assert site.tick().records == 50


def test_an_idle_flow_is_complete_until_now(site: Site) -> None:
    for _ in range(3):
        point = site.tick()
        assert (point.records, point.complete_until) == (0, site.now)
        assert point.seconds(site.now) == 0


def test_a_record_that_waits_holds_the_time_before_it(site: Site) -> None:
    whole = site.tick().at
    site.written[PLACE] = 103
    for _ in range(3):
        point = site.tick()
    assert (point.records, point.complete_until) == (3, whole)
    assert (point.topic, point.partition) == PLACE
    assert point.seconds(site.now) == 15
    site.copied[PLACE] = 101  # the first of three
    assert site.tick().complete_until == whole
    site.copied[PLACE] = 103
    assert site.tick().complete_until == site.now


def test_the_worst_partition_decides(site: Site) -> None:
    site.add("u", 50, 50)
    site.syncs["u", 0] = (49, 49)
    whole = site.tick().at
    site.written["u", 0] = 60
    site.written[PLACE] = site.copied[PLACE] = 200
    point = site.tick()
    assert (point.topic, point.records) == ("u", 10)
    assert point.complete_until == whole


def test_a_backlog_that_is_copied_moves_the_time_by_what_was_seen(
    site: Site,
) -> None:
    seen = []
    for written in range(100, 200, 10):
        site.written[PLACE] = written
        site.tick()
        seen.append((written, site.now))
    for written, at in seen:
        site.copied[PLACE] = written
        assert site.tick().complete_until in (at, site.now)


def test_a_long_backlog_is_remembered_coarsely_and_never_too_late(
    site: Site,
) -> None:
    seen: dict[int, datetime] = {}
    for written in range(100, 1100):
        site.written[PLACE] = written
        site.tick()
        seen[written] = site.now
    for copied in range(100, 1099, 7):
        site.copied[PLACE] = copied
        site.syncs[PLACE] = (copied - 1, copied - 1)
        until = site.tick().complete_until
        assert until is not None
        assert until <= seen[copied]
    assert until is not None
    assert until > NOON + 500 * TICK


@pytest.mark.parametrize("fault", ["target", "internal topics"])
def test_a_side_that_does_not_answer_stops_the_time(
    site: Site, fault: str
) -> None:
    whole = site.tick().at
    site.target_up, site.caught_up = fault != "target", fault == "target"
    for _ in range(12):
        point = site.tick()
    assert point.complete_until == whole
    # What was written meanwhile is not known: nothing waits, by an old look.
    assert point.records == 0
    assert point.seconds(site.now) == 60


def test_a_partition_without_a_leader_stops_the_time(site: Site) -> None:
    whole = site.tick().at
    site.no_leader.add(PLACE)
    point = site.tick()
    assert (point.complete_until, point.unknown) == (whole, 1)
    assert point.seconds(site.now) == 5
    site.no_leader.clear()
    assert site.tick().complete_until == site.now


def test_without_any_proof_no_time_is_said(site: Site) -> None:
    site.positions[PLACE] = None
    point = site.tick()
    assert (point.complete_until, point.unknown) == (None, 1)
    assert point.seconds(site.now) is None
    site.positions.clear()
    assert site.tick().complete_until == site.now


def test_a_skip_holds_the_time_until_it_is_copied_or_has_expired(
    site: Site,
) -> None:
    whole = site.tick().at
    # Five records are dropped, the sixth is copied.
    site.written[PLACE] = site.copied[PLACE] = 106
    site.facts = CopyFacts(missing={PLACE: (100, 5)})
    point = site.tick()
    assert (point.complete_until, point.missing) == (whole, 5)
    assert point.records == 5
    site.facts = CopyFacts()
    assert site.tick().complete_until == site.now


def test_what_a_transform_drops_on_purpose_is_not_waited_for(
    site: Site,
) -> None:
    whole = site.tick().at
    site.written[PLACE] = 110
    assert site.tick().complete_until == whole
    site.facts = CopyFacts(dropped={PLACE: (100, 110)})
    point = site.tick()
    assert (point.complete_until, point.records) == (site.now, 0)
    # Records behind it wait as any other.
    site.written[PLACE] = 111
    assert site.tick().records == 1


def test_a_restart_goes_on_with_what_was_proved(site: Site) -> None:
    whole = site.tick().at
    site.written[PLACE] = 110
    site.tick()
    site.restart()
    point = site.tick()
    assert (point.complete_until, point.records) == (whole, 10)


def test_a_restart_before_the_first_look_forgets_nothing(site: Site) -> None:
    whole = site.tick().at
    site.restart()
    site.restart()
    kept = site.tracker.to_state()
    assert (kept.complete_until, kept.topics) == (whole, ("t",))


def test_an_old_topic_that_is_included_at_a_restart_is_not_complete(
    site: Site,
) -> None:
    """Topics are included by the configuration, which is read at a start."""
    site.tick()
    site.restart()
    site.add("u", 5000, 0)  # written for weeks, and never copied
    point = site.tick()
    assert (point.records, point.topic) == (5000, "u")
    assert point.complete_until is None
    assert point.seconds(site.now) is None
    # Another restart does not make it complete, copies do.
    site.restart()
    assert site.tick().complete_until is None
    site.copied["u", 0] = 5000
    assert site.tick().complete_until == site.now


@pytest.mark.parametrize("written", [0, 50])
def test_a_topic_that_waits_for_nothing_is_included_without_a_gap(
    site: Site, written: int
) -> None:
    """It is empty, or MirrorMaker has copied all of it."""
    whole = site.tick().at
    site.restart()
    site.add("u", written, written)
    assert site.tick().complete_until == site.now
    site.restart()
    # From then on it is as any other.
    site.written["u", 0] = written + 10
    point = site.tick()
    assert (point.topic, point.records) == ("u", 10)
    assert point.complete_until == whole + TICK


def test_new_partitions_are_complete_until_the_agent_stopped(
    site: Site,
) -> None:
    """The topic was carried: what they hold was written since."""
    whole = site.tick().at
    site.restart()
    site.partitions = 2
    site.written["t", 1], site.copied["t", 1] = 7, 0
    point = site.tick()
    assert (point.partition, point.records) == (1, 7)
    assert point.complete_until == whole


def test_a_topic_that_is_not_included_any_more_is_new_when_it_is_again(
    site: Site,
) -> None:
    site.add("u", 50, 50)
    site.tick()
    site.restart()
    ids = site.ids.pop("u")
    site.tick()
    site.restart()
    site.ids["u"] = ids
    site.written["u", 0] = 90
    point = site.tick()
    assert (point.records, point.complete_until) == (40, None)


def test_what_an_older_agent_kept_is_not_said_of_any_topic(
    site: Site,
) -> None:
    """It did not keep of which topics it is, so none is known to be complete
    until what waits is copied.
    """
    site.tick()
    site.tracker = RecoveryTracker(replace(site.tracker.to_state(), topics=()))
    site.written[PLACE] = 110
    assert site.tick().complete_until is None
    site.copied[PLACE] = 110
    assert site.tick().complete_until == site.now


def test_a_new_topic_is_complete_until_it_was_made(site: Site) -> None:
    whole = site.tick().at
    site.add("u", 5, 0)
    point = site.tick()
    assert (point.complete_until, point.topic) == (whole, "u")


def test_a_topic_that_becomes_visible_is_not_complete(site: Site) -> None:
    site.syncs["u", 0] = (1, 1)  # that the agent may not describe yet
    site.tick()
    site.add("u", 5, 2)
    point = site.tick()
    assert (point.complete_until, point.topic) == (None, "u")


@pytest.mark.parametrize("looks", [0, 2])
def test_a_recreated_source_topic_is_complete_until_it_was_made(
    site: Site, looks: int
) -> None:
    """The topic is not listed for some surveys when it was recreated."""
    whole = site.tick().at
    del site.ids["t"]
    for _ in range(looks):
        site.tick()
    site.ids["t"] = ("s2", "d1")
    site.written[PLACE], site.copied[PLACE] = 90, 0
    point = site.tick()
    assert (point.complete_until, point.records) == (whole, 90)


@pytest.mark.parametrize("looks", [1, 3])
def test_a_topic_that_is_not_listed_for_a_moment_is_the_same(
    site: Site, looks: int
) -> None:
    """A broker that has just started may not know it."""
    whole = site.tick().at
    site.written[PLACE] = 150
    site.tick()
    ids = site.ids.pop("t")
    for _ in range(looks):
        site.tick()
    site.ids["t"] = ids
    point = site.tick()
    assert (point.complete_until, point.records) == (whole, 50)
    # The same of copies that are gone.
    site.ids["t"] = (ids[0], "d2")
    assert site.tick().records == 150
    ids = site.ids.pop("t")
    site.tick()
    site.ids["t"] = ids
    point = site.tick()
    assert (point.complete_until, point.records) == (None, 150)
    # One that comes back as another one is that, since it was last listed.
    site.ids.pop("t")
    site.tick()
    before = point.at
    site.ids["t"] = ("s2", "d3")
    site.written[PLACE], site.copied[PLACE] = 5, 0
    point = site.tick()
    assert (point.complete_until, point.records) == (before, 5)


def test_a_recreated_target_topic_is_not_complete(site: Site) -> None:
    site.tick()
    before = site.now
    assert not site.tracker.is_void(PLACE, 90, before)
    site.ids["t"] = ("s1", "d2")
    site.syncs.clear()
    assert site.tick().complete_until is None
    for _ in range(2):
        # A checkpoint is made of syncs of before, until there is one since.
        assert site.tracker.is_void(PLACE, 100, site.now + TICK)
        site.restart()
    site.written[PLACE] = site.copied[PLACE] = 105
    site.syncs[PLACE] = (104, 4)
    assert site.tick().complete_until is None
    for _ in range(2):
        assert site.tracker.is_void(PLACE, 100, before)
        assert site.tracker.is_void(PLACE, 90, site.now + TICK)
        assert not site.tracker.is_void(PLACE, 100, site.now + TICK)
        site.restart()
        assert site.tick().complete_until is None
    site.restart()
    assert site.tick().complete_until is None
    site.starts[PLACE] = 100  # what had copies has expired at the source
    assert site.tick().complete_until == site.now


def test_a_truncated_source_proves_nothing(site: Site) -> None:
    whole = site.tick().at
    site.written[PLACE] = 90
    point = site.tick()
    assert (point.complete_until, point.unknown) == (whole, 1)


def reset(kind: ResetKind, first: int, end: int, **more: Any) -> Reset:
    return Reset(
        number=1,
        kind=kind,
        topic="t",
        partition=0,
        began=NOON,
        first=first,
        end=end,
        **more,
    )


def test_what_the_mirror_left_behind_is_not_complete(site: Site) -> None:
    since = site.tick().complete_until
    site.ids["t"] = ("s2", "d1")
    site.tick()
    # It went on at its old position, and has copied all since.
    site.written[PLACE], site.copied[PLACE] = 130, 130
    site.syncs[PLACE] = (129, 129)
    opened = reset(ResetKind.SOURCE_RECREATED, 0, 100)
    site.facts = CopyFacts(resets=[opened])
    assert site.tick().records == 130  # it may be, or may not
    site.facts = CopyFacts(resets=[replace(opened, settled=site.now + TICK)])
    for _ in range(2):
        point = site.tick()
        assert (point.records, point.complete_until) == (100, since)
        # It is remembered when its window is over, and over a restart.
        site.facts = CopyFacts()
        site.restart()
    # Until the source does not hold it any more, either.
    site.starts[PLACE] = 100
    point = site.tick()
    assert (point.records, point.complete_until) == (0, site.now)


def test_a_reset_that_left_nothing_behind_holds_nothing(site: Site) -> None:
    for kind, more in (
        (ResetKind.SOURCE_RECREATED, {"harmless": True}),
        (ResetKind.REWIND, {}),
    ):
        site.facts = CopyFacts(
            resets=[reset(kind, 20, 50, settled=NOON, **more)]
        )
        point = site.tick()
        assert (point.records, point.complete_until) == (0, site.now)


def test_a_topic_that_is_not_carried_any_more_holds_nothing(
    site: Site,
) -> None:
    site.add("u", 5, 0)
    site.tick()
    del site.ids["u"], site.written["u", 0], site.copied["u", 0]
    assert site.tick().complete_until == site.now


def test_a_survey_may_come_while_what_is_kept_is_put_together(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("u", 5, 5)
    site.tick()
    site.ids["t"] = ("s1", "d2")
    site.tick()

    def hole(**what: Any) -> Hole:
        # In another thread: a topic was made.
        site.add("v", 5, 5)
        site.tick()
        return Hole(**what)

    monkeypatch.setattr(recovery, "Hole", hole)
    assert site.tracker.to_state().holes == (
        Hole(topic="t", partition=0, end=100),
    )


def test_metrics_are_absent_where_nothing_is_known(site: Site) -> None:
    def of(point: RecoveryPoint | None, now: datetime) -> dict[str, Any]:
        seen = FailoverObservation(flow="f", at=now, recovery=point)
        return {s.metric.field: s.value for s in samples(seen, now)}

    assert of(None, NOON) == {}
    point = site.tick()
    until = "complete_until_timestamp_seconds"
    assert of(point, site.now) == {
        "rpo_records": 0,
        "rpo_seconds": 0,
        until: site.now.timestamp(),
    }
    later = site.now + timedelta(minutes=3)
    assert of(point, later) == {
        "rpo_seconds": 180,
        until: site.now.timestamp(),
    }
