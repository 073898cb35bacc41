"""Copies and their records: what is found is true, the rest is not said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

import pytest

from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicFacts,
)
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.record_matching import (
    AGAIN,
    DEEP_TAIL,
    LARGEST_WINDOW,
    OVERDUE,
    SURE,
    TAIL,
    CopiesRequest,
    Match,
    MatcherState,
    RecordLook,
    RecordMatcher,
    SourceWindow,
    Unproved,
    claimed_offsets,
    match,
    match_by_headers,
)
from mirrorwatch.state.documents import from_json, to_json
from tests.support.builders import NOON

TICK = timedelta(seconds=5)


def look(content: int, at: int | None = None, *headers: int) -> RecordLook:
    time = content if at is None else at
    return RecordLook(
        content=content, timestamp=time, headers=frozenset(headers)
    )


@dataclass
class Log:
    """One partition: records by offset; compaction takes some out."""

    records: dict[int, RecordLook] = field(default_factory=dict)
    end: int = 0
    start: int = 0

    def add(self, *looks: RecordLook) -> None:
        for each in looks:
            self.records[self.end] = each
            self.end += 1

    def expire(self, start: int) -> None:
        self.start = start
        for offset in [o for o in self.records if o < start]:
            del self.records[offset]


@dataclass
class World:
    """A topic on both sides, read as the worker reads it."""

    partitions: int = 1
    state: MatcherState = field(default_factory=MatcherState)
    now: datetime = NOON
    source_id: str = "s"
    target_id: str = "t"
    has_headers: bool = False

    def __post_init__(self) -> None:
        self.source = [Log() for _ in range(self.partitions)]
        self.target = [Log() for _ in range(self.partitions)]
        self.matcher = RecordMatcher(self.state)
        self.read: list[CopiesRequest] = []

    @property
    def view(self) -> FlowView:
        return FlowView(
            flow="f",
            at=self.now,
            committed={},
            syncs={},
            caught_up=True,
            target=self._side("r", self.target_id, self.target),
            source=self._side("t", self.source_id, self.source),
            names={"t": "r"},
        )

    def _side(self, name: str, id_: str, logs: Sequence[Log]) -> ClusterView:
        facts = TopicFacts(id=id_, partitions=len(logs), replication_factor=1)
        return ClusterView(
            alias=name,
            id=name,
            at=self.now,
            topics={name: facts},
            ends={(name, p): log.end for p, log in enumerate(logs)},
            starts={(name, p): log.start for p, log in enumerate(logs)},
        )

    def look(self) -> list[Sync]:
        """Read what is asked for, until nothing more is."""
        found: list[Sync] = []
        view, self.read = self.view, []
        while requests := self.matcher.plan(view):
            self.read += requests
            matches = [self._match(r) for r in requests]
            for request, (matched, keys) in zip(
                requests, matches, strict=True
            ):
                found += self.matcher.answer(
                    request, matched, self.now, keys=keys
                )
            assert len(self.read) < 100, "it asks for ever"
        self.now += TICK
        return found

    def _match(self, request: CopiesRequest) -> tuple[Match, int]:
        partition = request.key[1]
        copies = [
            (offset, each)
            for offset, each in sorted(self.target[partition].records.items())
            if request.copies.first <= offset < request.copies.end
        ]
        log = self.source[partition]
        claimed = claimed_offsets(copies, request.log_end)
        if claimed is not None:
            records = {
                o: r
                for o, r in log.records.items()
                if claimed.first <= o < claimed.end
            }
            by_headers = match_by_headers(copies, records)
            if by_headers is not None:
                return by_headers, 0
        since = min((c.timestamp for _, c in copies), default=0)
        window = self._window(log, since)
        if not window.is_whole and copies:
            window = self._window(log, copies[-1][1].timestamp)
        keys = {c.key for _, c in copies} - {None}
        found = match(copies, window, self.matcher.pair(request.key))
        return found, len(keys)

    def _window(self, log: Log, since: int) -> SourceWindow:
        late = (o for o, r in log.records.items() if r.timestamp >= since)
        first = min(late, default=log.end)
        end = min(log.end, first + LARGEST_WINDOW)
        return SourceWindow(
            since=since,
            end=end,
            log_end=log.end,
            records={o: r for o, r in log.records.items() if first <= o < end},
        )

    def restart(self) -> None:
        state = from_json(MatcherState, to_json(self.matcher.state))
        self.matcher = RecordMatcher(state)

    def copy(self, *offsets: int, partition: int = 0) -> None:
        records = self.source[partition].records
        self.target[partition].add(
            *(
                replace(records[o], upstream=o if self.has_headers else None)
                for o in offsets
            )
        )

    def problem(self) -> str | None:
        self.matcher.plan(self.view)
        return self.matcher.unproved().get(("t", 0))


def pairs(syncs: Iterable[Sync]) -> list[tuple[int, int]]:
    return [(s.upstream, s.downstream) for s in syncs]


def written(world: World, *contents: int) -> None:
    world.source[0].add(*map(look, contents))


def test_the_newest_copy_gives_a_pair() -> None:
    world = World()
    written(world, *range(10))
    assert (world.look(), world.problem()) == ([], None)  # nothing copied
    world.copy(*range(7))
    assert pairs(world.look()) == [(6, 6)]
    assert world.problem() is None
    # What does not move is not read again.
    assert (world.look(), world.read) == ([], [])
    world.copy(7, 8, 9)
    assert pairs(world.look()) == [(9, 9)]


def test_drops_and_repeats_give_pairs_before_and_behind_each() -> None:
    world = World()
    written(world, *range(20))
    world.copy(0, 1, 2)
    assert pairs(world.look()) == [(2, 2)]
    world.copy(3, 4, 7, 8, 7, 8, 9)
    syncs = world.look()
    assert pairs(syncs) == [(4, 4), (7, 5), (8, 6), (7, 7), (9, 9)]
    assert not any(sync.after_unread for sync in syncs)


def test_where_copies_were_not_read_nobody_knows_where_one_is_missing() -> (
    None
):
    world = World()
    written(world, *range(100))
    world.copy(0)
    world.look()
    world.copy(1, 2, *range(4, 60))
    first, last = world.look()
    assert pairs([first, last]) == [(60 - TAIL, 59 - TAIL), (59, 58)]
    assert first.after_unread
    assert not last.after_unread


def test_a_mirror_that_goes_back_is_seen() -> None:
    world = World()
    written(world, *range(20))
    world.copy(*range(20))
    world.look()
    world.copy(5, 6)
    assert pairs(world.look()) == [(5, 20), (6, 21)]


def test_what_two_records_look_like_is_of_neither() -> None:
    world = World()
    written(world, 1, 2)
    world.source[0].add(*[look(5)] * 3)
    world.copy(0, 1, 2)
    # An older copy is of one alone, but more may have been copied.
    assert pairs(world.look()) == [(1, 1)]
    assert world.problem() == Unproved.NOT_UNIQUE
    # All of them were, whichever is which.
    world.copy(3, 4)
    assert pairs(world.look()) == [(4, 4)]
    assert world.problem() is None


def test_as_many_copies_as_records_are_not_all_of_them() -> None:
    world = World()
    world.source[0].add(look(1), look(5), look(6, 5), look(5))
    # One is left out, and another one written twice.
    world.copy(0, 1, 3, 3)
    assert pairs(world.look()) == [(0, 0)]
    assert world.problem() == Unproved.NOT_UNIQUE


def test_equal_records_alone_prove_nothing() -> None:
    world = World()
    world.source[0].add(*[look(5)] * 30)
    world.copy(*range(20))
    assert world.look() == []
    assert world.problem() == Unproved.NOT_UNIQUE


def test_a_batch_that_was_written_twice_is_not_unique() -> None:
    """As by a mirror upstream that was killed: the twin is far away."""
    world = World()
    written(world, *range(1000), *range(500, 1000))
    world.copy(*range(800))
    assert world.look() == []
    assert world.problem() == Unproved.NOT_UNIQUE
    written(world, 2000)
    world.copy(*range(800, 1501))
    assert pairs(world.look()) == [(1500, 1500)]
    assert world.problem() is None


def test_headers_decide_between_records_that_are_alike() -> None:
    world = World()
    world.source[0].add(look(1, 1, 7), look(1, 1, 8), look(1, 1))
    # The mirror has added one.
    world.target[0].add(look(1, 1, 8, 99))
    assert pairs(world.look()) == [(1, 0)]


def test_constant_timestamps_take_reading_all() -> None:
    world = World()
    world.source[0].add(*(look(n, 7) for n in range(2000)))
    world.copy(*range(1500))
    assert pairs(world.look()) == [(1499, 1499)]
    world.source[0].add(*(look(n, 7) for n in range(2000, 20_000)))
    world.copy(1500)
    # From then on the first of too many is meant: it lies where they began.
    assert pairs(world.look()) == [(1500, 1500)]
    world.copy(1600)
    assert world.look() == []
    assert world.problem() == Unproved.TOO_MANY


def test_a_backlog_is_followed_where_both_sides_go_on_alike() -> None:
    world = World()
    written(world, *range(100))
    world.copy(*range(100))
    world.look()
    written(world, *range(100, 50_000))
    world.copy(*range(100, 1000))
    assert pairs(world.look()) == [(999, 999)]
    world.restart()
    assert pairs(world.look()) == [(999, 999)]
    # A dropped record is not believed before all is read.
    world.copy(*range(1001, 2000))
    assert world.look() == []
    assert world.problem() == Unproved.TOO_MANY
    world.copy(*range(2000, 49_000))
    assert pairs(world.look())[-1] == (48_999, 48_998)
    assert world.problem() is None


def test_a_backlog_alone_is_not_enough() -> None:
    world = World()
    written(world, *range(50_000))
    world.copy(*range(1000))
    assert world.look() == []
    assert world.problem() == Unproved.TOO_MANY


def test_times_of_the_source_broker_ascend() -> None:
    world = World()
    looks = [replace(look(n), by_broker=True) for n in range(50_000)]
    world.source[0].add(*looks)
    world.target[0].add(*map(look, range(1000)))
    assert pairs(world.look()) == [(999, 999)]


def test_times_of_the_target_broker_are_of_no_use() -> None:
    world = World()
    written(world, *range(10))
    world.target[0].add(*(replace(look(n), by_broker=True) for n in range(5)))
    assert world.look() == []
    assert world.problem() == Unproved.STAMPED


def test_altered_copies_are_not_found() -> None:
    world = World()
    written(world, *range(10))
    world.target[0].add(*(look(n + 1000, n) for n in range(5)))
    assert world.look() == []
    assert world.problem() == Unproved.NOT_FOUND


def test_records_of_others_leave_the_position_open() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(10))
    assert pairs(world.look()) == [(9, 9)]
    world.target[0].add(look(777, 777))
    assert world.look() == []
    # The source holds no more, so nothing can wait.
    assert world.problem() is None
    written(world, 10, 11)
    world.look()
    assert world.problem() == Unproved.NOT_FOUND
    world.copy(10)
    assert pairs(world.look()) == [(10, 11)]
    assert world.problem() is None


def test_more_records_of_others_than_are_read() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(9))
    world.target[0].add(*(look(n, n) for n in range(500, 500 + TAIL)))
    assert pairs(world.look()) == [(8, 8)]
    world.copy(9)
    world.target[0].add(*(look(n, n) for n in range(600, 600 + DEEP_TAIL)))
    assert world.look() == []
    assert {len(r.copies) for r in world.read} == {DEEP_TAIL}


def test_compaction_takes_records_away() -> None:
    world = World()
    written(world, *range(100))
    world.copy(*range(60))
    del world.source[0].records[59]
    for offset in (57, 58):
        del world.target[0].records[offset]
    assert pairs(world.look()) == [(56, 56)]
    assert world.problem() == Unproved.NOT_FOUND


def test_a_target_without_copies_says_nothing() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.target[0].expire(5)
    assert world.look() == []
    assert world.problem() == Unproved.NO_COPY
    world.copy(5)
    assert pairs(world.look()) == [(5, 5)]


def test_expired_records_are_not_found() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.source[0].expire(8)
    assert world.look() == []
    assert world.problem() == Unproved.NOT_FOUND
    world.source[0].expire(10)
    assert world.problem() is None  # nothing waits


def test_a_recreated_source_begins_anew() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(10))
    world.look()
    world.source[0], world.source_id = Log(), "another"
    written(world, *range(50, 53))
    assert world.look() == []
    assert world.problem() == Unproved.NOT_FOUND
    assert world.matcher.forgotten == [("t", 0)]
    world.copy(0)
    assert pairs(world.look()) == [(0, 10)]


def test_a_recreated_target_begins_anew() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.look()
    world.target[0], world.target_id = Log(), "another"
    # The mirror goes on where it was, and nobody sees where that is.
    assert world.look() == []
    assert world.problem() == Unproved.NO_COPY
    world.copy(5)
    assert pairs(world.look()) == [(5, 0)]
    assert world.problem() is None


def test_a_lower_end_is_believed_after_a_while() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(10))
    world.look()
    world.target[0] = Log()
    world.copy(*range(6))
    for _ in range(6):
        assert world.look() == []
    assert pairs(world.look()) == [(5, 5)]


def test_a_restart_looks_once_more() -> None:
    world = World()
    written(world, *range(500))
    world.copy(*range(400))
    world.look()
    world.restart()
    assert world.problem() == Unproved.UNREAD
    assert pairs(world.look()) == [(399, 399)]
    assert [len(r.copies) for r in world.read] == [TAIL]
    assert world.problem() is None


@pytest.mark.parametrize("gone", ["copies", "records", "neither"])
def test_what_was_proved_before_a_restart_holds_as_long_as_it_is_the_newest(
    gone: str,
) -> None:
    # It could not be verified any more, and neither lag nor what expired
    # unread was reported, of a mirror that stands.
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.look()
    found_at = world.now - TICK
    if gone == "copies":
        world.target[0].expire(5)
    elif gone == "records":
        world.source[0].expire(8)
    world.restart()
    world.now += 10 * TICK
    (sync,) = world.look()
    assert pairs([sync]) == [(4, 4)]
    assert (sync.written_at, sync.after_unread) == (found_at, False)
    assert world.problem() is None
    assert world.matcher.state.kept == {"t": 1 if gone != "neither" else 2}
    # Of a newer copy nothing is known.
    world.source[0].expire(10)
    written(world, 10)
    world.target[0].add(look(99))
    world.restart()
    assert world.look() == []
    assert world.problem() == Unproved.NOT_FOUND


def test_what_cannot_be_read_is_said_and_left_alone_for_a_while() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    (request,) = world.matcher.plan(world.view)
    world.matcher.fail(request, "no answer", world.now)
    assert world.problem() == "no answer"
    assert world.matcher.plan(world.view) == []
    world.now += timedelta(seconds=15)
    assert pairs(world.look()) == [(4, 4)]
    assert world.problem() is None


def test_copies_that_wait_to_be_read_for_long_are_no_position() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.look()
    world.copy(5, 6)
    assert world.problem() is None
    world.now += timedelta(seconds=121)
    assert world.problem() == Unproved.UNREAD
    world.look()
    assert world.problem() is None


def test_more_partitions_at_the_target_are_none_of_the_source() -> None:
    world = World()
    written(world, *range(10))
    world.copy(*range(5))
    world.target.append(Log())
    assert world.look() == []
    assert world.problem() == Unproved.UNEVEN


def test_what_may_be_in_other_partitions_is_not_called_dropped() -> None:
    world = World(partitions=2)
    written(world, *range(500))
    world.copy(0)
    assert pairs(world.look()) == [(0, 0)]
    world.copy(2)
    assert world.look() == []
    assert world.problem() == Unproved.UNSURE
    for n in range(SURE - 2):
        assert world.look() == []
        world.copy(n + 3)
    assert pairs(world.look())[-1] == (SURE, SURE - 1)
    assert world.problem() is None


def test_copies_in_doubt_are_read_again_once_others_show_it() -> None:
    """Of a partition that got no more, nobody would look again."""
    world = World(partitions=2)
    written(world, *range(10))
    world.source[1].add(*map(look, range(100, 200)))
    world.copy(0)
    world.copy(0, partition=1)
    world.look()
    world.copy(5)
    assert world.look() == []
    assert world.problem() == Unproved.UNSURE
    found: list[Sync] = []
    for n in range(1, SURE):
        world.copy(n, partition=1)
        found += world.look()
    assert pairs(s for s in found if s.partition == 0) == [(5, 1)]
    assert world.problem() is None


def test_records_with_many_keys_show_it_at_once() -> None:
    world = World(partitions=2)
    looks = [replace(look(n), key=n) for n in range(100)]
    world.source[0].add(*looks)
    world.copy(*range(SURE))
    world.look()
    world.copy(SURE + 5)
    assert pairs(world.look()) == [(SURE + 5, SURE)]


def test_copies_in_other_partitions_end_it() -> None:
    world = World(partitions=2)
    written(world, *range(10))
    world.copy(0, 1)
    world.look()
    world.matcher.scatter("t", world.source_id)
    assert world.problem() == Unproved.SCATTERED
    world.copy(2)
    assert world.look() == []
    world.restart()
    assert world.look() == []
    assert world.problem() == Unproved.SCATTERED
    world.source_id = "another"
    world.look()
    assert world.problem() is None


def test_headers_show_which_of_equal_records_it_is() -> None:
    """Nothing of them can be seen without the offset."""
    world = World(has_headers=True)
    for n in range(3):
        world.source[0].add(*[look(1, 1)] * 10)
        world.copy(*range(10 * n, 10 * n + 8))
        # Two were dropped before each of these but the first.
        behind = [(10 * n, 8 * n)] if n else []
        assert pairs(world.look()) == [*behind, (10 * n + 7, 8 * n + 7)]
    assert world.problem() is None


def test_a_header_of_another_mirror_is_not_believed() -> None:
    """It copied the record to the source, where it had another offset."""
    world = World()
    world.source[0].add(*(look(n, 1) for n in range(10)))
    for offset, elsewhere in ((3, 7), (4, 2_000), (5, 4), (6, 6)):
        record = world.source[0].records[offset]
        world.target[0].add(replace(record, upstream=elsewhere))
        # What it is of is found as without a header.
        assert pairs(world.look())[-1][0] == offset
    assert world.problem() is None
    # One that is of no record leaves it open, whatever is before it.
    world.target[0].add(replace(look(99, 1), upstream=7))
    world.look()
    assert world.problem() == Unproved.NOT_FOUND


def test_a_header_says_nothing_of_what_is_gone() -> None:
    world = World(has_headers=True)
    written(world, *range(10))
    world.copy(3)
    world.source[0].expire(5)
    world.look()
    assert world.problem() == Unproved.NOT_FOUND


def test_times_of_the_target_broker_do_not_matter_beside_headers() -> None:
    world = World(has_headers=True)
    written(world, *range(10))
    record = replace(look(3, 99), by_broker=True, upstream=3)
    world.target[0].add(record)
    assert pairs(world.look()) == [(3, 0)]


def test_offsets_of_headers_that_lie_far_apart_are_not_all_read() -> None:
    far = LARGEST_WINDOW + 9
    copies = [
        (0, replace(look(1), upstream=0)),
        (1, look(2)),
        (2, replace(look(3), upstream=far)),
    ]
    assert claimed_offsets(copies, far + 1) == OffsetRange(far, far + 1)
    # Beyond the end there is no record; nor is one read for others.
    assert claimed_offsets(copies, far) is None
    assert claimed_offsets(copies[:2], far) is None
    assert claimed_offsets(copies[:1], far) == OffsetRange(0, 1)
    assert claimed_offsets((), far) is None


class Chance(World):
    """A world with faults, that knows what each copy is of."""

    def __init__(self, seed: int, *, has_headers: bool = False) -> None:
        super().__init__(has_headers=has_headers)
        self.chance = Random(seed)  # noqa: S311 - no secret
        self.kinds = self.chance.choice([1_000_000, 1_000_000, 300])
        self.origins: list[int | None] = []
        self.at = self.time = 0

    def write(self) -> None:
        for _ in range(self.chance.randrange(40)):
            self.time += self.chance.choice([0, 0, 1, 5])
            late = self.time - self.chance.choice([0, 0, 0, 20])
            content = self.chance.randrange(self.kinds)
            self.source[0].add(look(content, late))

    def hurt(self) -> None:
        log = self.source[0]
        match self.chance.randrange(12):
            case 0:
                self.at -= self.chance.randrange(60)
            case 1:
                self.at += self.chance.randrange(10)
            case 2:
                self.target[0].add(look(-1, self.time))
                self.origins.append(None)
            case 3:
                log.expire(max(log.start, log.end - 200))
            case 4:
                self.restart()
            case 5 if self.kinds > 300:
                # Else one that looks like what is gone is taken for it.
                for offset in list(log.records)[:-1:7]:
                    del log.records[offset]

    def go_on(self) -> None:
        log = self.source[0]
        first = min(max(self.at, log.start), log.end)
        self.at = min(log.end, first + self.chance.randrange(50))
        for offset in range(first, self.at):
            if offset in log.records and self.chance.random() > 0.01:
                self.copy(offset)
                self.origins.append(offset)


@pytest.mark.parametrize("has_headers", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_pair_is_ever_wrong(seed: int, has_headers: bool) -> None:
    """Drops, repeats, rewinds, alike records, compaction, expiry, records of
    others and restarts, by chance: every pair is true.
    """
    world, proved = Chance(seed, has_headers=has_headers), 0
    for _ in range(80):
        world.write()
        world.hurt()
        world.go_on()
        for sync in world.look():
            assert world.origins[sync.downstream] == sync.upstream
            proved += 1
    if world.kinds > 300 or has_headers:
        assert proved > 40


def test_copies_that_do_not_come_in_time_are_missed_after_a_while() -> None:
    """As where the log start has moved since it was last read."""
    world = World()
    written(world, *range(10))
    world.copy(*range(7))
    world.look()
    world.copy(7)
    found = []
    for _ in range(30):
        for request in world.matcher.plan(world.view):
            world.matcher.fail(request, None, world.now)
        found.append(world.problem())
        world.now += TICK
    known = found.index(Unproved.UNREAD) * TICK
    assert set(found) == {None, Unproved.UNREAD}
    assert OVERDUE < known <= OVERDUE + AGAIN
    assert pairs(world.look()) == [(7, 7)]
    assert world.problem() is None


@pytest.mark.parametrize("left", [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 7]])
def test_older_copies_after_a_restart_are_no_step_back(
    left: list[int],
) -> None:
    """The record of the newest copy may have been compacted meanwhile."""
    world = World()
    written(world, *range(10))
    world.copy(0, 1, 2, 3, 4, 7)
    assert pairs(world.look())[-1:] == [(7, 5)]
    world.source[0].records = {
        offset: record
        for offset, record in world.source[0].records.items()
        if offset in {*left, 8, 9}
    }
    world.restart()
    # What the newest copy is of was known before.
    assert pairs(world.look()) == [(7, 5)]
    assert world.problem() is None
    world.copy(8)
    assert pairs(world.look()) == [(8, 6)]
