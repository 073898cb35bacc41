"""Skips of a mirror without offset-syncs, by what went in and came out."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.skips.balance import (
    BalanceFindings,
    BalanceRequest,
    BalanceState,
    BalanceTracker,
    find_balance,
)
from mirrorwatch.state.documents import from_json, to_json
from tests.support.builders import NOON

SECOND = timedelta(seconds=1)
PATIENCE = 15 * SECOND
HOUR = timedelta(hours=1)


class World:
    """One topic of two partitions; only sums tell what the mirror wrote."""

    def __init__(self, state: BalanceState | None = None) -> None:
        self.state = state or BalanceState()
        self.tracker = BalanceTracker(
            self.state, lambda topic: topic == "canary", PATIENCE
        )
        self.now = NOON
        self.ends = [10, 20]
        self.committed: list[int | None] = [10, 20]
        self.copies = [30, 0]
        self.starts = [0, 0]
        self.ids = ("s", "t")
        self.whole = True
        self.is_copied = True

    def view(self) -> FlowView:
        def side(
            alias: str, id_: str, ends: list[int], starts: list[int]
        ) -> ClusterView:
            facts = TopicFacts(id=id_, partitions=2, replication_factor=1)
            is_there = alias == "a" or self.is_copied
            return ClusterView(
                alias=alias,
                id=alias,
                at=self.now,
                topics={"x": facts} if is_there else {},
                ends={("x", p): e for p, e in enumerate(ends)},
                starts={("x", p): s for p, s in enumerate(starts)},
            )

        return FlowView(
            flow="a->b",
            at=self.now,
            committed={
                ("x", p): Committed(
                    topic="x", partition=p, position=c, written_at=NOON
                )
                for p, c in enumerate(self.committed)
                if c is not None
            },
            syncs={},
            caught_up=self.whole,
            target=side("b", self.ids[1], self.copies, [0, 0]),
            source=side("a", self.ids[0], self.ends, self.starts),
            names={"x": "x"},
        )

    def look(self) -> list[BalanceRequest]:
        self.now += 5 * SECOND
        return self.tracker.take(self.view())

    def rest(self) -> list[BalanceRequest]:
        """Look until the topic has rested for long enough."""
        found: list[BalanceRequest] = []
        for _ in range(8):
            found = self.look()
        return found

    def write(self, records: int, *, copied: int, partition: int = 0) -> None:
        self.ends[partition] += records
        self.committed[partition] = self.ends[partition]
        self.copies[1] += copied

    def verdicts(self) -> Mapping[Health, str]:
        seen = BalanceFindings(
            title="MirrorMaker 1",
            rested=len(self.tracker.rested),
            moving=len(self.tracker.moving),
            found=self.state.found,
        )
        return {
            f.health: f.reason
            for f in find_balance(seen, HOUR, HOUR, self.now)
        }


@pytest.fixture
def world() -> World:
    world = World()
    assert world.rest() == []
    return world


def test_what_is_copied_adds_up(world: World) -> None:
    for _ in range(3):
        world.write(7, copied=7)
        world.write(5, copied=5, partition=1)
        assert world.rest() == []
    assert world.state.found == ()
    assert set(world.verdicts()) == {Health.OK}


def test_what_was_passed_is_counted_without_markers(world: World) -> None:
    # Where it was first seen, nobody knows what was copied.
    assert world.state.topics["x"].passed == 0
    world.write(7, copied=7)
    world.write(5, copied=6, partition=1)
    assert world.rest() == []
    assert world.state.topics["x"].passed == 12
    world.write(10, copied=6)
    (request,) = world.rest()
    world.tracker.resolve(request, 8, world.now)
    assert world.state.topics["x"].passed == 20
    world.write(10, copied=6)
    (request,) = world.rest()
    world.tracker.give_up(request, world.now)
    assert world.state.topics["x"].passed == 30


def test_what_was_dropped_is_counted_and_proved_by_reading(
    world: World,
) -> None:
    world.write(10, copied=7)
    (request,) = world.rest()
    assert (request.missing, request.size, request.expired) == (3, 10, 0)
    world.tracker.resolve(request, 10, world.now)
    assert "At least 3 records of x" in world.verdicts()[Health.CRITICAL]
    # Once, and also where the agent is started again.
    again = World(world.state)
    again.ends, again.committed = world.ends, world.committed
    again.copies = world.copies
    assert again.rest() == []
    assert again.state.topics["x"].missing == 3
    again.write(4, copied=3)
    (request,) = again.rest()
    assert request.missing == 1


def test_it_is_compared_with_what_was_before_the_agent_was_away(
    world: World,
) -> None:
    world.write(10, copied=8)
    again = World(world.state)
    again.ends, again.committed = world.ends, world.committed
    again.copies = world.copies
    (request,) = again.rest()
    assert request.missing == 2


def test_markers_of_transactions_are_no_records(world: World) -> None:
    world.write(10, copied=8)
    (request,) = world.rest()
    world.tracker.resolve(request, 8, world.now)
    assert world.state.found == ()
    assert world.state.topics["x"].missing == 0
    assert world.rest() == []


def test_what_expired_cannot_be_verified(world: World) -> None:
    world.write(30, copied=18)
    world.starts = [22, 0]
    (request,) = world.rest()
    assert (request.missing, request.size, request.expired) == (12, 18, 12)
    world.tracker.resolve(request, 18, world.now)
    verdicts = world.verdicts()
    assert Health.CRITICAL not in verdicts
    assert "12 records of x cannot be verified" in verdicts[Health.WARNING]


@pytest.mark.parametrize(
    ("expired", "records", "told"),
    [
        (10, 0, (0, 3)),
        (8, 2, (0, 3)),
        (2, 8, (1, 2)),
        # One of those that are left is a marker, and two.
        (2, 7, (0, 2)),
        (2, 6, (0, 1)),
        (2, 5, (0, 0)),
    ],
)
def test_what_expires_before_it_is_read_is_no_marker(
    world: World, expired: int, records: int, told: tuple[int, int]
) -> None:
    world.write(10, copied=7)
    (request,) = world.rest()
    world.tracker.resolve(request, records, world.now, expired=expired)
    found = world.state.topics["x"]
    assert (found.missing, found.unverifiable) == told


def test_an_end_that_is_too_low_for_a_while_is_no_loss(world: World) -> None:
    world.rest()
    world.write(8, copied=8)
    world.rest()
    world.copies[1] -= 8
    for _ in range(5):
        assert world.look() == []
    world.copies[1] += 8
    assert world.rest() == []
    assert set(world.verdicts()) == {Health.OK}


def test_duplicates_are_told(world: World) -> None:
    world.write(10, copied=15)
    assert world.rest() == []
    assert "5 records at the target beyond" in world.verdicts()[Health.WARNING]


@pytest.mark.parametrize("partition", [0, 1])
def test_nothing_is_said_while_it_moves(world: World, partition: int) -> None:
    for _ in range(10):
        # Copied and not committed, or committed and not at the end.
        world.ends[partition] += 3
        assert world.look() == []
    world.now += HOUR
    world.look()
    verdicts = world.verdicts()
    assert set(verdicts) == {Health.OFF}
    assert "cannot be verified" in verdicts[Health.OFF]


def test_what_a_producer_still_sends_is_waited_for(world: World) -> None:
    world.write(10, copied=0)
    assert world.look() == []
    assert world.look() == []
    world.copies[0] += 10
    assert world.rest() == []
    assert world.state.found == ()


@pytest.mark.parametrize("ids", [("s2", "t"), ("s", "t2")])
def test_another_topic_of_the_name_begins_anew(
    world: World, ids: tuple[str, str]
) -> None:
    world.ids = ids
    world.ends, world.committed, world.copies = [50, 50], [50, 50], [1, 1]
    assert world.rest() == []
    assert world.state.found == ()


def test_a_partition_without_a_position_is_not_at_rest() -> None:
    world = World()
    world.committed = [10, None]
    assert world.rest() == []
    assert world.state.topics == {}
    world.ends = [10, 0]
    world.rest()
    assert world.state.topics["x"].committed == (10, 0)


def test_an_old_reading_of_the_group_proves_nothing(world: World) -> None:
    world.write(10, copied=7)
    world.whole = False
    assert world.rest() == []


def fresh() -> World:
    """Return one of which nothing was copied yet."""
    world = World()
    world.committed = [None, None]
    world.copies = [0, 0]
    world.look()
    return world


def test_what_is_left_out_at_the_beginning_is_missing() -> None:
    world = fresh()
    # It starts at the end: 30 records are there, and then come 5.
    world.write(5, copied=5)
    world.committed[1] = 20
    (request,) = world.rest()
    assert request.missing == 30
    assert request.size == 35


def test_what_is_copied_from_the_beginning_adds_up() -> None:
    world = fresh()
    world.starts = [4, 0]  # `position` counts what expires before
    world = World(world.state)
    world.copies = [0, 30]
    assert world.rest() == []
    assert world.state.found == ()


def uncreated() -> World:
    """Return one whose topic does not exist at the target yet."""
    world = World()
    world.committed, world.copies = [None, None], [0, 0]
    world.is_copied = False
    world.look()
    assert world.state.topics == {}
    return world


@pytest.mark.parametrize("commits_first", [True, False])
def test_what_is_left_out_before_a_topic_is_created_is_missing(
    commits_first: bool,
) -> None:
    world = uncreated()
    if commits_first:
        world.committed = [10, None]
        world.look()
    world.is_copied = True
    world.write(5, copied=5)
    world.committed[1] = 20
    (request,) = world.rest()
    assert (request.missing, request.size) == (30, 35)


def test_what_is_copied_since_a_topic_was_created_adds_up() -> None:
    world = uncreated()
    world.starts, world.is_copied = [4, 0], True
    world.write(5, copied=35)
    world.committed[1] = 20
    assert world.rest() == []
    assert world.state.found == ()
    assert world.state.topics["x"].passed == 35


@pytest.mark.parametrize("unseen", ["cluster", "agent"])
def test_what_is_left_out_while_nobody_looks_is_missing(unseen: str) -> None:
    # That nothing was copied was forgotten with a restart of the agent, or of
    # a cluster, and the comparison began after what was left out.
    world = uncreated()
    if unseen == "agent":
        kept = from_json(BalanceState, to_json(world.state))
        world = World(kept)
        world.copies = [0, 0]
    world.whole = False
    world.look()
    world.whole = True
    world.write(5, copied=5)
    world.committed, world.is_copied = [15, 20], True
    (request,) = world.rest()
    assert (request.missing, request.size) == (30, 35)
    assert world.state.uncopied == {}


def test_another_topic_of_that_name_is_compared_from_its_first_rest() -> None:
    world = uncreated()
    world.whole = False
    world.look()
    world.whole, world.ids = True, ("another", "t")
    world.write(5, copied=5)
    world.committed, world.is_copied = [15, 20], True
    assert world.rest() == []
    assert world.state.found == ()


def test_a_topic_that_does_not_exist_is_no_beginning_if_it_was_copied() -> (
    None
):
    world = World()
    world.copies = [0, 0]
    world.is_copied = False
    world.look()
    world.is_copied = True
    world.write(5, copied=5)
    world.committed[1] = 20
    assert world.rest() == []
    assert world.state.found == ()


@pytest.mark.parametrize("known", ["committed", "copies"])
def test_a_beginning_is_believed_only_where_nothing_was_copied(
    known: str,
) -> None:
    world = World()
    if known == "committed":
        world.copies = [0, 0]
    else:
        world.committed = [None, None]
    world.look()
    assert world.state.topics == {}


def test_commits_are_exact_where_nothing_was_copied_since(
    world: World,
) -> None:
    world.rest()
    assert world.tracker.exact == {"x"}
    world.ends[0] += 10
    world.look()
    assert world.tracker.exact == {"x"}
    # Copied, and not committed yet; nor once the copies stand again.
    world.copies[0] += 1
    world.look()
    assert world.tracker.exact == frozenset()
    # An end that a new leader tells too low is not believed at once.
    world.copies[0] -= 1
    for _ in range(5):
        world.look()
        assert world.tracker.exact == frozenset()
    # Nor by an agent that was just started.
    again = World(world.state)
    again.look()
    assert again.tracker.exact == frozenset()
    for _ in range(6):
        again.look()
    assert again.tracker.exact == {"x"}


def test_duplicates_of_many_topics_push_no_loss_out() -> None:
    """A mirror is restarted, and copies the last records of each once more."""
    names = [f"t{n}" for n in range(250)]
    source = dict.fromkeys(names, 100)
    target = dict(source)
    state = BalanceState()
    tracker = BalanceTracker(state, lambda _: False, PATIENCE)
    now = NOON

    def side(alias: str, ends: Mapping[str, int]) -> ClusterView:
        return ClusterView(
            alias=alias,
            id=alias,
            at=now,
            topics={
                name: TopicFacts(
                    id=alias + name, partitions=1, replication_factor=1
                )
                for name in names
            },
            ends={(name, 0): end for name, end in ends.items()},
            starts={(name, 0): 0 for name in names},
        )

    def rest() -> list[BalanceRequest]:
        nonlocal now
        found: list[BalanceRequest] = []
        for _ in range(8):
            now += 5 * SECOND
            view = FlowView(
                flow="a->b",
                at=now,
                committed={
                    (name, 0): Committed(
                        topic=name, partition=0, position=end, written_at=NOON
                    )
                    for name, end in source.items()
                },
                syncs={},
                caught_up=True,
                target=side("b", target),
                source=side("a", source),
                names={name: name for name in names},
            )
            found = tracker.take(view)
        return found

    assert rest() == []
    source["t0"], target["t0"] = 110, 103
    (request,) = rest()
    tracker.resolve(request, 10, now)
    assert rest() == []
    for name in names[1:]:
        target[name] += 2
    assert rest() == []
    seen = BalanceFindings(
        title="MirrorMaker 1",
        rested=len(tracker.rested),
        moving=0,
        found=state.found,
    )
    said = {f.health: f.reason for f in find_balance(seen, HOUR, HOUR, now)}
    assert "7 records of t0" in said[Health.CRITICAL]
    assert len(state.found) == 201
    assert state.found[0].missing == 7
