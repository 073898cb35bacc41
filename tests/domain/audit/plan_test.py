"""Which target partitions are fed by which source partitions."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from mirrorwatch.domain.audit.facts import (
    AuditFound,
    FirstSince,
    FlowTopics,
    Log,
    Lookup,
    PairedLogs,
    Question,
    Retention,
    SourceLog,
    pair_partitions,
    plan_batched,
)
from mirrorwatch.domain.audit.nightly import NightlyInputs, plan_night
from mirrorwatch.domain.audit.plan import (
    AuditedEnd,
    AuditSpan,
    Request,
    Side,
    TimeWindow,
    Unverifiable,
    earlier_pieces,
)
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from mirrorwatch.domain.audit.window import AdHoc, plan_window
from mirrorwatch.domain.cluster_view import TopicFacts
from mirrorwatch.domain.report import Flow
from mirrorwatch.domain.topics import (
    IdentityNaming,
    Naming,
    ReplicatedTopics,
    Selection,
)
from tests.support.audit_spark import SLACK, World, looking, pair_of
from tests.support.builders import NOON


def a_flow(
    source: str = "a",
    include: str = ".*",
    *,
    merged: Callable[[str], bool] = lambda _: False,
    naming: Naming | None = None,
) -> FlowTopics:
    return FlowTopics(
        flow=Flow(name=f"{source}->hub", source=source, target="hub"),
        replicated=ReplicatedTopics(
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


def paired(
    *flows: FlowTopics,
    request: Request | None = None,
    **clusters: dict[str, TopicFacts],
) -> tuple[list[PairedLogs], list[Unverifiable]]:
    wants = (request or Request()).wants
    return pair_partitions(flows, clusters, wants)


def test_each_partition_of_a_carried_topic_is_a_pair() -> None:
    pairs, gaps = paired(a_flow(), a=topics(t=2, __x=1), hub=topics(t=2))
    assert [p.topic_partition for p in pairs] == [("t", 0), ("t", 1)]
    assert [p.target and p.target.topic_id for p in pairs] == ["id t", "id t"]
    assert pairs[0].sources[0].log.topic_id == "id t"
    assert all(pair.sources for pair in pairs)
    assert gaps == []


def test_what_is_missing_at_the_target_has_no_log_there() -> None:
    pairs, _ = paired(a_flow(), a=topics(t=3, u=1), hub=topics(t=2))
    targets = {p.topic_partition: p.target for p in pairs}
    there = targets[("t", 1)]
    assert there is not None
    assert there.topic_id == "id t"
    assert targets[("t", 2)] is None
    assert targets[("u", 0)] is None


def test_partitions_that_only_the_target_has_have_no_sources() -> None:
    pairs, _ = paired(a_flow(), a=topics(t=1), hub=topics(t=3))
    fed = [(p.topic_partition, bool(p.sources)) for p in pairs]
    assert fed == [(("t", 0), True), (("t", 1), False), (("t", 2), False)]


def test_a_merged_topic_has_one_pair_fed_by_all_flows() -> None:
    flows = [a_flow(s, merged=lambda _: True) for s in ("a", "b")]
    pairs, _ = paired(
        *flows,
        request=Request(flow="b->hub"),
        a=topics(t=1),
        b=topics(t=2),
        hub=topics(t=2),
    )
    fed = [[source.flow for source in pair.sources] for pair in pairs]
    assert fed == [["a->hub", "b->hub"], ["b->hub"]]


def test_a_merged_topic_knows_which_of_its_flows_lack_it() -> None:
    flows = [a_flow(s, merged=lambda _: True) for s in ("a", "b")]
    ours, theirs, there = topics(t=1, u=1), topics(u=1), topics(t=1, u=1)
    pairs, _ = paired(*flows, a=ours, b=theirs, hub=there)
    assert {pair.topic: pair.absent for pair in pairs} == {
        "t": (("b->hub", "t"),),
        "u": (),
    }
    # One that is not merged is written by its own flow alone.
    flows = [a_flow("a", include="t"), a_flow("b", include="u")]
    pairs, _ = paired(*flows, a=ours, b=theirs, hub=there)
    assert {pair.absent for pair in pairs} == {()}


def test_a_merged_topic_of_strangers_is_unverifiable() -> None:
    pairs, (gap,) = paired(
        a_flow(merged=lambda t: t == "t"),
        a=topics(t=1, u=1),
        hub=topics(t=1, u=1),
    )
    assert [pair.topic for pair in pairs] == ["u"]
    assert (gap.topic, gap.partition) == ("t", None)


def test_only_what_is_asked_for_is_paired() -> None:
    known = {"a": topics(t=1, u=1, tu=1), "hub": topics()}
    pairs, _ = paired(a_flow(), request=Request(topics="t"), **known)
    assert [pair.topic for pair in pairs] == ["t"]
    assert paired(a_flow(), request=Request(flow="other"), **known) == ([], [])


HOUR = timedelta(hours=1)
WINDOW = TimeWindow(NOON + 10 * HOUR, NOON + 12 * HOUR)


def a_world(**settings: object) -> World:
    """Return a world with a record each hour for two days."""
    world = World(**settings)  # type: ignore[arg-type]
    for _ in range(48):
        world.write(1, early=timedelta(seconds=1))
        world.copy(1)
        world.now += HOUR - timedelta(seconds=1)
    world.commit()
    return world


def plan(world: World, facts: PairedLogs | None = None) -> PlanningOutcome:
    adhoc = AdHoc(now=world.now, window=WINDOW, slack=SLACK)
    pair = facts or world.freeze()
    return plan_window(looking(world.answer), pair, adhoc)


def test_a_window_begins_exactly_and_ends_a_slack_later() -> None:
    outcome = plan(a_world())
    pair = pair_of(outcome)
    assert pair.sources[0].span == pair.span == AuditSpan(10, 18)
    assert (pair.cut, outcome.unverifiable) == ("window", ())


def test_a_window_that_is_not_over_ends_with_the_log() -> None:
    world = World()
    world.write(5)
    world.copy(5)
    world.now += 20 * HOUR
    pair = pair_of(plan(world))
    assert pair.sources[0].span == pair.span == AuditSpan(5, 5)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_window_of_which_something_may_be_gone_is_unverifiable(
    side: str,
) -> None:
    world = a_world()
    setattr(world, f"{side}_start", 11)
    outcome = plan(world)
    assert outcome.pair is None
    assert f"expired at the {side}" in outcome.unverifiable[0].reason
    # The record before the window is still there: nothing of it is gone.
    setattr(world, f"{side}_start", 10)
    assert plan(world).pair is not None


def test_an_idle_topic_is_judged_where_nothing_expires_so_early() -> None:
    world = a_world()
    world.source_start = world.target_start = 48
    facts = world.freeze()
    assert plan(world, facts).pair is None
    week = Retention.of(7 * 86_400_000, -1)
    (source,) = facts.sources
    assert facts.target is not None
    kept = replace(
        facts,
        sources=(replace(source, log=replace(source.log, retention=week)),),
        target=replace(facts.target, retention=week),
    )
    assert len(pair_of(plan(world, kept)).span) == 0


def test_without_timestamps_a_window_lies_between_syncs() -> None:
    pair = pair_of(plan(a_world(timestamps=False)))
    assert pair.sources[0].span == pair.span == AuditSpan(9, 18)
    pair = pair_of(plan(a_world(timestamps=False, syncs_every=None)))
    assert pair.sources[0].span == pair.span == AuditSpan(0, 48)
    world = a_world(timestamps=False, syncs_every=None)
    world.write(1)
    outcome = plan(world)
    assert outcome.pair is None
    assert "sets its own timestamps" in outcome.unverifiable[0].reason


def test_without_a_target_only_what_was_read_is_compared() -> None:
    world = a_world()
    facts = replace(world.freeze(), target=None)
    pair = pair_of(plan(world, facts))
    assert (pair.sources[0].span, pair.span) == (
        AuditSpan(10, 18),
        AuditSpan(0, 0),
    )
    world.committed, world.syncs = None, []
    outcome = plan(world, replace(world.freeze(), target=None))
    assert outcome.pair is None
    assert [gap.records for gap in outcome.unverifiable] == [8]


def a_world_that_began_late(*, starts_at_end: bool | None) -> World:
    """Return one whose mirror began an hour within the window, at the end."""
    world = a_world(starts_at_end=starts_at_end, syncs_every=1)
    del world.target[:11], world.stamps[:11]
    world.syncs = [(u, d - 11) for u, d in world.syncs[11:]]
    return world


def asked_from(outcome: PlanningOutcome) -> tuple[int, int]:
    """Return from where copies are due, and where the range begins."""
    (source,) = pair_of(outcome).sources
    return source.asked_from, source.span.start


@pytest.mark.parametrize("starts_at_end", [None, True])
def test_what_a_mirror_may_have_skipped_of_a_window_need_not_be_copied(
    *, starts_at_end: bool | None
) -> None:
    world = a_world_that_began_late(starts_at_end=starts_at_end)
    assert asked_from(plan(world)) == (11, 10)
    # Without a sync, what is older than its first copy may come behind it.
    world.syncs = []
    assert asked_from(plan(world)) == (17, 10)
    # Where there is no copy, all that it has passed.
    world.target, world.stamps = [], []
    facts = world.freeze()
    for target in (facts.target, None):
        assert asked_from(plan(world, replace(facts, target=target)))[0] == 48


def test_what_one_that_begins_at_the_start_lacks_of_a_window_is_missing() -> (
    None
):
    assert asked_from(plan(a_world_that_began_late(starts_at_end=False))) == (
        0,
        10,
    )


@pytest.mark.parametrize("starts_at_end", [None, True])
def test_a_window_behind_the_first_copy_is_due_whole(
    *, starts_at_end: bool | None
) -> None:
    world = a_world(starts_at_end=starts_at_end, syncs_every=None)
    due, start = asked_from(plan(world))
    assert due <= start == 10


TODAY = date(2026, 11, 21)
LOCAL_NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WINDOW_OF_A_DAY = TimeWindow(LOCAL_NOON, LOCAL_NOON + timedelta(days=1))


def test_a_nightly_run_is_named_after_its_night_and_piece() -> None:
    assert Request().run_id(TODAY) == "nightly-2026-11-21"
    assert Request(piece=2).run_id(TODAY) == "nightly-2026-11-21-2"
    night = date(2026, 11, 3)
    assert Request(night=night).run_id(TODAY) == "nightly-2026-11-03"


def test_the_pieces_of_a_night_are_known_by_their_names() -> None:
    night = date(2026, 11, 21)
    for request in (
        Request(night=night),
        Request(night=night, clock="0300"),
    ):
        names = [
            replace(request, piece=piece).run_id(night) for piece in (1, 2, 3)
        ]
        assert [earlier_pieces(name) for name in names] == [
            [],
            names[:1],
            names[:2],
        ]
    assert earlier_pieces("adhoc-20261120T000000Z-20261121T000000Z-2") == []


def test_an_ad_hoc_run_is_named_after_its_window_in_utc() -> None:
    santiago = timezone(timedelta(hours=-3))
    window = TimeWindow(
        LOCAL_NOON.astimezone(santiago),
        LOCAL_NOON + timedelta(hours=1, milliseconds=5),
    )
    name = Request(window=window).run_id(TODAY)
    assert name == "adhoc-20261120T120000Z-20261120T130000.005000Z"


def test_a_part_of_the_topics_is_another_run() -> None:
    names = {
        request.run_id(TODAY)
        for request in (
            Request(window=WINDOW_OF_A_DAY),
            Request(window=WINDOW_OF_A_DAY, flow="a"),
            Request(window=WINDOW_OF_A_DAY, topics="a"),
            Request(window=WINDOW_OF_A_DAY, flow="a", topics="b"),
        )
    }
    assert len(names) == 4
    assert all(name.startswith("adhoc-20261120T120000Z") for name in names)


def a_world_with_one_sync() -> World:
    """Return one whose only pair lies behind the window."""
    world = a_world(timestamps=False, syncs_every=None)
    world.syncs = [(30, 30)]
    return world


def test_a_whole_log_begins_at_its_start() -> None:
    pair = pair_of(plan(a_world_with_one_sync()))
    assert pair.sources[0].span == pair.span == AuditSpan(0, 30)


@pytest.mark.parametrize("starts_at_end", [True, None])
def test_one_whose_mirror_may_have_begun_later_does_not(
    *, starts_at_end: bool | None
) -> None:
    world = a_world_with_one_sync()
    world.starts_at_end = starts_at_end
    outcome = plan(world)
    assert outcome.pair is None
    assert "no offset syncs are known" in outcome.unverifiable[0].reason


def test_one_that_is_not_whole_does_not() -> None:
    world = a_world_with_one_sync()
    world.source_start = 5
    outcome = plan(world)
    assert outcome.pair is None
    assert "no offset syncs are known" in outcome.unverifiable[0].reason


def test_syncs_of_one_of_several_sources_are_none() -> None:
    facts = a_world(timestamps=False).freeze()
    outcome = plan(a_world(), replace(facts, sources=facts.sources * 2))
    assert outcome.pair is None
    assert len(outcome.unverifiable) == 2


MINUTE = timedelta(minutes=1)
NOW = NOON + 10 * 60 * MINUTE


def minutes(*numbers: int) -> list[datetime]:
    return [NOON + number * MINUTE for number in numbers]


def a_log(
    cluster: str, stamps: list[datetime], *, start: int = 0, side: Side
) -> Log:
    return Log(
        side=side,
        cluster=cluster,
        topic_partition=("t", 0),
        topic_id=f"id {cluster}",
        retained=AuditSpan(start, len(stamps)),
    )


def merged_plan(
    sources: Mapping[str, list[datetime]],
    target: list[datetime] | None,
    *,
    positions: Mapping[str, int | None],
    ends: Collection[AuditedEnd] = (),
    steady: bool = True,
    now: datetime = NOW,
    syncs: tuple[tuple[int, int], ...] = (),
    starts: Mapping[str, int] = {},
) -> PlanningOutcome:
    stamps = {**sources, "hub": target or []}

    def answer(questions: Collection[Question]) -> dict[Question, AuditFound]:
        found = {}
        for question in questions:
            log = stamps[question.log.cluster]
            at = next(
                (
                    offset
                    for offset, time in enumerate(log)
                    if offset >= starts.get(question.log.cluster, 0)
                    and (
                        time >= question.time
                        if isinstance(question, FirstSince)
                        else offset >= question.offset
                    )
                ),
                None,
            )
            found[question] = AuditFound(at, None if at is None else log[at])
        return found

    pair = PairedLogs(
        flow="a->hub",
        topic="t",
        cluster="hub",
        topic_partition=("t", 0),
        sources=tuple(
            SourceLog(
                flow=f"{name}->hub",
                log=a_log(
                    name, times, start=starts.get(name, 0), side="source"
                ),
                steady=steady,
                position=positions[name],
                syncs=syncs,
            )
            for name, times in sources.items()
        ),
        target=None if target is None else a_log("hub", target, side="target"),
    )
    night = NightlyInputs(
        now=now,
        settle=15 * MINUTE,
        slack=6 * 60 * MINUTE,
        ends={end.key: end for end in ends},
    )
    return plan_night(looking(answer), pair, night)


def test_sources_at_rest_are_compared_whole() -> None:
    pair = pair_of(
        merged_plan(
            {"a": minutes(1, 3), "b": minutes(2, 4, 6)},
            minutes(1, 2, 3, 4, 6),
            positions={"a": 2, "b": 3},
        )
    )
    assert pair.cut == "idle"
    assert [s.span for s in pair.sources] == [AuditSpan(0, 2), AuditSpan(0, 3)]
    assert [s.flow for s in pair.sources] == ["a->hub", "b->hub"]
    assert pair.span == AuditSpan(0, 5)
    assert pair.topic == "t"


def test_a_source_that_lags_holds_back_the_cut_of_all() -> None:
    outcome = merged_plan(
        {"a": minutes(1, 3, 5, 7), "b": minutes(2, 4, 6)},
        minutes(1, 2, 3, 5, 7),
        positions={"a": 4, "b": 1},
    )
    pair = pair_of(outcome)
    assert pair.cut == "timestamp"
    # The first one of b that waits has minute 4.
    assert [s.span for s in pair.sources] == [AuditSpan(0, 2), AuditSpan(0, 1)]
    assert pair.span == AuditSpan(0, 3)
    assert pair.cut_at == NOON + 4 * MINUTE
    assert [(s.flow, s.count) for s in outcome.stated] == [("b->hub", 2)]


def test_a_source_that_joined_is_audited_from_its_start() -> None:
    end = AuditedEnd(
        flow="a->hub",
        topic="t",
        partition=0,
        source_end=2,
        target_end=2,
        source_id="id a",
        target_id="id hub",
        cut_at=NOON + 5 * MINUTE,
    )
    pair = pair_of(
        merged_plan(
            {"a": minutes(1, 3, 6), "b": minutes(7, 8)},
            minutes(1, 3, 6, 7, 8),
            positions={"a": 3, "b": 2},
            ends=[end],
        )
    )
    assert [s.span for s in pair.sources] == [AuditSpan(2, 3), AuditSpan(0, 2)]
    assert pair.span == AuditSpan(2, 5)


def test_an_empty_source_needs_no_target() -> None:
    outcome = merged_plan({"a": []}, None, positions={"a": None})
    assert outcome == PlanningOutcome()


def test_young_records_may_wait_for_their_topic() -> None:
    now = NOON + 10 * MINUTE
    outcome = merged_plan(
        {"a": minutes(1, 9)}, None, positions={"a": None}, now=now
    )
    assert outcome == PlanningOutcome()


def test_records_without_a_topic_are_unverifiable_if_nobody_read_them() -> (
    None
):
    outcome = merged_plan({"a": minutes(1, 2)}, None, positions={"a": None})
    assert outcome.pair is None
    (gap,) = outcome.unverifiable
    assert gap.records == 2
    assert "not at the target hub" in gap.reason


def test_records_without_a_topic_are_missing_if_the_mirror_read_them() -> None:
    outcome = merged_plan({"a": minutes(1, 2, 3)}, None, positions={"a": 2})
    pair = pair_of(outcome)
    assert (pair.sources[0].span, pair.span) == (
        AuditSpan(0, 2),
        AuditSpan(0, 0),
    )
    assert pair.topic_id == ""
    assert [gap.records for gap in outcome.unverifiable] == [1]


def an_end_without_target(source_end: int, target_end: int) -> AuditedEnd:
    return AuditedEnd(
        flow="a->hub",
        topic="t",
        partition=0,
        source_end=source_end,
        target_end=target_end,
        source_id="id a",
        target_id="id hub" if target_end else "",
        cut_at=NOON,
    )


@pytest.mark.parametrize("position", [None, 2, 3])
def test_a_target_that_was_deleted_since_the_last_audit_is_told(
    position: int | None,
) -> None:
    outcome = merged_plan(
        {"a": minutes(1, 2)},
        None,
        positions={"a": position},
        ends=[an_end_without_target(2, 2)],
    )
    assert outcome.pair is None
    (gap,) = outcome.unverifiable
    assert gap.records is None
    assert "at the target was deleted since the last audit" in gap.reason


def test_a_target_that_never_was_is_not_told_as_deleted() -> None:
    outcome = merged_plan(
        {"a": minutes(1, 2)},
        None,
        positions={"a": 2},
        ends=[an_end_without_target(2, 0)],
    )
    assert outcome == PlanningOutcome()


def test_pairs_are_planned_side_by_side() -> None:
    asked: list[int] = []

    def answer(
        questions: Collection[Question],
    ) -> Mapping[Question, AuditFound]:
        asked.append(len(questions))
        return {question: AuditFound(7) for question in questions}

    def plan(look: Lookup, partition: int) -> int:
        log = log_of(partition)
        first = look(FirstSince(log, NOON))
        if partition == 2:
            return 0
        second = look(FirstSince(log, NOON + HOUR))
        return (first.offset or 0) + (second.offset or 0)

    def log_of(partition: int) -> Log:
        return Log(
            side="source",
            cluster="a",
            topic_partition=("t", partition),
            topic_id="",
        )

    assert plan_batched([1, 2, 3], plan, answer) == [14, 0, 14]
    assert asked == [3, 2]
