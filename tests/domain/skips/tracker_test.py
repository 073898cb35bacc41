"""What was measured on live mirrors, one case each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.offsets import OffsetRange, RangeSet
from mirrorwatch.domain.skips.model import (
    DroppedTailDetector,
    OffsetPair,
    SkipCounters,
    SkipEvent,
    SkipKind,
    SuspectedDrop,
)
from mirrorwatch.domain.skips.partition import PartitionState
from mirrorwatch.domain.skips.settle import RangeContent
from mirrorwatch.domain.skips.tracker import SkipTracker
from mirrorwatch.domain.topics import FilteredRule, FilteredTopics
from tests.domain.skips.world import (
    KEY,
    START,
    TOPIC,
    AlikeWorld,
    AlteredWorld,
    HarshWorld,
    World,
)


class Told(World):
    """A world that remembers what was told."""

    def save(self) -> list[SkipEvent]:
        with self.store._database.transaction():  # noqa: SLF001
            pass
        return self.store.events()


def watched(*actions: str) -> Told:
    """A mirror that copied for a while, and then what is named."""
    world = Told()
    world.do("look", "write 20", "copy 20", "flush", "look", "look", "look")
    world.do(*actions)
    return world


def told(
    world: Told,
) -> list[tuple[SkipKind, tuple[tuple[int, int], ...], int]]:
    return [(x.kind, x.ranges, x.count) for x in world.save()]


def test_ten_dropped_between_passing_ones_are_named() -> None:
    world = watched("write 5", "copy 5", "write 10", "drop 10", "look", "look")
    assert told(world) == []
    world.do("write", "copy", "look", "look")
    assert told(world) == [(SkipKind.SKIPPED, ((25, 34),), 10)]
    assert world.tally.skipped == 10


def test_a_killed_mirror_that_drops_again_counts_each_once() -> None:
    world = watched("write 30", "copy 10", "drop 3", "copy 17", "look")
    # Committed was 20; the same three are dropped again.
    world.do("crash", "copy 10", "drop 3", "copy 17", "write", "copy")
    world.do("flush", "look", "look", "look")
    assert world.skipped == {30, 31, 32}
    assert (world.tally.skipped, world.tally.repeated) == (3, 27)
    assert [kind for kind, _, _ in told(world)].count(SkipKind.SKIPPED) == 1


@pytest.mark.parametrize("restarts_at", [None, 2])
def test_what_is_copied_again_is_told_whether_it_is_read_or_not(
    restarts_at: int | None,
) -> None:
    world = watched("write 400", "copy 400", *["look"] * 3)
    world.do("crash", "copy", *["look"] * 3)
    # From here on both sides go on alike: little is read. What was counted
    # and not told yet was forgotten with a restart of the agent.
    for n in range(4):
        world.do("copy 101", *["look"] * 2)
        if n == restarts_at:
            world.do("restart")
    world.do("flush", *["look"] * 20)
    found = [(r, n) for kind, r, n in told(world) if kind == "repeated"]
    assert sum(count for _, count in found) == world.repeated == 400
    assert world.tally.repeated == 400
    assert found[-1][0][-1][1] == 419
    world.do(*["look"] * 20)
    assert len(told(world)) == len(found)


def test_where_the_mirror_began_in_a_new_topic_is_known_after_a_restart() -> (
    None
):
    world = watched("recreate_source", "write 10")
    assert world.books.first_copies == {}
    world.writers[0].at = 4
    world.do("copy 3", *["look"] * 3)
    assert world.books.first_copies == {KEY: ("s2", 4)}
    world.do("restart")
    assert world.books.first_copies == {KEY: ("s2", 4)}


def test_drops_of_which_a_killed_mirror_told_nothing_are_found() -> None:
    world = watched("write 9", "copy 2", "drop 3", "copy", "crash_hard")
    world.do("write 20", "copy 2", "drop 3", "copy 24", "flush")
    world.do("look", "look", "look")
    assert world.skipped == {22, 23, 24}
    assert (world.tally.skipped, world.tally.repeated) == (3, 3)


def test_copies_that_lie_far_ahead_are_found_by_reading_more() -> None:
    world = watched("write 9", "drop 6", "copy 3", "crash_hard", "write 20")
    world.do("drop 6", "copy 2", "crash_hard", "drop 6", "copy 23", "flush")
    world.do("look", "look", "look")
    assert world.skipped == set(range(20, 26))
    assert world.tally.unverifiable == 0
    assert world.tally.repeated == world.repeated == 5


def test_the_first_records_that_were_never_read_are_named() -> None:
    world = Told().do("look", "write 50", "drop 50", "write 2", "copy 2")
    assert isinstance(world, Told)
    world.do("flush", "look", "look", "look")
    assert told(world) == [(SkipKind.HEAD, ((0, 49),), 50)]


def test_a_position_past_the_target_proves_a_skip_without_a_pair() -> None:
    world = watched("write 4", "fail 4", "flush", "look", "look", "look")
    assert told(world) == [(SkipKind.TAIL, ((20, 23),), 4)]
    world.do("write 3", "copy 3", "flush", "look", "look", "look")
    assert world.tally.skipped == 4


def test_a_copy_takes_a_skip_back() -> None:
    world = watched("write 4", "drop 2", "copy 2", "look", "look")
    (skip,) = world.save()
    assert world.books.missing(skip) == 2
    world.do("crash", "copy 4", "write", "copy", "flush", "look", "look")
    assert world.skipped == set()
    assert world.books.missing(skip) == 0
    tally = world.tally
    assert (tally.skipped, tally.recovered, tally.repeated) == (2, 2, 2)


def test_what_is_compacted_before_it_is_copied_is_no_loss() -> None:
    world = watched("write 495", *["remove_ahead"] * 494)
    world.do("copy 495", "flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally.compacted == 494
    assert world.tally.unverifiable == 0


def test_marks_of_transactions_are_no_loss() -> None:
    world = watched(*["write 3", "mark"] * 5, "copy 15", "write", "copy")
    world.do("flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally == type(world.tally)()


def test_own_marks_of_an_exactly_once_mirror_are_no_repeats() -> None:
    world = watched(*["write 3", "copy 3", "commit_target"] * 6)
    world.do("write", "copy", "flush", "look", "look", "look")
    assert told(world) == []
    assert world.books.marked


def test_records_of_others_are_no_repeats() -> None:
    world = watched("stranger 3", "write 9", "copy 9", "flush")
    world.do("look", "look", "look")
    assert told(world) == []
    assert world.tally.repeated == 0


def test_records_of_others_are_told_and_stay_so() -> None:
    world = watched("write 3", "copy 3", "stranger 3", "write 9", "copy 9")
    world.do("flush", "look", "look", "look")
    assert world.books.foreign[TOPIC].records == 3
    world.do("write", "copy", "stranger", "write", "copy", "flush", "look")
    world.do("look", "restart", "look", "look")
    assert world.books.foreign[TOPIC].records == 4


@pytest.mark.parametrize(("hours", "records"), [(1, 1), (3, 4)])
def test_records_of_others_are_added_for_as_long_as_they_are_told(
    hours: int, records: int
) -> None:
    world = watched("write 3", "copy 3", "stranger 3", "write 9", "copy 9")
    world.books.memory = timedelta(hours=hours)
    world.do("flush", "look", "look", "look")
    world.now += timedelta(hours=2)
    world.do("write", "copy", "stranger", "write", "copy", "flush", "look")
    world.do("look", "look")
    assert world.books.foreign[TOPIC].records == records


def test_a_drop_at_the_end_beside_records_of_others_is_found() -> None:
    world = watched("stranger 3", "write 9", "copy 9", "flush", "look", "look")
    world.do("write 4", "fail 4", "stranger 3", "flush", "look", "look")
    world.do("look")
    found = world.tally.unverifiable + world.tally.skipped
    assert len(world.missing) == 4 == found


def test_the_targets_end_counts_no_copies_while_two_tasks_write() -> None:
    world = watched("write 9", "copy 6", "takeover")
    world.do(*["copy", "copy_other"] * 2, "flush", "look", "look")
    world.do("restart", "look", "look")
    assert world.books.noisy_partitions() == {KEY}
    world.do("fence", "write 9", "copy 15", "flush", "look", "look")
    world.do("write 9", "copy 9", "flush", "look", "look")
    assert world.books.noisy_partitions() == set()


@pytest.mark.parametrize("what", ["expire 22", "remove 2"])
def test_copies_of_what_is_gone_are_not_called_foreign(what: str) -> None:
    world = watched("write 9", "copy 9", what, "write", "drop", "write")
    world.do("copy", "flush", "look", "look", "look")
    assert world.books.foreign == {}


def test_what_expired_unread_is_left_to_the_position() -> None:
    world = watched("write 9", "expire 26", "look", "look", "copy 3")
    world.do("flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally.unverifiable == 0


def test_lost_copies_of_what_expires_next_cannot_be_verified() -> None:
    # The mirror died, its target lost copies, and the source expired up to
    # its end: only what was never copied is the position's (9993000369).
    world = watched("write 14", "copy 3", "drop 2", "copy 7", "flush", "look")
    world.do("look", "look")
    assert world.skipped == {23, 24}
    world.do("crash", "truncate_target 20", "write 6", "expire 38", "write 2")
    world.restart()
    world.do("look 5", "copy 2", "flush", "look", "write")
    world.do("copy", "look 3")
    assert told(world)[1:] == [(SkipKind.UNVERIFIABLE, ((0, 31),), 20)]
    assert world.skipped == {23, 24}


@pytest.mark.parametrize("actions", [("copy 6",), ("drop", "copy 5")])
def test_what_is_copied_next_is_no_record_of_copies_left_by_a_truncation(
    actions: Sequence[str],
) -> None:
    # None looked like its record, as all of these had expired: they were taken
    # for altered ones of the next records, of which a drop was not reported.
    world = watched("write 12", "copy 10", "flush", "look 3", "crash")
    world.do("truncate_target 20", "write 6", "expire 38", "write 6")
    world.do("look 6", *actions, "flush", "look 3")
    lost, *doubts = told(world)
    assert lost == (SkipKind.UNVERIFIABLE, ((0, 29),), 20)
    doubt = (SkipKind.UNVERIFIABLE, ((38, 38),), 1)
    assert doubts == [doubt] * (actions[0] == "drop")


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_truncated_target_that_is_longer_again_is_compared_from_its_start(
    before: int, left: int
) -> None:
    # The first copy that was known was taken for one still, whatever had been
    # written at its offset since (9994000050).
    world = Told().do("write 20", f"copy {before}", "look", "copy 19")
    world.do("copy", "flush", "look 3", f"truncate_target {20 - left}")
    world.do("write 5", "copy 5", "flush", "look 4")
    lost = (SkipKind.TRUNCATED, ((left, 19),), 20 - left)
    assert told(world) == [lost]


def test_copies_lost_from_before_a_drop_are_named_as_they_are() -> None:
    # Only those behind the drop were compared again, and records were named
    # that had been copied since (dense world 1000136).
    world = watched("write 20", "copy 10", "drop 3", "copy 7", "flush")
    world.do("look 3", "truncate_target 20", "write 15", "copy 15", "flush")
    world.do("look 4")
    dropped, lost = told(world)
    assert dropped == (SkipKind.SKIPPED, ((30, 32),), 3)
    assert lost == (SkipKind.TRUNCATED, ((17, 29), (33, 39)), 20)


def test_a_drop_before_copies_that_are_lost_in_the_same_look_is_told() -> None:
    world = watched("write 20", "copy 8", "drop 4", "copy 8")
    world.do("truncate_target 4", "write 30", "copy 30", "flush", "look 4")
    assert world.skipped == {28, 29, 30, 31, 36, 37, 38, 39}


@pytest.mark.parametrize(
    ("since", "lost"),
    [
        (("copy 3",), [(SkipKind.TRUNCATED, ((19, 19),), 1)]),
        (("expire 19", "copy 3"), [(SkipKind.TRUNCATED, ((19, 19),), 1)]),
        (("expire 20", "copy 3"), [(SkipKind.UNVERIFIABLE, ((0, 19),), 1)]),
        (
            ("copy", "drop", "copy"),
            [
                (SkipKind.TRUNCATED, ((19, 19),), 1),
                (SkipKind.SKIPPED, ((21, 21),), 1),
            ],
        ),
    ],
)
def test_one_lost_copy_is_named_where_the_target_is_as_long_again(
    since: tuple[str, ...], lost: list[tuple[SkipKind, object, int]]
) -> None:
    # The mirror writes no sync where one copy is lost: the next record, of
    # which there is a copy, was called skipped.
    world = Told().do("write 20", "look", "copy 20", "flush", "look 3")
    world.do("truncate_target 1", "write 3", *since, "flush", "look 4")
    assert told(world) == lost
    world.do("write 6", "copy 6", "flush", "look 4")
    assert told(world) == lost
    # Groups that fail over do not start behind the record that moved down.
    assert (20, 19) in [run[:2] for run in world.books.states[KEY].copies] or (
        "expire" in since[0]
    )


@pytest.mark.parametrize("expired", ["look", "expire 19", "expire 20"])
def test_one_dropped_record_is_no_lost_copy(expired: str) -> None:
    world = Told().do("write 20", "look", "copy 20", "flush", "look 3")
    world.do("write 3", expired, "drop", "copy 2", "flush", "look 4")
    assert told(world) == [(SkipKind.SKIPPED, ((20, 20),), 1)]


def test_of_records_that_look_alike_a_drop_is_no_lost_copy() -> None:
    world = AlikeWorld().do("write 20", "look", "copy 20", "flush", "look 3")
    world.do("write 3", "expire 20", "drop", "copy 2", "flush", "look 4")
    assert world.skipped == {20}
    assert world.tally.unverifiable == 0


def hold_back(world: Told, *actions: str) -> None:
    """Let syncs of what is done come two surveys late."""
    first = len(world.unread)
    world.do(*actions)
    world.unread, late = world.unread[:first], world.unread[first:]
    world.do("look 2")
    world.unread += late
    world.do("look 2")


def test_syncs_of_copies_that_are_lost_take_no_loss_back() -> None:
    # They came with the first one of the log as it is now, and seemed to be of
    # copies behind that (dense world 1000119).
    world = watched("write 20", "copy 20", "truncate_target 10", "write 40")
    world.do("copy")
    hold_back(world, "copy 14")
    world.do("copy 9", "flush", "look 4")
    assert told(world) == [(SkipKind.SKIPPED, ((30, 39),), 10)]
    assert world.skipped == set(range(30, 40))
    # Groups that fail over still start by what was copied before.
    assert next(iter(world.books.states[KEY].copies)) == (-1, -1, 31)


@pytest.mark.parametrize("dropped", [0, 5])
def test_syncs_of_copies_that_are_lost_hide_no_drop(dropped: int) -> None:
    # The mirror died, and copied again what its target had lost: by the syncs
    # of before it was further on than it was, and what it dropped then was
    # told by nobody.
    world = watched("write 10", "copy 10", "flush", "look", "write 40")
    world.do("copy 20", "crash", "truncate_target 15", "copy")
    hold_back(world, "copy 14")
    world.do(f"drop {dropped}" if dropped else "look", "copy 15", "flush")
    world.do("look 4")
    assert world.skipped == set(range(45, 45 + dropped))
    assert world.tally.repeated == 5


@pytest.mark.parametrize("before", [0, 1, 5])
def test_copied_again_to_a_truncated_target_is_no_loss(before: int) -> None:
    world = Told().do("write 20", f"copy {before}", "flush", "look", "copy 20")
    world.do("flush", "look 3", "truncate_target 20")
    world.writers[0].at = 0
    world.do("copy 15", "look 4", "copy 5", "flush", "look 3")
    assert told(world) == []
    assert world.tally.unverifiable == 0


def test_lost_copies_that_came_again_before_they_expire_are_verified() -> None:
    world = watched("write 12", "copy 10", "look", "crash")
    world.do("truncate_target 10", "look 4", "copy 11", "look 3")
    world.do("write 4", "expire 36", "write 2", "look 2", "copy 2", "flush")
    world.do("look 3")
    assert told(world) == []
    assert world.tally.unverifiable == 0


def test_what_was_dropped_and_expired_since_cannot_be_verified() -> None:
    world = watched("write 9", "drop 3", "copy", "copy 5", "expire 25")
    world.do("flush", "look", "look", "look")
    assert [(k, n) for k, _, n in told(world)] == [(SkipKind.UNVERIFIABLE, 3)]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_made_again_begins_new_books(side: str) -> None:
    world = watched(f"recreate_{side}", "write 15", "copy 10", "flush")
    # Pairs of before and after, in one look.
    world.do("look", "copy 5", "write 30", "copy 30", "flush")
    world.do("look", "look", "look")
    assert told(world) == []
    tally = world.tally
    assert (tally.skipped, tally.repeated, tally.unverifiable) == (0, 0, 0)
    # The new books judge what comes from then on.
    world.do("write 5", "drop 2", "copy 3", "flush", "look", "look", "look")
    assert world.tally.skipped == 2


def test_what_is_dropped_of_a_recreated_topic_beside_markers_is_told() -> None:
    # An exactly-once mirror had copied and dropped before the next survey
    # (seed 41000279): its first copy was looked for nowhere.
    world = watched()
    world.do("commit_target", "look", "write 5", "copy 5", "commit_target")
    world.do("flush", "look", "look")
    world.books.marked = True
    for state in world.books.states.values():
        state.noisy = True
    world.do("recreate_source", "write 60", "copy 40", "commit_target")
    world.do("drop 4", "copy 5", "commit_target", "flush")
    world.do("look", "look", "look")
    assert world.skipped == {40, 41, 42, 43}


def test_partitions_that_come_while_a_topic_is_left_out_are_new() -> None:
    # A mirror that begins at the end misses their first records (seed
    # 20000030), and those of no others.
    tracker = SkipTracker()

    def survey(partitions: int, ends: dict[int, int], *syncs: Sync) -> None:
        at = START + timedelta(seconds=15) * len(surveys)
        surveys.append(at)
        carried = {TOPIC: TOPIC} if ends else {}
        tracker.follow(
            FlowView(
                flow="f",
                at=at,
                committed={},
                syncs={(s.topic, s.partition): s for s in syncs},
                caught_up=True,
                target=ClusterView(
                    alias="b",
                    id="B",
                    at=at,
                    topics={TOPIC: _facts("t1", 2)},
                    ends={(TOPIC, n): end for n, end in ends.items()},
                    starts={(TOPIC, n): 0 for n in ends},
                ),
                source=ClusterView(
                    alias="a",
                    id="A",
                    at=at,
                    topics={TOPIC: _facts("s1", partitions)},
                    ends={(TOPIC, n): 20 for n in ends},
                    starts={(TOPIC, n): 0 for n in ends},
                ),
                names=carried,
                new_syncs=syncs,
            )
        )

    surveys: list[datetime] = []
    survey(1, {0: 20}, to_sync(19, 19, 0))
    survey(1, {0: 20})
    survey(1, {})
    survey(2, {})
    survey(2, {0: 20, 1: 7}, to_sync(13, 0, 1))
    assert tracker.states[TOPIC, 1].is_head
    assert tracker.states[TOPIC, 1].upstream == -1


def _facts(id_: str, partitions: int) -> TopicFacts:
    return TopicFacts(id=id_, partitions=partitions, replication_factor=1)


def to_sync(upstream: int, downstream: int, partition: int) -> Sync:
    return Sync(
        topic=TOPIC,
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        written_at=START,
    )


def test_the_past_of_a_mirror_is_not_judged() -> None:
    world = Told().do("write 20", "copy 5", "drop 5", "copy 10", "flush")
    assert isinstance(world, Told)
    world.do("look", "look", "look")
    assert told(world) == []
    world.do("write 5", "copy 2", "drop", "copy 2", "flush", "look", "look")
    assert world.skipped == {22}


def test_a_pair_that_comes_late_changes_nothing() -> None:
    world = watched("write 9", "copy 9", "flush")
    late = world.unread.pop(0)
    world.do("look", "look")
    world.unread.append(late)
    world.do("look", "look", "look")
    assert told(world) == []
    assert world.tally.repeated == 0


def test_a_sync_is_of_a_copy_where_nothing_can_be_read() -> None:
    world = watched()
    world.do("write", "drop", "write", "copy", "look", "look")
    assert world.skipped == {20}
    # It was copied by a second task, whose first sync says so.
    world.do("deny", "takeover", "copy").finish()
    assert world.skipped == set()
    assert world.tally.recovered == 1


def test_a_sync_of_other_copies_takes_back_no_skip_that_cannot_be_read() -> (
    None
):
    world = watched()
    world.do("write", "drop", "write", "copy", "look", "look")
    world.do("deny", "takeover", "drop", "copy").finish()
    assert world.skipped == {20}
    assert world.tally.recovered == 0


def test_what_was_skipped_and_is_copied_now_hides_no_drop() -> None:
    world = watched()
    world.do("write", "drop", "write", "copy", "look", "look", "deny")
    # Record 20 takes the room of record 22, of which there is no copy.
    world.do("takeover", "write 2", "copy", "drop 2", "copy", "look", "look")
    assert world.skipped == set()
    assert world.missing == {22}
    assert world.tally.unverifiable == 1


def test_a_stretch_that_nobody_can_read_is_unverifiable() -> None:
    world = watched("deny", "write 9", "drop 4", "copy 5", "look", "look")
    assert [(k, n) for k, _, n in told(world)] == [(SkipKind.UNVERIFIABLE, 4)]
    assert world.tally.skipped == 0


def test_only_the_newest_ranges_are_kept_by_name() -> None:
    world = watched()
    for _ in range(300):
        world.do("write 2", "drop", "copy")
    world.do("flush", "look", "look", "look")
    epoch = world.books.states[KEY]
    assert len(list(epoch.skipped)) == 200
    assert world.books.tallies[TOPIC].skipped == 300


def test_a_pair_of_another_topic_makes_no_loss() -> None:
    world = watched("write 30", "copy 10", "drop", "copy 10")
    # A transform sent record 30 elsewhere, where it is the thirtieth.
    astray = replace(world.told[-1], upstream=30, downstream=33)
    world.told.append(astray)
    world.unread.append(astray)
    world.do("copy 9", "flush", "look", "look", "look")
    assert [(kind, n) for kind, _, n in told(world)] == [(SkipKind.SKIPPED, 1)]
    assert world.skipped == {30}


@pytest.mark.parametrize("world", [AlikeWorld(), AlteredWorld()])
def test_a_mirror_that_goes_back_does_not_seem_to_jump_ahead(
    world: World,
) -> None:
    # It dies each time before it has told where it is.
    world.do("look", "write 30", "copy 3", "crash_hard", "copy 3")
    world.do("crash_hard", "copy", "look", "look")
    assert world.tally.skipped == 0


@pytest.mark.parametrize("world", [AlikeWorld(), AlteredWorld()])
def test_what_may_have_been_copied_before_is_not_called_dropped(
    world: World,
) -> None:
    world.do("look", "write 4", "copy 3", "crash", "copy", "look", "drop")
    world.finish()
    assert world.missing == set()
    assert world.tally.skipped == 0


@dataclass
class Stale(Told):
    """A world in which one side may tell an end that is too low."""

    low: str | None = None
    is_cut: bool = False

    def has(self, end: int) -> bool:
        return not self.is_cut and super().has(end)

    def view(self) -> FlowView:
        view = super().view()
        if self.low is None:
            return view
        source, target = view.source, view.target
        assert source is not None
        assert target is not None
        if self.low != "target":
            end = 10 if self.low == "source" else 5
            source = replace(source, ends={KEY: end})
        if self.low != "source":
            target = replace(target, ends={KEY: 10})
        return replace(view, source=source, target=target)

    def wait(self, seconds: int) -> None:
        until = self.now + timedelta(seconds=seconds)
        while self.now < until:
            self.look()


def dropped_two(side: str) -> Stale:
    world = Stale().do("look", "write 20", "copy 20", "flush", "look")
    assert isinstance(world, Stale)
    world.do("look", "write 9", "copy 3", "drop 2", "copy 4", "look", "look")
    assert world.skipped == {23, 24}
    world.low = side
    return world


SIDES = pytest.mark.parametrize("side", ["source", "target"])


@SIDES
def test_an_end_that_is_low_for_a_moment_changes_nothing(side: str) -> None:
    world = dropped_two(side)
    world.do("write 9", "copy 3", "drop", "copy 5")
    world.wait(20)
    world.low = None
    world.do("flush", "look", "look", "look")
    assert world.skipped == {23, 24, 32}
    assert (world.tally.repeated, world.tally.unverifiable) == (0, 0)


def test_an_end_that_is_low_for_long_is_not_believed_of_a_longer_log() -> None:
    """A broker may answer with an old one."""
    world = dropped_two("target")
    world.do("write 9", "copy 9", "flush")
    world.wait(600)
    cursor = world.books.states[KEY].cursor
    assert cursor is not None
    assert cursor.downstream > 10
    world.low = None
    world.do("look", "look")
    assert world.skipped == {23, 24}
    assert (world.tally.repeated, world.tally.unverifiable) == (0, 0)


@SIDES
def test_what_was_skipped_is_told_after_a_truncation(side: str) -> None:
    world = dropped_two(side)
    (event,) = world.save()
    world.is_cut = True
    world.wait(60)
    state = world.books.states[KEY]
    if side == "source":
        assert state.upstream is None
    else:  # what is left of its copies is compared again
        assert state.cursor is not None
        assert state.cursor.downstream < 10 < state.cut_until
    assert world.skipped == {23, 24}
    assert world.books.missing(event) == 2
    world.restart()
    assert world.books.missing(event) == 2


@pytest.mark.parametrize(("side", "doubted"), [("source", 0), ("both", 5)])
def test_what_a_target_lost_is_in_doubt_where_the_source_lost_more(
    side: str, doubted: int
) -> None:
    world = dropped_two(side)
    world.is_cut = True
    world.wait(60)
    # The source holds five records, and the target lost copies of 17.
    unverifiable = [e for e in world.save() if e.kind == "unverifiable"]
    assert sum(event.count for event in unverifiable) == doubted
    assert world.tally.unverifiable == doubted


def test_what_was_skipped_is_told_when_the_target_is_recreated() -> None:
    world = watched("write 4", "drop 2", "copy 2", "look", "look")
    (event,) = world.save()
    world.do("recreate_target", "write 9", "copy 9", "flush", "look", "look")
    assert world.books.missing(event) == 2


class Denied(Told):
    """A topic that is not shown to the agent, in some surveys."""

    hidden = False

    def hide(self) -> None:
        """From now on it is not, or is again."""
        self.hidden = not self.hidden

    def view(self) -> FlowView:
        view = super().view()
        if not self.hidden:
            return view
        assert view.source is not None
        return replace(
            view, source=replace(view.source, topics={}, ends={}), names={}
        )


@pytest.mark.parametrize("surveys", [1, 3])
@pytest.mark.parametrize("read_first", [True, False])
def test_what_was_skipped_is_told_once_its_topic_is_shown_again(
    surveys: int, read_first: bool
) -> None:
    world = Denied()
    world.do("look", "write 20", "copy 20", "flush", "look", "look", "look")
    # The sync behind it is read before, or while, it is hidden.
    world.do("write 4", "drop 2", "copy 2", *["look"] * read_first, "hide")
    world.do(*["look"] * surveys, "hide", "look", "look")
    assert told(world) == [(SkipKind.SKIPPED, ((20, 21),), 2)]


def test_syncs_of_a_topic_that_was_recreated_unseen_are_of_the_old_one() -> (
    None
):
    world = Denied()
    world.do("look", "write 20", "copy 20", "flush", "look", "look", "look")
    world.do("write 4", "drop 2", "copy 2", "look", "hide", "look")
    world.do("recreate_source", "write 30", "look", "hide")
    world.do("look", "look", "look")
    assert [x for x in world.save() if x.kind is SkipKind.SKIPPED] == []


class Growing:
    """A topic of one partition, copied to its end, that gets a second."""

    def __init__(self, *, leader: bool = True) -> None:
        self.books = SkipTracker()
        self.at = START
        self.source, self.target = [20], [20]
        self.starts = [0]
        self.leaderless: set[int] = set()
        self.look()
        if not leader:
            self.leaderless.add(1)
        self.source.append(0)
        self.starts.append(0)
        # The mirror gives it to the target only later.
        self.look()
        self.target.append(0)
        self.look()

    def look(self, *syncs: Sync) -> None:
        self.at += timedelta(seconds=1)
        view = FlowView(
            flow="f",
            at=self.at,
            committed={},
            syncs={("t", 0): self.sync(0, 19, 19)},
            caught_up=True,
            target=self._cluster("b", self.target),
            source=self._cluster("a", self.source),
            names={"t": "t"},
            new_syncs=syncs,
        )
        self.books.follow(view)

    def sync(self, partition: int, upstream: int, downstream: int) -> Sync:
        return Sync(
            topic="t",
            partition=partition,
            upstream=upstream,
            downstream=downstream,
            written_at=self.at,
        )

    def copy(self, records: int, *, first: int) -> list[SkipEvent]:
        """Let the mirror begin somewhere in the second partition."""
        self.source[1], self.target[1] = records, records - first
        self.leaderless.clear()
        self.look(self.sync(1, first, 0))
        self.look()
        for request in self.books.requests():
            source = {
                n: n
                for span in request.read_source
                for n in range(span.first, span.end)
            }
            span = request.read_target
            target = {n: n + first for n in range(span.first, span.end)}
            start = self.starts[1]
            kept = {n: look for n, look in source.items() if n >= start}
            reading = RangeContent(
                source=kept, target=target, source_start=start
            )
            self.books.answer(request, reading, self.at)
        return self.books.events

    def _cluster(self, alias: str, ends: list[int]) -> ClusterView:
        topic = TopicFacts(
            id=f"id of {alias}", partitions=len(ends), replication_factor=1
        )
        return ClusterView(
            alias=alias,
            id=alias,
            at=self.at,
            topics={"t": topic},
            ends={
                ("t", p): end
                for p, end in enumerate(ends)
                if p not in self.leaderless
            },
            starts={("t", p): s for p, s in enumerate(self.starts)},
        )


def test_each_partition_has_its_repeats_reported_at_once_then_by_minutes() -> (
    None
):
    # One partition's were 60 s late behind another's (chaos of seed 107).
    world = Growing()
    world.copy(100, first=0)
    world.source, world.target = [100, 100], [100, 100]
    for state in world.books.states.values():
        state.frontier = 99  # all the rest is copied for the second time

    def repeated() -> list[tuple[int, int]]:
        return [(x.partition, x.count) for x in world.books.events]

    world.look(world.sync(0, 29, 29))
    world.look()
    assert repeated() == [(0, 10)]
    world.look(world.sync(1, 7, 7), world.sync(0, 39, 39))
    world.look()
    assert repeated() == [(0, 10), (1, 7)]
    world.at += timedelta(seconds=50)
    world.look(world.sync(0, 49, 49))
    world.look()
    assert repeated() == [(0, 10), (1, 7)]
    world.at += timedelta(seconds=10)
    world.look()
    assert repeated() == [(0, 10), (1, 7), (0, 20)]


def test_a_new_partition_that_is_copied_from_its_start_is_no_loss() -> None:
    assert Growing().copy(60, first=0) == []


def test_the_beginning_of_a_new_partition_that_was_missed_is_named() -> None:
    (head,) = Growing().copy(60, first=50)
    assert (head.kind, head.partition) == (SkipKind.HEAD, 1)
    assert (head.ranges, head.count) == (((0, 49),), 50)


def test_what_expired_of_a_new_partition_before_is_left_to_position() -> None:
    growing = Growing()
    growing.starts[1] = 50
    assert growing.copy(60, first=50) == []


def test_a_new_partition_keeps_its_head_until_it_has_a_leader() -> None:
    growing = Growing(leader=False)
    growing.look()
    growing.books = SkipTracker(states=growing.books.states, begun=True)
    growing.look()
    (head,) = growing.copy(60, first=50)
    assert (head.kind, head.ranges) == (SkipKind.HEAD, ((0, 49),))


def test_a_new_partition_copied_from_its_first_leader_on_is_no_loss() -> None:
    assert Growing(leader=False).copy(60, first=0) == []


def test_a_partition_made_while_nobody_looked_keeps_its_head() -> None:
    growing = Growing(leader=False)
    del growing.books.states["t", 1]
    growing.books = SkipTracker(states=growing.books.states, begun=True)
    growing.look()
    growing.look()
    (head,) = growing.copy(60, first=50)
    assert (head.kind, head.ranges) == (SkipKind.HEAD, ((0, 49),))


def test_what_was_there_first_without_a_leader_has_no_head() -> None:
    growing = Growing(leader=False)
    growing.books = SkipTracker()
    growing.look()
    assert growing.copy(60, first=50) == []


MOVED = ("write 3", "mark", "write 3", "copy 6")
"""A mark of a transaction, so that the stretch must be read."""

LOOK = ("flush", "look", "look", "look")


def watched_topics(*actions: str) -> HarshWorld:
    world = HarshWorld()
    world.do("look", "write 20", "copy 20", *LOOK, *actions)
    return world


def kinds(world: HarshWorld) -> list[SkipKind]:
    return [event.kind for event in world.store.events()]


@pytest.mark.parametrize("how", ["remove_last_here", "expire_here 24"])
def test_a_copy_that_is_gone_is_not_taken_for_dropped(how: str) -> None:
    world = watched_topics(*MOVED, how, *LOOK)
    assert world.tally.skipped == 0
    assert SkipKind.SKIPPED not in kinds(world)


def test_copies_that_expired_cannot_be_verified() -> None:
    world = watched_topics(*MOVED, "expire_here 24", *LOOK)
    assert world.tally.unverifiable == 3
    assert kinds(world) == [SkipKind.UNVERIFIABLE]


def test_a_drop_is_told_beside_copies_of_what_compaction_took() -> None:
    # Copies of 1 to 3, of which the source has 2 and 3: none is one of 4.
    world = HarshWorld().do("look", "write 6", "copy 4", "remove 2")
    world.do("drop", "copy", "flush", "look", "look")
    assert world.skipped == world.missing == {4}


def test_a_copy_that_is_gone_may_be_that_of_what_is_still_there() -> None:
    # 1 and 3 were gone before the mirror came to them, 2 it copied.
    world = HarshWorld().do("look", "write 6", "copy")
    world.source[1] = world.source[3] = None
    world.source_compacted = world.target_compacted = True
    world.do("copy 3", "forget")
    world.gone_here = {1}
    world.do("flush", "look", "look")
    assert world.skipped == world.missing == set()


def test_what_compaction_took_of_the_target_is_a_sign_of_nothing() -> None:
    world = watched_topics(*MOVED, "remove_last_here", *LOOK)
    assert world.tally.unverifiable == 0
    assert kinds(world) == []


def test_a_drop_beside_strangers_in_a_compacted_topic_is_in_doubt() -> None:
    world = watched_topics("write 6", "copy 2", "drop", "stranger 9")
    world.source_compacted = world.target_compacted = True
    world.do("copy 3", *LOOK)
    assert world.tally.skipped == 0
    assert kinds(world) == [SkipKind.UNVERIFIABLE]
    assert world.tally.unverifiable == 1


def test_strangers_do_not_make_a_copy_doubtful_that_compaction_took() -> None:
    world = watched_topics("write 6", "copy 3", "stranger 9")
    world.source_compacted = world.target_compacted = True
    world.gone_here = {22}
    world.do("copy 3", *LOOK)
    assert kinds(world) == []


def test_more_missing_than_gone_is_a_loss_by_the_rest() -> None:
    world = watched_topics(
        "write 9", "copy 2", "drop 4", "copy 3", "expire_here 21"
    )
    world.do(*LOOK)
    assert world.skipped == {22, 23, 24, 25}
    assert world.tally.unverifiable == 1


def test_records_that_expire_while_they_are_read_are_no_loss() -> None:
    world = watched_topics("write 9", "copy 2", "drop 4", "copy 3")
    world.do("expire 24", "expire_meanwhile", *LOOK)
    assert world.tally.skipped == 0
    # Two copies of what is gone, too, explain as many of six offsets.
    assert kinds(world) == [SkipKind.UNVERIFIABLE]
    assert world.tally.unverifiable == 4


def test_an_altered_copy_is_not_taken_for_dropped() -> None:
    world = watched_topics("write 3", "mark", "write 3", "copy 2")
    world.target[-1] = None
    world.do("copy 4", *LOOK)
    assert world.tally.skipped == 0
    assert kinds(world) == [SkipKind.UNVERIFIABLE]
    assert world.tally.unverifiable == 1


DROPPED, BUSY = ("dropped", 0), ("busy", 0)
ONE_TASK = {DROPPED: 0, BUSY: 0}


class Flow:
    """Two partitions: one waits, the other is written every ten seconds."""

    def __init__(self, tasks: dict[tuple[str, int], int]) -> None:
        self.suspicions = DroppedTailDetector(patience=timedelta(minutes=2))
        self.tasks = tasks
        self.at = START
        self.ends = {DROPPED: 30, BUSY: 0}
        self.positions = {DROPPED: 20, BUSY: 0}
        self.spans: dict[tuple[str, int], OffsetRange] = {}

    def go_on(self, seconds: int, *, copying: int) -> set[tuple[str, int]]:
        """Let time pass; the mirror copies so many records each time."""
        found: set[tuple[str, int]] = set()
        for _ in range(seconds // 10):
            self.at += timedelta(seconds=10)
            self.ends = self.ends | {BUSY: self.ends[BUSY] + 5}
            position = min(self.positions[BUSY] + copying, self.ends[BUSY])
            self.positions = self.positions | {BUSY: position}
            self.spans = self.suspicions.look(
                self.at, self.ends, self.positions, self.tasks
            )
            found = set(self.spans)
        return found


def test_records_that_their_task_leaves_behind_are_suspected() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(120, copying=5) == set()
    assert flow.go_on(30, copying=5) == {DROPPED}
    assert flow.suspicions.since(DROPPED) == START + timedelta(seconds=10)


@pytest.mark.parametrize("moves", [False, True])
def test_what_was_suspected_is_suspected_after_a_restart(moves: bool) -> None:
    # It took two minutes anew, in which lag called the partition stuck.
    flow = Flow(ONE_TASK)
    flow.go_on(150, copying=5)
    found = flow.spans[DROPPED]
    since = flow.suspicions.since(DROPPED)
    known = SuspectedDrop(
        topic=DROPPED[0],
        partition=DROPPED[1],
        first=found.first,
        end=found.end,
        count=10,
        since=since,
    )
    flow.suspicions = DroppedTailDetector(
        patience=timedelta(minutes=2), known={DROPPED: known}
    )
    # Neither the position nor the tasks are known at first.
    tasks, flow.tasks = flow.tasks, {}
    assert flow.go_on(10, copying=5) == set()
    flow.tasks = tasks
    flow.ends = flow.ends | {DROPPED: 35}
    if moves:
        flow.positions = flow.positions | {DROPPED: 25}
        assert flow.go_on(120, copying=5) == set()
        return
    assert flow.go_on(10, copying=5) == {DROPPED}
    assert (flow.spans[DROPPED], flow.suspicions.since(DROPPED)) == (
        found,
        since,
    )
    flow.go_on(150, copying=5)
    assert flow.spans[DROPPED] == OffsetRange(20, 35)


def test_a_mirror_that_stands_is_not_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(60, copying=5)
    assert flow.go_on(3600, copying=0) == set()


def test_a_mirror_that_drains_a_backlog_is_not_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(600, copying=0)
    assert flow.go_on(900, copying=4) == set()


def test_a_task_that_drains_one_partition_first_is_not_suspected() -> None:
    # Seen on real brokers: after a restart it copied the newest records of
    # one partition some seconds before the oldest of another.
    flow = Flow(ONE_TASK)
    flow.positions = flow.positions | {DROPPED: 30}
    flow.go_on(60, copying=5)
    flow.ends = flow.ends | {DROPPED: 60}
    flow.go_on(600, copying=0)
    assert flow.go_on(80, copying=2000) == set()
    # If it goes on for long, nobody takes those any more.
    assert flow.go_on(60, copying=5) == {DROPPED}


def test_stalls_hide_no_drop_for_ever() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(10, copying=0)
    found = []
    for _ in range(6):
        flow.go_on(300, copying=0)
        found.append(flow.go_on(10, copying=2000))
    assert found == [set()] * 3 + [{DROPPED}] * 3


def test_a_task_that_was_idle_was_not_stalled() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(60, copying=5)
    flow.at += timedelta(minutes=10)
    assert flow.go_on(20, copying=5) == {DROPPED}


def test_another_task_that_goes_on_says_nothing() -> None:
    assert Flow({DROPPED: 0, BUSY: 1}).go_on(3600, copying=5) == set()


def test_without_known_tasks_nothing_is_suspected() -> None:
    assert Flow({}).go_on(3600, copying=5) == set()


def test_a_position_that_moves_takes_it_back() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 25}
    assert flow.go_on(10, copying=5) == set()
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 30}
    assert flow.go_on(300, copying=5) == set()


def test_records_are_left_behind_before_they_are_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(30, copying=5)
    assert flow.suspicions.left_behind == set()
    assert flow.go_on(30, copying=5) == set()
    assert flow.suspicions.left_behind == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 30}
    flow.go_on(10, copying=5)
    assert flow.suspicions.left_behind == set()


def test_what_was_written_since_their_task_stands_is_only_late() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.ends = flow.ends | {DROPPED: 90}
    assert flow.go_on(3600, copying=0) == {DROPPED}
    assert flow.spans[DROPPED] == OffsetRange(20, 30)
    # It goes on: those are left behind in their turn.
    assert flow.go_on(200, copying=2000) == {DROPPED}
    assert flow.spans[DROPPED] == OffsetRange(20, 90)


def test_of_many_ends_some_are_remembered() -> None:
    flow = Flow(ONE_TASK)
    for _ in range(500):
        flow.ends = flow.ends | {DROPPED: flow.ends[DROPPED] + 1}
        flow.go_on(10, copying=5)
    assert 500 < flow.spans[DROPPED].end <= flow.ends[DROPPED] - 12
    assert len(flow.suspicions.waiting[DROPPED].ends) <= 64


def test_what_is_still_to_be_read_is_not_accounted_for() -> None:
    world = watched("write 5", "copy 5", "write 10", "drop 10")
    world.do("write", "copy", "see")
    assert world.books.unaccounted() == {}
    # The sync behind the drop counts from the next survey on.
    world.books.follow(world.view())
    assert world.books.unaccounted() == {KEY: 25}
    (request,) = world.books.requests()
    # Neither side says more while it cannot be read.
    world.books.follow(world.view())
    assert world.books.unaccounted() == {KEY: 25}
    world.books.answer(request, world.read(request), world.now)
    assert world.books.unaccounted() == {}


def test_a_partition_without_a_first_pair_is_not_called_unaccounted() -> None:
    books = SkipTracker()
    assert books.unaccounted() == {}
    world = watched("look")
    assert world.books.unaccounted() == {}


def test_missing_records_are_those_that_the_source_still_holds() -> None:
    world = watched("write 6", "drop 3", "copy 2", "drop", "write", "copy")
    world.do("look", "look")
    assert world.skipped == {20, 21, 22, 25}
    assert world.books.missing_records() == {KEY: (20, 4)}
    world.do("expire 21", "look")
    assert world.books.missing_records() == {KEY: (21, 3)}
    world.do("expire 5", "look")
    assert world.books.missing_records() == {}


def test_records_that_a_transform_may_drop_are_not_missing() -> None:
    world = watched("write 6", "drop 3", "copy 3", "look", "look")
    assert world.books.missing_records() == {KEY: (20, 3)}
    rule = FilteredRule(pattern=TOPIC)
    world.books.filtered = FilteredTopics(rules=(rule,))
    assert world.books.missing_records() == {}


def test_missing_records_that_are_copied_later_are_missing_no_more() -> None:
    world = watched("write 30", "copy 10", "drop 3", "copy 17", "look", "look")
    assert world.books.missing_records() == {KEY: (30, 3)}
    world.do("crash", "copy 30", "write", "copy", "flush", "look", "look")
    world.do("look")
    assert world.books.missing_records() == {}


def test_copies_that_a_truncated_target_lost_are_in_doubt_no_more() -> None:
    # Two tasks at once had left these in doubt (seed 9980000007).
    state = PartitionState(topic="t", partition=0, source_id="s")
    state.begin(0, 0)
    for offset in range(1, 2000):
        state.copies.add(offset, offset)
    state.copy_run(1, 1999, SkipCounters())
    state.move(OffsetPair(1999, 1999))
    state.doubt(RangeSet([(5, 9), (1300, 1305), (1700, 1710)]))
    state.cut(1500, 2000, None, 3000)
    # What is left of the copies is compared again, the last 1,000 of them.
    assert state.frontier == 499
    assert list(state.doubtful) == [(5, 9)]


def test_syncs_are_missed_where_all_records_have_expired() -> None:
    facts = TopicFacts(id="t", partitions=1, replication_factor=1)
    source, target = (
        ClusterView(
            alias=alias,
            id=alias,
            at=START,
            topics={TOPIC: facts},
            ends={KEY: 9},
            starts={KEY: start},
        )
        for alias, start in (("summit", 9), ("ldf", 0))
    )
    view = FlowView(
        flow="f",
        at=START,
        committed={},
        syncs={},
        caught_up=True,
        source=source,
        target=target,
        names={TOPIC: TOPIC},
    )
    tracker = SkipTracker()
    for seconds in (0, 60, 120):
        tracker.follow(replace(view, at=START + timedelta(seconds=seconds)))
    assert tracker.blind == 1


@dataclass
class SilentWorld(AlteredWorld):
    """A mirror that alters what it copies, and writes no syncs."""

    def _tell(self, up: int, down: int) -> None:
        """Write nothing."""


def test_what_is_altered_is_not_counted_again_with_each_commit() -> None:
    # No copy is recognised: all since the first one was read again each time,
    # and some of the same were called duplicated, others lost.
    world = SilentWorld().do("look", "write 22", "fail 17", "copy 5", "flush")
    world.do("look 4")
    assert world.tally.skipped == 17
    skipped = world.skipped
    for _ in range(3):
        world.do("write 3", "copy 3", "flush", "look 4")
    assert world.skipped == skipped
    assert (world.tally.skipped, world.tally.repeated) == (17, 0)
    world.do("write 2", "fail 1", "copy 1", "flush", "look 4")
    assert (world.tally.skipped, world.tally.repeated) == (18, 0)


@pytest.mark.parametrize("lost", [19, 0])
@pytest.mark.parametrize("beyond", [0, 2])
def test_altered_copies_beyond_a_commit_may_hide_as_many_that_are_missing(
    lost: int, beyond: int
) -> None:
    # Which record a copy is of, nobody sees (9996500375).
    world = SilentWorld().do("look", "write 22")
    world.do(*["fail"] * lost, f"copy {22 - lost}", "flush")
    world.do(*["write", "copy"] * beyond, "look 4")
    expected = lost - beyond if lost else 0, beyond if lost else 0
    assert (world.tally.skipped, world.tally.unverifiable) == expected
