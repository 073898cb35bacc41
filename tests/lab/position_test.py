"""A mirror that loses its place, on real brokers and a real MirrorMaker 2.

The tests share one lab and one state file, and run in this order: what one
did is still in the books of the next.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import recreate_topic
from tests.support.lab import carry, copied, produce, values
from tests.support.resets import (
    FLOW,
    MISSED_AT_ONCE,
    OFFSETS,
    RETENTION,
    all_resets,
    await_found,
    await_health,
    await_reset,
    await_time_to_loss,
    health,
    is_judged,
    is_settled,
    numbers,
    resets,
    seen,
    set_position,
    stop_mirror,
    uncopied,
)
from tests.support.skips import leave_uncommitted, tally, wait_for_sync
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

TOPICS = ("steady", "expired", "grown", "smaller", "elsewhere")
KILLED = "killed"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1, KILLED: 1} | dict.fromkeys(TOPICS, 1)
    settings = LabSettings(topics=topics, mirror_properties=MISSED_AT_ONCE)
    with Lab(settings) as lab:
        yield lab


@pytest.fixture
def state(lab: Lab) -> Path:
    return lab.folder / "state.db"


@pytest.fixture
def watch(lab: Lab, state: Path) -> Iterator[Watch]:
    with Watch(lab, state=state, flow=FLOW) as watch:
        wait_until(lambda: is_judged(watch), what=watch.verdict)
        yield watch


def fill(lab: Lab, *topics: str) -> None:
    """Have 350 records of each topic copied, as after the first test."""
    for topic in topics:
        (_, end), *_ = lab.source.topics.ends(topic).values()
        carry(lab, topic, numbers(end, 350))


def test_nothing_is_said_of_what_is_usual(lab: Lab, watch: Watch) -> None:
    for topic in (*TOPICS, KILLED):
        produce(lab, topic, numbers(0, 300))
    for topic in (*TOPICS, KILLED):
        copied(lab, topic, numbers(0, 300))
    lab.create_topic("new", 2)
    produce(lab, "new", numbers(0, 10))
    lab.grow("steady", 3)
    produce(lab, "steady", numbers(0, 10, "on 2: "), partition=2)
    lab.create_topic("passing", 1)
    produce(lab, "passing", numbers(0, 10))
    watch.let_pass(3)
    lab.source.topics.delete("passing")
    # It commits at once, not within a minute.
    lab.mirror.stop()
    lab.mirror.start()
    for topic in TOPICS:
        carry(lab, topic, numbers(300, 350))
    watch.let_pass(10)
    # What was found would stay for an hour.
    await_health(watch, Health.OK)
    assert all_resets(watch) == ()
    assert sum(seen(watch).counts.values()) == 0


def test_a_mirror_that_is_killed_only_goes_back(
    lab: Lab, watch: Watch
) -> None:
    end = 300

    def write(count: int) -> None:
        nonlocal end
        carry(lab, KILLED, numbers(end, end + count))
        end += count

    def write_uncommitted() -> None:
        write(250)
        watch.let_pass(3)  # its syncs, too

    leave_uncommitted(lab, KILLED, write_uncommitted)
    lab.mirror.kill()
    lab.mirror.start()
    # The mirror tells of each hundredth record where it is.
    write(150)
    rewind = await_reset(watch, KILLED, ResetKind.REWIND, is_settled)
    await_health(watch, Health.WARNING)
    target = values(lab, "target", KILLED)
    # It went back to its last commit, and more than once: a mirror that
    # comes back first runs the tasks that it finds stored.
    first = rewind.first or 0
    assert target.count(str(first)) > 1
    assert target.count(str(first - 1)) == 1
    assert {r.kind for r in all_resets(watch)} == {ResetKind.REWIND}


@pytest.mark.long
def test_records_that_expire_while_the_mirror_is_down_are_counted(
    lab: Lab, watch: Watch
) -> None:
    topic, source = "expired", lab.source.topics
    (_, end), *_ = source.ends(topic).values()
    carry(lab, topic, numbers(end, 500))
    # Killed: its last commit is older than its last copy. Not its last sync:
    # the task before copied some of these, too, and could copy the others.
    wait_for_sync(lab, topic)
    lab.mirror.kill()
    source.set_configs(topic, RETENTION)
    produce(lab, topic, numbers(500, 700))
    for grade, share in ((Health.WARNING, 0.9), (Health.CRITICAL, 0.5)):
        found = await_time_to_loss(watch, grade, topic, share)
        assert found.numbers["records"] == 200
        assert resets(watch, topic, ResetKind.EXPIRED) == []
    produce(lab, topic, numbers(700, 1000))

    wait_until(lambda: source.ends(topic)[0][0] >= 700)
    source.unset_configs(topic, [*RETENTION])
    reset = await_reset(
        watch, topic, ResetKind.EXPIRED, lambda r: r.end == 700
    )
    assert (reset.first, source.ends(topic)[0][0]) == (500, 700)
    await_health(watch, Health.CRITICAL)
    await_found(watch, "expired-unread", topic=topic, records=200)
    lab.delete_records(topic, {0: 800})
    await_found(watch, "expired-unread", topic=topic, records=300)

    lab.mirror.start()
    copied(lab, topic, numbers(800, 1000))
    reset = await_reset(watch, topic, ResetKind.EXPIRED, is_settled)
    assert (reset.first, reset.end) == (500, 800)
    assert uncopied(lab, topic, numbers(0, 1000)) == numbers(500, 800)
    await_found(watch, "expired-unread", records=300, open_resets=0)
    await_health(watch, Health.OK, "retention")


@pytest.mark.long
def test_topics_that_are_made_again_while_the_mirror_is_down(
    lab: Lab, state: Path, watch: Watch
) -> None:
    fill(lab, "smaller", "elsewhere", "grown")
    stop_mirror(lab, watch)
    recreate_topic(lab.source.topics, "smaller", 1)
    produce(lab, "smaller", numbers(0, 50, "new "))
    # Some of them twice, by a mirror that was killed.
    copies = lab.target.topics.ends("elsewhere")[0][1]
    recreate_topic(lab.target.topics, "elsewhere", 1)
    made = ResetKind.SOURCE_RECREATED
    await_reset(watch, "smaller", made, lambda r: r.end == 350)
    assert copies >= 350
    made_there = ResetKind.TARGET_RECREATED
    await_reset(watch, "elsewhere", made_there, lambda r: r.gone == copies)
    await_found(watch, "recreated", topic="smaller", records_at_risk=0)
    await_found(watch, "target-recreated", topic="elsewhere", offsets=copies)
    # The agent is away meanwhile.
    watch.stop()
    recreate_topic(lab.source.topics, "grown", 1)
    produce(lab, "grown", numbers(0, 500, "new "))

    with Watch(lab, state=state, flow=FLOW) as again:
        await_reset(
            again, "grown", made, lambda r: (r.first, r.end) == (0, 350)
        )
        await_found(again, "recreated", topic="grown", records_at_risk=350)
        await_health(again, Health.CRITICAL)

        lab.mirror.start()
        carry(lab, "elsewhere", numbers(350, 360))
        copied(lab, "grown", numbers(350, 500, "new "))
        grown = await_reset(again, "grown", made, is_settled)
        assert (grown.first, grown.end) == (0, 350)
        lost = uncopied(lab, "grown", numbers(0, 500, "new "))
        assert lost == numbers(0, 350, "new ")
        await_found(again, "recreated", topic="grown", records=350)

        copied(lab, "smaller", numbers(0, 50, "new "))
        smaller = await_reset(again, "smaller", made, is_settled)
        assert smaller.harmless
        await_found(
            again, "recreated", topic="smaller", records=0, open_resets=0
        )
        # A new topic at the target is no skip, nor is a new one at the
        # source, nor what expired before.
        again.let_pass(10)
        for topic in TOPICS:
            assert tally(again, topic).skipped == 0, topic
        assert health(again, "skips") is not Health.CRITICAL


@pytest.mark.long
def test_an_operator_who_sets_positions(lab: Lab, watch: Watch) -> None:
    # All of it is written already where records expired before.
    (_, end), *_ = lab.source.topics.ends("expired").values()
    carry(lab, "expired", numbers(end, 1000))
    stop_mirror(lab, watch)
    set_position(lab, "expired", 900)
    # One with what a killed mirror copied again, if that was here, too.
    back = await_reset(
        watch, "expired", ResetKind.REWIND, lambda r: r.end == 1000
    )
    assert (back.first or 0) <= 900
    assert back.settled is None
    # As the runbook says where a topic was made again.
    set_position(lab, "grown", None)
    await_reset(
        watch, "grown", ResetKind.OFFSETS_DELETED, lambda r: r.places == 1
    )
    await_found(watch, "offsets-deleted", topic="grown", partitions=1)

    lab.mirror.start()
    copied(lab, "grown", numbers(0, 500, "new "))
    await_reset(watch, "expired", ResetKind.REWIND, is_settled)

    def copies() -> list[int]:
        target = values(lab, "target", "expired")
        return [target.count(str(n)) for n in (899, 900, 999)]

    wait_until(lambda: copies() == [1, 2, 2], what=copies)


@pytest.mark.long
def test_committed_offsets_that_are_lost(lab: Lab, watch: Watch) -> None:
    fill(lab, *TOPICS)
    stop_mirror(lab, watch)
    before = len(values(lab, "target", "steady"))
    source = len(values(lab, "source", "steady"))
    lab.target.topics.delete(OFFSETS)
    await_reset(watch, OFFSETS, ResetKind.OFFSETS_GONE)
    await_found(watch, "offsets-deleted", topic=OFFSETS)
    await_health(watch, Health.CRITICAL)

    lab.mirror.start()
    await_reset(
        watch,
        OFFSETS,
        ResetKind.OFFSETS_GONE,
        lambda r: is_settled(r) and r.places >= len(TOPICS),
    )
    await_found(watch, "offsets-deleted", topic=OFFSETS)
    # All of it is copied again, which is one rewind of each topic.
    wait_until(
        lambda: len(values(lab, "target", "steady")) == before + source,
    )
    await_reset(watch, "steady", ResetKind.REWIND, lambda r: r.first == 0)
    await_health(watch, Health.CRITICAL)
