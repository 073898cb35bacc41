"""Any history of a canary: the ledger ends with the truth."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain.canary.world import World

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


@settings(max_examples=400, deadline=None)
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
