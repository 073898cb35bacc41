"""Which target partitions are fed by which source partitions."""

from collections.abc import Callable

from mirrorwatch.domain.audit.facts import FlowTopics, PairBuilder, draft_lanes
from mirrorwatch.domain.audit.plan import Request
from mirrorwatch.domain.cluster_view import TopicFacts
from mirrorwatch.domain.report import Flow
from mirrorwatch.domain.topics import (
    IdentityNaming,
    Naming,
    ReplicatedTopics,
    Selection,
)


def a_flow(
    source: str = "a",
    include: str = ".*",
    *,
    merged: Callable[[str], bool] = lambda _: False,
    naming: Naming | None = None,
) -> FlowTopics:
    return FlowTopics(
        flow=Flow(name=f"{source}->hub", source=source, target="hub"),
        carriage=ReplicatedTopics(
            selection=Selection(include=(include,)),
            naming=naming or IdentityNaming(alias=source),
            target_alias="hub",
        ),
        merged=merged,
    )


def topics(**partitions: int) -> dict[str, TopicFacts]:
    return {
        name: TopicFacts(id=f"id {name}", partitions=n, replication_factor=1)
        for name, n in partitions.items()
    }


def draft(
    *flows: FlowTopics,
    request: Request | None = None,
    **clusters: dict[str, TopicFacts],
) -> PairBuilder:
    wants = (request or Request()).wants
    return draft_lanes(flows, clusters, wants)


def test_each_partition_of_a_carried_topic_is_a_lane() -> None:
    found = draft(a_flow(), a=topics(t=2, __x=1), hub=topics(t=2))
    assert [d.place for d in found.lanes] == [("t", 0), ("t", 1)]
    assert [d.topic_id for d in found.lanes] == ["id t", "id t"]
    assert found.lanes[0].origins[0].topic_id == "id t"
    assert (found.surplus, found.unverifiable) == ([], [])


def test_what_is_missing_at_the_target_has_no_id_there() -> None:
    found = draft(a_flow(), a=topics(t=3, u=1), hub=topics(t=2))
    ids = {d.place: d.topic_id for d in found.lanes}
    assert ids[("t", 1)] == "id t"
    assert ids[("t", 2)] is None
    assert ids[("u", 0)] is None


def test_partitions_that_only_the_target_has_are_apart() -> None:
    found = draft(a_flow(), a=topics(t=1), hub=topics(t=3))
    assert [d.place for d in found.lanes] == [("t", 0)]
    assert [d.place for d in found.surplus] == [("t", 1), ("t", 2)]


def test_a_merged_topic_has_one_lane_fed_by_all_flows() -> None:
    flows = [a_flow(s, merged=lambda _: True) for s in ("a", "b")]
    found = draft(
        *flows,
        request=Request(flow="b->hub"),
        a=topics(t=1),
        b=topics(t=2),
        hub=topics(t=2),
    )
    fed = [[o.flow for o in d.origins] for d in found.lanes]
    assert fed == [["a->hub", "b->hub"], ["b->hub"]]


def test_a_merged_topic_of_strangers_is_unverifiable() -> None:
    found = draft(
        a_flow(merged=lambda t: t == "t"),
        a=topics(t=1, u=1),
        hub=topics(t=1, u=1),
    )
    assert [d.topic for d in found.lanes] == ["u"]
    (gap,) = found.unverifiable
    assert (gap.topic, gap.partition) == ("t", None)


def test_only_what_is_asked_for_is_drafted() -> None:
    known = {"a": topics(t=1, u=1, tu=1), "hub": topics()}
    found = draft(a_flow(), request=Request(topics="t"), **known)
    assert [d.topic for d in found.lanes] == ["t"]
    found = draft(a_flow(), request=Request(flow="other"), **known)
    assert found.lanes == []
