"""What a survey changes in the books of a flow."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.model import (
    CanarySurvey,
    MirrorPosition,
    SettledProbe,
    TopicState,
    uncovered,
)
from mirrorwatch.domain.canary.tracker import (
    Arrival,
    CanaryTracker,
    Identity,
    Ledger,
    arrive,
    prove,
    settle,
)
from mirrorwatch.domain.report import Flow, Health
from tests.domain.canary.world import (
    DEADLINE,
    GRACE,
    LATER,
    PROOF,
    START,
    World,
    see,
    warmed,
)
from tests.support.builders import NOON
from tests.support.examples import examples

FLOW = Flow(name="f", source="summit", target="ldf")
TWO = frozenset({0, 1})
SURVEY = CanarySurvey(
    at=START,
    source=TopicState(id="s1", partitions=TWO),
    target=TopicState(id="t1", partitions=TWO),
    ends={0: 10, 1: 20},
    source_cluster="A",
    target_cluster="B",
    ordered=True,
)
MUCH_LATER = START + timedelta(minutes=5)


def books(
    *, partitions: int | None = None, keeps_partitions: bool = True
) -> CanaryTracker:
    return CanaryTracker(
        flow=FLOW,
        identity=Identity(),
        warmup=timedelta(minutes=10),
        partitions=partitions,
        keeps_partitions=keeps_partitions,
    )


def test_the_targets_end_is_pinned_before_the_first_send() -> None:
    kept = books()
    assert kept.due(SURVEY, START) == []
    assert kept.follow(SURVEY) == TWO
    assert [x.next_offset for x in kept.ledgers.values()] == [10, 20]
    assert kept.due(SURVEY, START) == [0, 1]
    assert not any(kept.is_warming(x, START) for x in kept.ledgers.values())


def test_a_partition_that_appears_later_warms_up() -> None:
    kept = books()
    kept.follow(SURVEY)
    grown = replace(
        SURVEY, source=TopicState(id="s1", partitions=TWO | {2}), at=MUCH_LATER
    )
    assert kept.follow(grown) == {2}
    new = kept.ledgers[2]
    assert new.next_offset == 0
    assert kept.is_warming(new, MUCH_LATER)
    assert not kept.is_warming(new, MUCH_LATER + timedelta(minutes=10))
    probe = new.send(MUCH_LATER, warming=True)
    seen = Arrival(
        sequence=probe.sequence,
        target_offset=0,
        seen_at=MUCH_LATER + timedelta(minutes=9),
        absent_until=MUCH_LATER + timedelta(minutes=9),
    )
    assert arrive(new, seen, DEADLINE) is None
    assert (new.counts.late, new.counts.delivered) == (0, 1)
    assert not kept.is_warming(new, MUCH_LATER)


def test_only_the_wanted_partitions_are_covered() -> None:
    kept = books(partitions=1)
    kept.follow(SURVEY)
    assert set(kept.ledgers) == {0}


def test_nothing_is_sent_to_a_topic_that_is_gone() -> None:
    kept = books()
    kept.follow(SURVEY)
    assert kept.due(replace(SURVEY, source=None), START) == []


def test_a_target_made_anew_is_read_from_its_start() -> None:
    kept = books()
    kept.follow(SURVEY)
    anew = replace(SURVEY, target=TopicState(id="t2", partitions=TWO))
    assert kept.follow(anew) == TWO
    assert [x.next_offset for x in kept.ledgers.values()] == [0, 0]


def proving(position: int) -> CanarySurvey:
    found = MirrorPosition(
        origin="The committed position",
        position=position,
        seen_at=MUCH_LATER,
        counts_at=MUCH_LATER,
    )
    return replace(SURVEY, positions={0: (found,)})


def lose_one(kept: CanaryTracker, survey: CanarySurvey) -> int:
    """Send two probes of which only the first arrives; return the losses."""
    kept.follow(SURVEY)
    ledger = kept.ledgers[0]
    for offset in range(2):
        ledger.ack(ledger.send(START).sequence, offset, START)
    seen = Arrival(
        sequence=1, target_offset=10, seen_at=START, absent_until=START
    )
    arrive(ledger, seen, DEADLINE)
    kept.follow(survey)
    return len(kept.settle(MUCH_LATER, None))


def test_a_position_past_a_probe_proves_its_loss() -> None:
    assert lose_one(books(), proving(2)) == 1
    assert lose_one(books(), proving(1)) == 0


THREE = TopicState(id="t1", partitions=TWO | {2})


@pytest.mark.parametrize("keeps_partitions", [True, False])
def test_a_key_chosen_for_fewer_partitions_proves_no_loss(
    *, keeps_partitions: bool
) -> None:
    # Its copy was in a new partition, that nobody read (seed 9990000277).
    kept = books(keeps_partitions=keeps_partitions)
    assert lose_one(kept, replace(proving(2), target=THREE)) == (
        keeps_partitions
    )
    counts = kept.ledgers[0].counts
    assert counts.unverifiable == (not keeps_partitions)
    assert counts.sent == counts.delivered + counts.lost + counts.unverifiable


def test_a_key_chosen_for_as_many_partitions_proves_a_loss() -> None:
    assert lose_one(books(keeps_partitions=False), proving(2)) == 1


@pytest.mark.parametrize("target", [SURVEY.target, THREE])
def test_keys_from_before_a_restart_are_of_as_many_partitions_as_ledgers(
    target: TopicState,
) -> None:
    before = books(keeps_partitions=False)
    before.follow(SURVEY)
    before.ledgers[0].send(START)
    kept = books(keeps_partitions=False)
    kept.ledgers = before.ledgers
    kept.follow(replace(SURVEY, target=target))
    is_known = target is SURVEY.target
    assert len(kept.ledgers[0].outstanding) == is_known
    assert kept.ledgers[0].counts.unverifiable == (not is_known)


def test_a_position_read_as_the_topic_was_made_anew_proves_nothing() -> None:
    anew = TopicState(id="s2", partitions=TWO)
    assert lose_one(books(), replace(proving(2), source=anew)) == 0


def test_a_position_without_the_source_seen_again_proves_nothing() -> None:
    assert lose_one(books(), replace(proving(2), source=None)) == 0


@pytest.mark.parametrize(
    ("offset", "readable", "outcome"),
    [
        (7, True, "acked"),
        (None, True, "failed"),
        (None, False, "unverifiable"),
    ],
)
def test_a_doubt_is_settled(
    offset: int | None, readable: bool, outcome: str
) -> None:
    kept = books()
    kept.follow(SURVEY)
    kept.ledgers[0].send(START)
    kept.ledgers[0].doubt_unacked()
    (doubt,) = kept.doubts()
    settled = SettledProbe(
        partition=0,
        sequence=doubt.sequence,
        source_offset=offset,
        readable=readable,
    )
    kept.follow(replace(SURVEY, settlements=(settled,)))
    assert getattr(kept.ledgers[0].counts, outcome) == 1
    assert kept.doubts() == []


def test_another_cluster_under_the_same_alias_is_critical() -> None:
    kept = books()
    assert kept.mistaken(SURVEY) is None
    assert kept.mistaken(replace(SURVEY, source_cluster=None)) is None
    problem = kept.mistaken(replace(SURVEY, source_cluster="C"))
    assert problem is not None
    assert problem.health is Health.CRITICAL
    assert problem.code == "canary.wrong-cluster"
    assert problem.subject == {"cluster": "summit"}
    assert problem.numbers == {"cluster_id": "C", "expected_id": "A"}
    # As it was, once the right one answers.
    assert kept.mistaken(SURVEY) is None


def test_a_cluster_that_was_replaced_is_accepted_by_its_id() -> None:
    kept = books()
    kept.mistaken(SURVEY)
    replaced = replace(SURVEY, target_cluster="C")
    kept.accepted = {"ldf": "C"}
    assert kept.mistaken(replaced) is None
    # The one that was there before is now the wrong one, for good.
    assert kept.mistaken(SURVEY) is not None
    kept.accepted = {}
    assert kept.mistaken(SURVEY) is not None
    assert kept.mistaken(replaced) is None


def test_an_id_that_is_configured_rules_from_the_start() -> None:
    kept = books()
    kept.accepted = {"summit": "M"}
    problem = kept.mistaken(SURVEY)
    assert problem is not None
    assert problem.numbers == {"cluster_id": "A", "expected_id": "M"}


def test_a_crowded_partition_gets_fewer_probes() -> None:
    kept = books(partitions=1)
    kept.follow(SURVEY)
    for _ in range(600):
        kept.ledgers[0].send(START)
    assert kept.due(SURVEY, START + timedelta(seconds=29)) == []
    assert kept.due(SURVEY, START + timedelta(seconds=30)) == [0]


def test_brokers_without_a_partition_are_found() -> None:
    brokers = frozenset({1, 2, 3})
    assert uncovered(brokers, {0: 1, 1: 1, 2: 3}) == {2}
    # Broker 2 may be about to lead it.
    assert uncovered(brokers, {0: 1, 1: None, 2: 3}) == frozenset()


def test_an_arrival_after_the_deadline_is_late_and_not_lost() -> None:
    ledger = warmed()
    see(ledger, 2, at=1, after=31)
    assert (ledger.counts.late, ledger.counts.delivered) == (1, 1)


def test_what_arrived_while_the_agent_was_away_is_not_called_late() -> None:
    ledger = warmed()
    assert see(ledger, 2, at=1, after=600, away=599) is None
    assert (ledger.counts.late, ledger.counts.delivered) == (0, 2)
    assert sum(ledger.latency.counts) == 1


def test_what_was_overdue_before_the_agent_went_away_is_late() -> None:
    ledger = warmed()
    assert see(ledger, 2, at=1, after=600, away=560) is None
    assert (ledger.counts.late, ledger.counts.delivered) == (1, 1)


def test_the_same_target_record_read_twice_counts_once() -> None:
    ledger = warmed()
    see(ledger, 1, at=0)
    assert ledger.counts.duplicates == 0
    see(ledger, 1, at=1)
    assert ledger.counts.duplicates == 1


def test_a_probe_behind_a_later_one_is_reordered_not_lost() -> None:
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    see(ledger, 2, at=2)
    counts = ledger.counts
    assert (counts.reordered, counts.delivered, counts.lost) == (1, 3, 0)


def test_intervals_below_zero_are_counted_and_not_clamped() -> None:
    ledger = Ledger(flow="f", partition=0)
    ledger.send(START)
    ledger.ack(1, 0, START + timedelta(seconds=2))
    see(ledger, 1, at=0, after=1)
    assert ledger.counts.negative == 1
    assert ledger.replication.total == timedelta(seconds=-1)


def test_a_new_target_is_read_from_its_start() -> None:
    ledger = warmed()
    ledger.skip_target(0)
    see(ledger, 2, at=0)
    assert ledger.counts.delivered == 2


def test_a_source_slow_to_store_does_not_make_the_mirror_late() -> None:
    ledger = Ledger(flow="f", partition=0)
    ledger.send(START)
    ledger.ack(1, 0, START + timedelta(seconds=29))
    see(ledger, 1, at=0, after=31)
    assert (ledger.counts.late, ledger.counts.delivered) == (0, 1)


def test_time_alone_never_loses_a_probe() -> None:
    ledger = warmed(sent=50)
    assert settle(ledger, START + timedelta(days=30), GRACE) == []
    assert ledger.counts.lost == 0


def test_a_committed_offset_past_a_probe_that_is_not_there_proves_loss() -> (
    None
):
    ledger = warmed()
    prove(ledger, PROOF)
    (loss,) = settle(ledger, LATER, None)
    assert (loss.sequence, loss.source_offset) == (2, 1)
    assert "Committed offset is 2" in loss.proof


def test_nothing_is_lost_before_the_target_is_read_to_the_end() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, end=2))
    assert settle(ledger, LATER, None) == []
    see(ledger, 2, at=1, after=61)
    assert settle(ledger, LATER, None) == []
    assert ledger.counts.lost == 0


def test_a_position_at_the_probe_does_not_pass_it() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, position=1))
    assert settle(ledger, LATER, None) == []


def test_a_position_that_waits_for_its_grace_proves_nothing_yet() -> None:
    ledger = warmed()
    prove(ledger, replace(PROOF, counts_at=LATER))
    assert settle(ledger, LATER - timedelta(seconds=1), None) == []
    assert len(settle(ledger, LATER, None)) == 1


def test_a_position_of_a_deleted_topic_proves_nothing() -> None:
    ledger = warmed()
    ledger.renew_source()
    probe = ledger.send(START + timedelta(seconds=50))
    ledger.ack(probe.sequence, 0, START + timedelta(seconds=50))
    prove(ledger, replace(PROOF, incarnation=2))
    assert settle(ledger, LATER, GRACE) == []
    # Nor does one from before the mirror was seen to read the new topic.
    see(ledger, probe.sequence, at=1, after=59)
    follower = ledger.send(START + timedelta(seconds=59))
    ledger.ack(follower.sequence, 1, START + timedelta(seconds=59))
    prove(ledger, replace(PROOF, incarnation=2))
    assert follower.sequence not in {
        loss.sequence for loss in settle(ledger, LATER, None)
    }


def test_a_later_arrival_proves_loss_after_the_grace_if_order_is_known() -> (
    None
):
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    seen_at = START + timedelta(seconds=1)
    assert settle(ledger, seen_at + GRACE, GRACE) == []
    assert settle(ledger, LATER, None) == []
    (loss,) = settle(ledger, LATER, GRACE)
    assert loss.sequence == 2


def test_only_a_higher_source_offset_overtakes() -> None:
    ledger = warmed(sent=1)
    slow, quick = ledger.send(START), ledger.send(START)
    ledger.ack(quick.sequence, 1, START)
    ledger.ack(slow.sequence, 2, START)
    see(ledger, quick.sequence, at=1)
    assert settle(ledger, LATER, GRACE) == []


def test_the_new_topic_arriving_proves_the_old_ones_lost() -> None:
    ledger = warmed()
    ledger.renew_source()
    probe = ledger.send(START)
    ledger.ack(probe.sequence, 0, START)
    assert settle(ledger, LATER, GRACE) == []
    see(ledger, probe.sequence, at=1)
    (loss,) = settle(ledger, LATER, GRACE)
    assert loss.sequence == 2


def test_an_acked_probe_is_not_doubted() -> None:
    ledger = warmed()
    ledger.doubt_unacked()
    assert ledger.counts.indeterminate == 0


def test_a_lost_probe_that_arrives_is_recovered_and_stays_counted() -> None:
    ledger = warmed(sent=3)
    see(ledger, 3, at=1)
    settle(ledger, LATER, GRACE)
    see(ledger, 2, at=2, after=4000)
    assert (ledger.counts.lost, ledger.counts.recovered) == (1, 1)
    assert (ledger.counts.duplicates, len(ledger.lost)) == (0, 0)
    see(ledger, 2, at=3, after=4001)
    assert ledger.counts.duplicates == 1


def test_an_indeterminate_send_is_never_lost() -> None:
    ledger = warmed()
    probe = ledger.send(START)
    ledger.doubt(probe.sequence)
    prove(ledger, replace(PROOF, position=99))
    lost = {loss.sequence for loss in settle(ledger, LATER, GRACE)}
    assert lost == {2}
    assert ledger.counts.indeterminate == 1


def test_what_may_have_gone_unread_is_unverifiable_and_not_lost() -> None:
    ledger = warmed()
    ledger.skip_target(7)
    prove(ledger, PROOF)
    assert settle(ledger, LATER, GRACE) == []
    assert (ledger.counts.unverifiable, ledger.counts.lost) == (1, 0)
    see(ledger, 2, at=8)
    assert ledger.counts.recovered == 1


ACTIONS = [
    "send",
    "ack",
    "copy",
    "consume",
    "send",
    "copy",
    "drop",
    "rewind",
    "commit",
    "wait",
    "judge",
    "lose_acks",
    "read_source",
    "send_into_the_void",
]


def numbers(ranges: Iterator[tuple[int, int]]) -> set[int]:
    return {n for a, b in ranges for n in range(a, b + 1)}


@examples(400)
@given(st.lists(st.sampled_from(ACTIONS), max_size=80))
def test_the_ledger_ends_with_the_truth(actions: list[str]) -> None:
    world = World()
    for action in ["send", "ack", "copy", "consume", *actions]:
        world.do(action)
        counts = world.ledger.counts
        settled = counts.failed + counts.delivered + counts.late + counts.lost
        assert counts.sent == settled + len(world.ledger.outstanding)

    # Let everything come to rest: nothing new is written or copied.
    world.consume()
    world.lose_acks()
    world.read_source()
    world.wait()
    world.at = world.furthest
    world.commit()
    world.judge()

    ledger, arrived = world.ledger, set(world.target)
    reached = set(world.source[: world.furthest])
    assert numbers(iter(ledger.arrived)) == arrived
    assert numbers(iter(ledger.lost)) == reached - arrived
    assert numbers(iter(ledger.failed)) == world.never_written
    assert set(ledger.outstanding) == set(world.source[world.furthest :])
    copies = len(world.target) - len(arrived)
    assert ledger.counts.duplicates == copies
    assert ledger.counts.lost - ledger.counts.recovered == len(
        reached - arrived
    )
    assert ledger.counts.late == world.expected_late
    assert ledger.counts.negative == 0


def test_probes_of_a_partition_that_is_gone_are_unverifiable() -> None:
    ledger = Ledger(flow="f", partition=1)
    ledger.ack(ledger.send(NOON).sequence, 0, NOON)
    for _ in range(2):
        ledger.miss()
    ledger.see(NOON)
    assert ledger.snapshot(warming=False).oldest_outstanding == NOON
    for _ in range(3):
        ledger.miss()
    assert ledger.gone
    assert not ledger.outstanding
    assert ledger.counts.unverifiable == 1
    ledger.see(NOON)
    assert (ledger.gone, ledger.started_at) == (False, NOON)
    assert ledger.next_sequence == 2
