"""The interval map, held to plain dicts and lists."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.copies import coverage as module
from mirrorwatch.domain.copies.coverage import (
    Coverage,
    OffsetPair,
    Span,
    State,
)
from tests.domain.copies.history import History
from tests.support.examples import examples

COPIED, ABSENT = State.COPIED, State.ABSENT
EMPTY, UNKNOWN = State.EMPTY, State.UNKNOWN

STATES = st.sampled_from([COPIED, COPIED, ABSENT, EMPTY, UNKNOWN])
PUTS = st.tuples(
    st.integers(0, 40), st.integers(0, 9), STATES, st.integers(0, 60)
)
CUTS = st.tuples(st.sampled_from(["source", "target"]), st.integers(0, 50))

HISTORIES = st.lists(
    st.sampled_from(
        [
            *["write 4"] * 3,
            *["copy", "copy 3", "copy 9"] * 2,
            *["mark", "drop", "drop 3", "rewind", "read", "read"],
            *["take_over", "copy_other 2", "copy_other 4", "foreign"],
            "give_up",
        ]
    ),
    max_size=40,
)

Known = dict[int, tuple[State, int]]


def flat(coverage: Coverage) -> Known:
    """Return state and target offset of each source offset."""
    return {
        offset: (span.state, span.clip(offset, offset + 1).target)
        for span in coverage.spans
        for offset in range(span.first, span.end)
    }


def put(known: Known, first: int, end: int, state: State, target: int) -> None:
    for offset in range(first, end):
        shift = offset - first if state is COPIED else 0
        has_target = state in {COPIED, UNKNOWN}
        known[offset] = state, target + shift if has_target else -1


@given(st.lists(st.one_of(PUTS, PUTS, CUTS), max_size=30))
@examples(150)
def test_it_is_a_dict_of_offsets(
    actions: list[tuple[int, int, State, int] | tuple[str, int]],
) -> None:
    coverage, known = Coverage(), Known()
    for action in actions:
        if len(action) == 4:
            first, length, state, target = action
            end = first + length
            has_target = state in {COPIED, UNKNOWN}
            before = Counter(
                known[o][0] for o in range(first, end) if o in known
            )
            found = coverage.put(
                first, end, state, target if has_target else -1
            )
            assert +found == before
            put(known, first, end, state, target)
        elif action[0] == "source":
            coverage.truncate_source(action[1])
            known = {o: s for o, s in known.items() if o < action[1]}
        else:
            gone = {
                o: s
                for o, s in known.items()
                if s[0] in {COPIED, UNKNOWN} and s[1] >= action[1]
            }
            assert (
                flat(Coverage(coverage.truncate_target(action[1], action[1])))
                == gone
            )
            known = {o: s for o, s in known.items() if o not in gone}
        assert flat(coverage) == known
        spans = coverage.spans
        for one, after in pairwise(spans):
            assert one.end <= after.first
            assert not after.continues(one)
        for state in State:
            count = sum(s is state for s, _ in known.values())
            assert coverage.count(state, 0, 99) == count
            assert sum(map(len, coverage.of(state))) == count
        assert {o for gap in coverage.gaps(0, 60) for o in gap} == (
            set(range(60)) - known.keys()
        )
    copies = {s[1]: o for o, s in known.items() if s[0] is COPIED}
    if len(copies) == sum(s is COPIED for s, _ in known.values()):
        last = max((t for t in copies if t < 30), default=None)
        assert coverage.last_copy_before(30) == (
            None if last is None else OffsetPair(last, copies[last])
        )


def judge(history: History) -> None:
    """Hold every start to the records of the target."""
    coverage, end = history.coverage, history.cursor.target + 1
    for committed in range(len(history.source) + 2):
        start = coverage.start(committed, end)
        assert start is not None
        missed, _ = history.read_from(start, committed)
        assert missed == 0, (committed, start)
        for offset in (start, start + 3):
            told = history.target[:end]
            left = {at for at in told if at is not None and at >= committed}
            newest = {at: n for n, at in enumerate(told) if at in left}
            # A copy that was given up is an earlier one for all that is known.
            unread = sum(at >= offset for at in newest.values())
            assert coverage.count_unread(committed, offset) <= unread
            below = sum(at < offset for at in newest.values())
            least, most = coverage.count_below(
                range(committed, len(history.source)), offset
            )
            assert below <= most
            if "give_up" not in history.done:
                assert least <= below


@given(HISTORIES)
@examples(150)
def test_no_start_misses_a_copy(actions: list[str]) -> None:
    judge(History().do(*actions))


@given(HISTORIES)
@examples(150)
def test_a_bounded_map_is_less_exact_and_as_right(actions: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SPANS_KEPT", 4)
        patch.setattr(module, "ABSENT_KEPT", 2)
        history = History().do(*actions)
    judge(history)
    coverage = history.coverage
    spans = Counter(span.state is ABSENT for span in coverage.spans)
    assert spans[True] <= 2 + 1
    assert spans[False] <= 4 + 3
    exact = History().do(*actions).coverage
    for offset in range(exact.end):
        state = coverage.state(offset)
        allowed = {exact.state(offset), UNKNOWN}
        if exact.state(offset) is EMPTY:
            allowed |= {COPIED}
        elif exact.state(offset) is ABSENT and offset < coverage.absent_from:
            allowed |= {COPIED, EMPTY}
        assert state in allowed, offset


def test_a_mirror_that_writes_in_transactions_keeps_close_starts() -> None:
    """Each tenth target offset is a marker: spans are joined."""
    history = History()
    for _ in range(500):
        history.do("write 9", "copy 9", "foreign", "read")
    coverage = history.coverage
    assert len(coverage.spans) <= module.SPANS_KEPT
    assert coverage.count(COPIED, 0, 4500) == 4500
    assert coverage.start(4490, 5000) == 4988
    for committed in range(0, 4500, 7):
        start = coverage.start(committed, 5000)
        assert start is not None
        assert 0 <= committed + committed // 9 - start <= committed // 9


@pytest.mark.parametrize(
    ("spans", "joined"),
    [
        (
            (Span(0, 9, COPIED, 5), Span(9, 10, EMPTY)),
            Span(0, 10, COPIED, 5, 1, 14),
        ),
        (
            (Span(0, 1, EMPTY), Span(1, 9, COPIED, 5)),
            Span(0, 9, COPIED, 5, 1, 13),
        ),
        ((Span(0, 1, EMPTY), Span(1, 2, EMPTY)), Span(0, 2, EMPTY)),
        # A transaction marker lies between.
        (
            (Span(0, 9, COPIED, 0), Span(9, 19, COPIED, 10)),
            Span(0, 19, COPIED, 0, 0, 20),
        ),
        # The first one was copied again.
        (
            (Span(0, 9, COPIED, 30), Span(9, 19, COPIED, 10)),
            Span(0, 19, COPIED, 10, 9, 39),
        ),
        (
            (Span(0, 9, COPIED, 30), Span(9, 19, UNKNOWN, 10)),
            Span(0, 19, UNKNOWN, 10),
        ),
        (
            (Span(0, 9, COPIED, 0), Span(12, 19, COPIED, 9)),
            Span(0, 19, UNKNOWN, 0),
        ),
    ],
)
def test_joined_spans(spans: tuple[Span, Span], joined: Span) -> None:
    assert spans[0].join(spans[1]) == joined


def test_the_oldest_absent_records_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SPANS_KEPT", 4)
    monkeypatch.setattr(module, "ABSENT_KEPT", 9)
    history = History()
    for _ in range(20):
        history.do("write 4", "copy 3", "drop", "read")
    coverage = history.coverage
    absent = coverage.of(ABSENT)
    assert len(absent) == 9
    assert coverage.absent_from == absent[0].first - 3
    assert coverage.count(COPIED, 0, coverage.absent_from) > 0
    judge(history)


@pytest.mark.parametrize(
    ("first", "target"),
    [(0, 10), (5, 10), (9, 10), (12, 13), (18, 19)],
)
def test_a_part_of_a_joined_span_begins_at_its_lowest_copy(
    first: int, target: int
) -> None:
    """The first nine records were copied again, after the others."""
    one, after = Span(0, 9, COPIED, 30), Span(9, 19, COPIED, 10)
    part = one.join(after).clip(first, 19)
    lowest = min(one.target if first < 9 else 99, after.target)
    assert part.target == target
    assert part.target <= max(lowest, after.clip(first, 19).target)


@pytest.mark.parametrize(
    ("committed", "start"), [(0, 0), (5, 5), (9, 9), (12, 9), (19, 20)]
)
def test_a_start_jumps_over_what_has_no_copy(
    committed: int, start: int
) -> None:
    coverage = Coverage()
    coverage.put(0, 9, COPIED, 0)
    coverage.put(9, 12, ABSENT)
    coverage.put(12, 19, COPIED, 9)
    assert coverage.start(committed, 20) == start


def test_a_start_before_or_between_spans_is_not_known() -> None:
    coverage = Coverage()
    coverage.put(5, 9, COPIED, 0)
    coverage.put(12, 19, COPIED, 7)
    assert [coverage.start(n, 14) for n in (4, 5, 10, 12)] == [
        None,
        None,
        None,
        7,
    ]
