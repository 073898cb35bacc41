"""Who answers, and whether copies arrive, survey by survey."""

from collections.abc import Mapping
from datetime import timedelta

from mirrorwatch.domain.cause import ReachabilityObservation
from mirrorwatch.domain.cluster_view import (
    ClusterAnswer,
    ClusterView,
    FlowView,
    TopicPartition,
)
from mirrorwatch.sources.reachability import ReachabilitySource
from tests.support.builders import NOON

TICK = timedelta(seconds=5)
NAMES = {"a": "s.a", "canary": "s.canary", "shared": "s.shared"}
ENDS = {("s.a", 0): 7, ("s.canary", 0): 7, ("s.shared", 0): 7}


class Surveys:
    """Surveys by hand, and what is reported of them."""

    def __init__(self, names: Mapping[str, str] = NAMES) -> None:
        self.now = NOON
        self.names = names
        self.foreign: set[TopicPartition] = set()
        self.source = ReachabilitySource(
            flow="f",
            canary="canary",
            merged=lambda topic: topic == "shared",
            foreign=lambda: self.foreign,
        )

    def look(
        self,
        ends: Mapping[TopicPartition, int] | None,
        *,
        source: bool = True,
    ) -> ReachabilityObservation:
        self.now += TICK
        here = ClusterView(alias="s", id="s", at=self.now, topics={}, ends={})
        self.source.take(
            FlowView(
                flow="f",
                at=self.now,
                committed={},
                syncs={},
                caught_up=True,
                target=None
                if ends is None
                else ClusterView(
                    alias="t", id="t", at=self.now, topics={}, ends=ends
                ),
                source=here if source else None,
                names=self.names if source else {},
                answers=(ClusterAnswer(alias="s"), ClusterAnswer(alias="t")),
            )
        )
        (seen,) = self.source.observe(self.now)
        return seen


def test_growth_is_seen_between_two_looks() -> None:
    surveys = Surveys()
    assert surveys.source.observe(NOON) == []
    assert surveys.look(ENDS).compared_at is None
    seen = surveys.look(ENDS)
    assert (seen.compared_since, seen.compared_at, seen.grew) == (
        *(NOON + TICK, NOON + 2 * TICK),
        False,
    )
    assert seen.still_since == NOON + TICK
    seen = surveys.look({**ENDS, ("s.a", 0): 8})
    assert (seen.grew, seen.still_since) == (True, NOON + 3 * TICK)
    assert seen.grew_after == NOON + 2 * TICK
    seen = surveys.look({**ENDS, ("s.a", 0): 8})
    assert (seen.grew, seen.still_since) == (False, NOON + 3 * TICK)
    assert seen.grew_after == NOON + 2 * TICK
    assert seen.copied_after(NOON - timedelta(minutes=1))
    assert not seen.copied_after(NOON)


def test_copies_are_compared_while_the_source_is_silent() -> None:
    surveys = Surveys()
    surveys.look(ENDS)
    seen = surveys.look({**ENDS, ("s.a", 0): 8}, source=False)
    assert (seen.grew, seen.compared_at) == (True, surveys.now)
    before = seen
    seen = surveys.look(None, source=False)
    assert seen.compared_at == before.compared_at


def test_what_others_write_is_left_out_and_so_are_probes() -> None:
    surveys = Surveys()
    surveys.foreign = {("a", 1)}
    ends = {**ENDS, ("s.a", 1): 7}
    surveys.look(ends)
    moved = {place: end + 1 for place, end in ends.items()}
    seen = surveys.look({**moved, ("s.a", 0): 7})
    assert (seen.grew, seen.compared_at) == (False, surveys.now)


def test_probes_count_where_nothing_else_is_copied() -> None:
    surveys = Surveys({"canary": "s.canary"})
    surveys.look(ENDS)
    assert surveys.look({**ENDS, ("s.canary", 0): 8}).grew


def test_a_topic_that_is_new_or_recreated_is_no_growth() -> None:
    surveys = Surveys()
    surveys.look(ENDS)
    assert not surveys.look({("s.a", 0): 3, ("s.a", 1): 9}).grew
