"""What a survey changes in the books of a flow."""

from dataclasses import replace
from datetime import timedelta

import pytest

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
    arrive,
)
from mirrorwatch.domain.report import Flow, Health
from tests.domain.canary.world import DEADLINE, START

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
LATER = START + timedelta(minutes=5)


def books(**more: int) -> CanaryTracker:
    return CanaryTracker(
        flow=FLOW,
        identity=Identity(),
        warmup=timedelta(minutes=10),
        partitions=more.get("partitions"),
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
        SURVEY, source=TopicState(id="s1", partitions=TWO | {2}), at=LATER
    )
    assert kept.follow(grown) == {2}
    new = kept.ledgers[2]
    assert new.next_offset == 0
    assert kept.is_warming(new, LATER)
    assert not kept.is_warming(new, LATER + timedelta(minutes=10))
    probe = new.send(LATER, warming=True)
    seen = Arrival(
        sequence=probe.sequence,
        target_offset=0,
        seen_at=LATER + timedelta(minutes=9),
        absent_until=LATER + timedelta(minutes=9),
    )
    assert arrive(new, seen, DEADLINE) is None
    assert (new.counts.late, new.counts.delivered) == (0, 1)
    assert not kept.is_warming(new, LATER)


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
        seen_at=LATER,
        counts_at=LATER,
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
    return len(kept.settle(LATER, None))


def test_a_position_past_a_probe_proves_its_loss() -> None:
    assert lose_one(books(), proving(2)) == 1
    assert lose_one(books(), proving(1)) == 0


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
    assert "summit answers with cluster id C and not A" in problem.text
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
    assert "summit answers with cluster id A and not M" in problem.text


def test_a_crowded_partition_gets_fewer_probes() -> None:
    kept = books(partitions=1)
    kept.follow(SURVEY)
    for _ in range(600):
        kept.ledgers[0].send(START)
    assert kept.due(SURVEY, START + timedelta(seconds=29)) == []
    assert kept.due(SURVEY, START + timedelta(seconds=30)) == [0]


def test_brokers_without_a_partition_are_found() -> None:
    leaders = {0: 1, 1: None, 2: 3}
    assert uncovered(frozenset({1, 2, 3}), leaders) == {2}
