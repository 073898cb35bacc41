"""Ends at the target, taken as positions."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, TopicFacts
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.target_ends import TargetEnds
from tests.support.builders import NOON


class Target:
    """A target that is looked at every ten seconds."""

    def __init__(self) -> None:
        self.now = NOON
        self.positions = MirrorState()
        self.ends = TargetEnds(self.positions, timedelta(seconds=30))

    def look(self, *ends: int | None, topic_id: str = "1") -> list[int | None]:
        """Return the positions that are known then, by partition."""
        self.now += timedelta(seconds=10)
        view = ClusterView(
            alias="b",
            id="B",
            at=self.now,
            topics={
                "a.x": TopicFacts(
                    id=topic_id, partitions=len(ends), replication_factor=1
                )
            },
            ends={
                ("a.x", n): end
                for n, end in enumerate(ends)
                if end is not None
            },
        )
        self.ends.take({"x": "a.x", "missing": "a.missing"}, view)
        found = self.positions.committed("x")
        return [
            found[n].position if n in found else None for n in range(len(ends))
        ]


@pytest.fixture
def target() -> Target:
    return Target()


def test_they_are_positions_once_read(target: Target) -> None:
    target.ends.take({"x": "a.x"}, None)
    assert target.positions.behind(NOON) == 1
    # Nothing was copied to the second, and the third has no leader.
    assert target.look(7, 0, None) == [7, None, None]
    assert target.positions.behind(NOON) == 0
    first = target.positions.committed("x")[0]
    assert target.look(7, 3, 1) == [7, 3, 1]
    assert target.positions.committed("x")[0] is first
    assert target.look(9, 3, None) == [9, 3, 1]


def test_a_lower_one_is_believed_if_it_stands(target: Target) -> None:
    target.look(20)
    # A new leader that does not know yet how far its followers are.
    assert target.look(12) == [20]
    assert target.look(20) == [20]
    assert [target.look(12) for _ in range(3)] == [[20]] * 3
    assert target.look(13) == [13]


def test_that_of_another_topic_is_believed_at_once(target: Target) -> None:
    target.look(20)
    assert target.look(4, topic_id="2") == [4]
