"""Any history of a mirror: what a night compares belongs together."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.plan import Lane
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from tests.support.audit_world import World, lane_of

deeds = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 12)),
    st.tuples(st.just("late"), st.integers(1, 300)),
    st.tuples(st.just("copy"), st.integers(1, 12)),
    st.tuples(st.just("mark"), st.just(0)),
    st.tuples(st.just("commit"), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 2000)),
    st.tuples(st.just("expire source"), st.integers(1, 5)),
    st.tuples(st.just("expire target"), st.integers(1, 5)),
    st.tuples(st.just("night"), st.integers(0, 3)),
)
faults = st.one_of(
    deeds,
    st.tuples(st.just("drop"), st.integers(1, 5)),
    st.tuples(st.just("rewind"), st.integers(1, 9)),
)
worlds = st.builds(
    World,
    timestamps=st.booleans(),
    syncs_every=st.sampled_from([None, 1, 2, 7]),
)


def nights(
    world: World, history: list[tuple[str, int]]
) -> Iterator[PlanningOutcome]:
    """Live through a history; return the nights that compare something."""
    for deed, count in history:
        if deed != "night":
            world.do(deed, count)
            continue
        outcome = world.night(write=count, copy=count)
        if outcome.lane is not None:
            yield outcome


@given(st.lists(deeds, max_size=60), worlds)
def test_a_faithful_mirror_always_gives_two_equal_ranges(
    history: list[tuple[str, int]], world: World
) -> None:
    audited: Lane | None = None
    sent: list[int] = []
    arrived: list[int] = []
    known = True
    for outcome in nights(world, history):
        lane = lane_of(outcome)
        feed = lane.sources[0]
        if (
            audited is None
            or feed.span.start != audited.sources[0].span.end
            or lane.span.start != audited.span.end
        ):
            assert audited is None or outcome.unverifiable
            sent, arrived, known = [], [], True
        source, target = world.sides(lane)
        sent += source
        arrived += target
        known = known and (feed.position is not None or not sent)
        # What waits while no position is known is carried, and found later.
        waiting = sent[len(arrived) :]
        assert arrived == sent[: len(arrived)]
        assert not (known and waiting)
        beyond = world.target[lane.span.end :]
        assert all(
            feed.position is None
            or offset >= feed.position
            or offset in beyond
            for offset in waiting
        )
        audited = lane


@given(st.lists(faults, max_size=60), worlds)
def test_only_what_was_dropped_is_missing_below_a_position(
    history: list[tuple[str, int]], world: World
) -> None:
    audited = 0
    for outcome in nights(world, history):
        lane = lane_of(outcome)
        (feed,) = lane.sources
        assert feed.span.start >= audited
        assert feed.span.end >= feed.span.start
        assert lane.span.end >= lane.span.start
        audited = feed.span.end
        there = set(world.target[: lane.retained.end])
        missing = {
            offset
            for offset in world.sides(lane)[0]
            if offset < (feed.position or 0)
        } - there
        assert missing <= world.dropped
