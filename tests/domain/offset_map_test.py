"""Where consumers start at the target, held to a plain list of records."""

from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.offsets import RUNS_KEPT, OffsetMap, SafeStart
from tests.support.examples import examples

LAG = 5
"""The mirror's ``offset.lag.max``: 100 by default."""


@dataclass
class Mirror:
    """A mirror that writes syncs as MirrorMaker 2 does."""

    target: list[int | None] = field(default_factory=list)
    """Source offset of each target record; `None` for a marker."""

    known: OffsetMap = field(default_factory=OffsetMap)
    at: int = 0
    _synced: tuple[int, int] | None = None
    _previous: int = -2

    def copy(self) -> None:
        down = len(self.target)
        self.target.append(self.at)
        if (
            self._synced is None
            or down - self._synced[1] >= LAG
            or self.at != self._previous + 1
        ):
            self._synced = (self.at, down)
            self.known.add(self.at, down)
        self._previous = self.at
        self.at += 1

    def drop(self) -> None:
        self.at += 1

    def mark(self) -> None:
        self.target.append(None)

    def restart(self, back: int) -> None:
        self.at = max(0, self.at - back)
        self._synced = None

    def read_from(self, start: int, committed: int) -> tuple[int, int]:
        """Return the records that are missed, and those read twice."""
        copied = {u for u in self.target if u is not None and u >= committed}
        read = [u for u in self.target[start:] if u is not None]
        again = len(read) - len(copied.intersection(read))
        return len(copied.difference(read)), again


def mirrored(steps: list[tuple[str, int]]) -> Mirror:
    mirror = Mirror()
    for step, number in steps:
        if step == "restart":
            mirror.restart(number)
            continue
        for _ in range(number):
            getattr(mirror, step)()
    return mirror


def step(*kinds: str) -> st.SearchStrategy[tuple[str, int]]:
    return st.tuples(st.sampled_from(kinds), st.integers(1, 3 * LAG))


PLAIN = st.lists(step("copy", "drop"), min_size=1, max_size=30)
MARKED = st.lists(step("copy", "drop", "mark"), min_size=1, max_size=30)
REPEATED = st.lists(
    step("copy", "copy", "drop", "restart"), min_size=1, max_size=30
)
"""A filter drops the same records when they are read again, or others do."""


def judge(
    mirror: Mirror, *, marked: bool = False, shared: bool = False
) -> list[SafeStart]:
    found = []
    end = len(mirror.target)
    for committed in range(mirror.at + 3):
        start = mirror.known.start(
            committed, end, marked=marked, shared=shared
        )
        if start is None:
            continue
        missed, again = mirror.read_from(start.offset, committed)
        assert missed == 0, (committed, start)
        assert again <= start.repeated, (committed, start, again)
        if start.exact:
            assert again == start.repeated, (committed, start, again)
        found.append(start)
    return found


@given(PLAIN)
def test_nothing_is_missed_and_no_more_is_read_twice(
    steps: list[tuple[str, int]],
) -> None:
    for start in judge(mirrored(steps)):
        # Between two syncs nobody knows more.
        assert start.repeated <= LAG


@given(MARKED)
def test_markers_at_the_target_hide_nothing(
    steps: list[tuple[str, int]],
) -> None:
    unsure = judge(mirrored(steps))
    sure = judge(mirrored(steps), marked=True)
    for known, seen in zip(sure, unsure, strict=True):
        assert known.repeated <= seen.repeated


@given(REPEATED)
def test_records_that_the_mirror_wrote_again_are_announced(
    steps: list[tuple[str, int]],
) -> None:
    judge(mirrored(steps))


class LossyMap(OffsetMap):
    """Offset syncs of which only the last of some is left, as compaction
    leaves them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.loses = False
        self._last: tuple[int, int] | None = None

    def add(
        self, upstream: int, downstream: int, *, alone: bool = False
    ) -> None:
        self._last = upstream, downstream
        if not self.loses:
            super().add(upstream, downstream, alone=alone)

    def restore(self) -> None:
        if self.loses and self._last is not None:
            super().add(*self._last)
        self.loses = False


TURNS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1, 3 * LAG), st.booleans()),
    min_size=1,
    max_size=10,
)


@given(TURNS, st.integers(0, 4 * LAG), st.booleans())
def test_two_tasks_and_syncs_that_are_lost_hide_nothing(
    turns: list[tuple[int, int, bool]], back: int, both: bool
) -> None:
    known = LossyMap()
    first = Mirror(known=known)
    for _ in range(4 * LAG):
        first.copy()
    # Both write to the same log, and the same topic of syncs.
    second = Mirror(first.target, known, first.at)
    second.restart(back)
    for task, number, loses in turns:
        known.loses |= loses
        for _ in range(number):
            (first if task and both else second).copy()
        if not loses:
            known.restore()
    known.restore()
    judge(first if first.at > second.at else second, shared=both)


@given(st.one_of(PLAIN, REPEATED))
def test_the_ends_of_both_sides_are_believed_where_they_agree(
    steps: list[tuple[str, int]],
) -> None:
    mirror = mirrored(steps)
    mirror.known.reaches(mirror.at, len(mirror.target))
    judge(mirror)


@pytest.mark.slow
@given(st.lists(step("copy", "drop"), min_size=150, max_size=200))
@examples(30)
def test_a_map_that_is_thinned_out_stays_right(
    steps: list[tuple[str, int]],
) -> None:
    mirror = mirrored(steps)
    assert len(list(mirror.known)) <= RUNS_KEPT
    judge(mirror)


def test_a_map_that_is_thinned_out_knows_where_the_mirror_went_back() -> None:
    steps = [("copy", 9), ("drop", 2), ("copy", 7)] * 20
    steps += [("restart", 60), ("copy", 9), ("drop", 2), ("copy", 60)]
    steps += [("copy", 9), ("drop", 2), ("copy", 7)] * 40
    mirror = mirrored(steps)
    assert len(list(mirror.known)) <= RUNS_KEPT
    assert any(
        after < before
        for (before, _, _), (after, _, _) in pairwise(mirror.known)
    )
    judge(mirror)


class NotedMap(OffsetMap):
    """Offset syncs as they are in their topic."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[int, int]] = []

    def add(
        self, upstream: int, downstream: int, *, alone: bool = False
    ) -> None:
        self.pairs.append((upstream, downstream))
        super().add(upstream, downstream, alone=alone)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0, 0.5])
def test_syncs_that_are_read_again_join_nothing_over_what_was_forgotten(
    seed: int, share: float
) -> None:
    """An exactly-once mirror and a filter: drops and markers take both sides
    further apart and nearer again. The agent restarts.
    """
    chance, noted = Random(seed), NotedMap()  # noqa: S311 - a test
    mirror = Mirror(known=noted)
    for _ in range(300):
        for _ in range(chance.randint(1, 12)):
            mirror.copy()
        getattr(mirror, chance.choice(["drop", "mark"]))()
    mirror.known = OffsetMap(noted)
    assert len(list(noted)) == RUNS_KEPT
    for pair in noted.pairs[int(share * len(noted.pairs)) :]:
        mirror.known.add(*pair)
    end = len(mirror.target)
    for committed in range(0, mirror.at, 5):
        start = mirror.known.start(committed, end, marked=True)
        if start is not None:
            assert mirror.read_from(start.offset, committed)[0] == 0


def test_syncs_of_before_an_agent_began_make_few_runs_however_many() -> None:
    steps = [("copy", 9), ("drop", 1)] * (RUNS_KEPT + 9) + [("copy", 2000)]
    noted = NotedMap()
    mirror = Mirror(known=noted)
    for name, number in steps:
        for _ in range(number):
            getattr(mirror, name)()
    *before, newest = noted.pairs
    known = OffsetMap([(*newest, 1)])
    for pair in before:
        known.add(*pair)
    upstream, downstream, length = list(known)[-2]
    assert (upstream, downstream) == list(noted)[-1][:2]
    assert before[-1] == (upstream + length - 1, downstream + length - 1)


@given(PLAIN, st.randoms(use_true_random=False))
def test_syncs_may_come_in_any_order(
    steps: list[tuple[str, int]], chance: Random
) -> None:
    mirror = mirrored(steps)
    pairs = [(u, d) for u, d, _ in mirror.known]
    chance.shuffle(pairs)
    known = OffsetMap()
    for upstream, downstream in pairs:
        known.add(upstream, downstream)
    assert [d for _, d, _ in known] == sorted(d for _, d, _ in known)
    mirror.known = known
    judge(mirror)


def test_a_steady_mirror_is_one_run() -> None:
    known = OffsetMap()
    for offset in range(50, 10_000, 100):
        known.add(offset, offset - 50)
    assert list(known) == [(50, 0, 9901)]
    assert known.start(49) is None
    assert known.start(5_000) == SafeStart(4_950, 0, exact=True)
    assert known.start(9_951) == SafeStart(9_901, 0, exact=True)
    # The newest records have no sync yet.
    assert known.start(9_961) == SafeStart(9_901, 10, exact=False)
    assert known.start(9_961, end=9_905) == SafeStart(9_901, 4, exact=False)
    assert known.reaches(9_961, 9_911)
    assert known.start(9_961) == SafeStart(9_911, 0, exact=True)


def test_ends_that_were_alike_by_chance_leave_what_syncs_prove() -> None:
    # The source was truncated and has grown, and 30 is a copy of what it lost
    # (new world 9994000385).
    known = OffsetMap()
    for pair in ((0, 0), (25, 25)):
        known.add(*pair)
    assert known.reaches(30, 30)
    known.add(28, 28)
    assert known.reaches(5_000, 5_000)
    assert known.reaches(5_010, 5_010)
    known.add(29, 30)
    assert list(known) == [(0, 0, 29), (29, 30, 1)]
    known.add(130, 131)
    assert list(known) == [(0, 0, 29), (29, 30, 102)]


@pytest.mark.parametrize("cut_at", [20, 40])
def test_what_syncs_prove_is_none_that_another_sync_denies(
    cut_at: int,
) -> None:
    known = OffsetMap()
    for pair in ((0, 0), (25, 25)):
        known.add(*pair)
    assert known.reaches(50, 50)
    known.cut(cut_at)
    known.add(19, 18)
    assert list(known) == [(0, 0, 1), (19, 18, 1)]


def test_ten_dropped_records_are_jumped_over() -> None:
    # Measured: (358, 358), then (375, 365).
    known = OffsetMap()
    for pair in ((300, 300), (358, 358), (375, 365)):
        known.add(*pair)
    assert known.start(359) == SafeStart(359, 0, exact=True)
    assert known.start(366) == SafeStart(359, 6, exact=False)
    assert known.start(375) == SafeStart(365, 0, exact=True)


def test_a_mirror_that_was_killed_and_wrote_300_records_again() -> None:
    # Measured: (524, 514), then (425, 715).
    known = OffsetMap()
    for pair in ((424, 414), (524, 514), (724, 714), (425, 715), (724, 1014)):
        known.add(*pair)
    # From the second copies on nothing is read twice.
    assert known.start(500) == SafeStart(790, 0, exact=True)
    assert known.start(425) == SafeStart(715, 0, exact=True)
    assert known.start(424) == SafeStart(414, 300, exact=True)


def test_a_rewind_whose_syncs_are_lost_is_announced() -> None:
    # 30 records were copied, and 20 of them again, before the next sync.
    known = OffsetMap([(0, 0, 11), (40, 60, 1)])
    start = known.start(0, 61)
    assert start == SafeStart(0, 49, exact=False)


def test_two_tasks_at_once_are_announced() -> None:
    # Another task goes on at 20, and the first one may go on as well.
    known = OffsetMap([(0, 0, 31), (20, 31, 1)])
    shared = known.start(25, 40, shared=True)
    assert shared == SafeStart(25, 9, exact=False)


def test_a_pair_that_contradicts_a_run_is_believed() -> None:
    known = OffsetMap([(0, 0, 101)])
    known.add(60, 50)
    assert list(known) == [(0, 0, 1), (60, 50, 1)]
    known.add(61, 50)
    assert list(known) == [(0, 0, 1), (61, 50, 1)]


def test_it_is_known_where_each_offset_holds_a_record() -> None:
    known = OffsetMap([(0, 0, 10), (12, 10, 5), (30, 20, 5)])
    assert known.is_solid(2, 15)
    assert not known.is_solid(2, 16)
    assert known.is_solid(22, 22)
