"""Topics that two flows copy twice, or back and forth."""

import pytest

from mirrorwatch.domain.conflicts import Conflict, FlowTopics, find_conflicts
from mirrorwatch.domain.report import Flow


def carried(
    name: str, source: str, target: str, *topics: str, **more: str
) -> FlowTopics:
    """Return a flow of topics that keep their names, but for some."""
    return FlowTopics(
        flow=Flow(name=name, source=source, target=target),
        names={topic: topic for topic in topics} | more,
        is_merged=lambda topic: topic.startswith("merged"),
    )


def found(*flows: FlowTopics) -> list[list[tuple[str, bool, tuple[str, ...]]]]:
    def told(conflict: Conflict) -> tuple[str, bool, tuple[str, ...]]:
        return conflict.other, conflict.loop, conflict.topics

    return [[*map(told, one)] for one in find_conflicts(flows)]


def test_flows_of_one_pair_overlap_on_the_topics_of_both() -> None:
    one = carried("one", "s", "t", "a", "b", "heartbeats")
    two = carried("two", "s", "t", "b", "c", "heartbeats")
    assert found(one, two) == [
        [("two", False, ("b",))],
        [("one", False, ("b",))],
    ]


@pytest.mark.parametrize("topics", [("merged",), ("c",)])
def test_flows_into_one_topic_overlap_unless_it_is_merged(
    topics: tuple[str, ...],
) -> None:
    one, two = carried("one", "s", "t", *topics), carried("two", "u", "t")
    assert found(one, two) == [[], []]
    two = carried("two", "u", "t", *topics)
    merged = topics == ("merged",)
    assert [bool(each) for each in found(one, two)] == [not merged] * 2


def test_renamed_topics_overlap_by_their_names_at_the_target() -> None:
    one = carried("one", "s", "t", a="x.a")
    two = carried("two", "u", "t", **{"x.a": "x.a"})
    assert found(one, two) == [
        [("two", False, ("a",))],
        [("one", False, ("x.a",))],
    ]


def test_opposite_flows_loop_where_names_come_back() -> None:
    there = carried("there", "s", "t", "a", b="s.b")
    back = carried("back", "t", "s", "a", "b", **{"s.b": "t.s.b"})
    assert found(there, back) == [
        [("back", True, ("a",))],
        [("there", True, ("a",))],
    ]


def test_flows_that_share_nothing_have_no_conflict() -> None:
    flows = [
        carried("one", "s", "t", "a"),
        carried("two", "s", "u", "a"),
        carried("three", "t", "u", "b"),
    ]
    assert found(*flows) == [[], [], []]
