"""Target offsets that go another way than the source's, and nothing lost."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health
from mirrorwatch.kafka.reader import RangeReader
from mirrorwatch_lab import CANARY_TOPIC, TARGET, Lab, LabSettings
from mirrorwatch_lab.faults import exactly_once, only_committed
from tests.support.lab import FLUSH_SECONDS, copied, produce, values
from tests.support.skips import (
    books_of,
    committed,
    is_told,
    settled,
    tally,
    truth,
    wait_for_commit,
    wait_for_tally,
)
from tests.support.watch import Watch, wait_until
from tests.support.writers import Writer, write_keys, write_transactions

pytestmark = [pytest.mark.lab, pytest.mark.long]

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = ["compacted", "transactions", "doubled", "exactly"]
    settings = LabSettings(
        topics={CANARY_TOPIC: 1} | dict.fromkeys(topics, 1),
        topic_configs={"compacted": COMPACTED},
        source_properties={"log.cleaner.backoff.ms": "500"},
        # A node that takes over from a frozen one does so within the test,
        # not after five minutes.
        mirror_properties={"ldf.scheduled.rebalance.max.delay.ms": "0"},
    )
    with Lab(settings) as lab:
        yield lab


def test_what_compaction_removed_is_no_loss(lab: Lab) -> None:
    with Watch(lab) as watch:
        settled(watch)
        write_keys(lab, "compacted", 20, "a")
        copied(lab, "compacted", ["a 19"])
        lab.mirror.stop()
        write_keys(lab, "compacted", 500, "b")
        watch.let_pass(2)
        write_keys(lab, "compacted", 5, "roll")
        wait_until(
            lambda: len(values(lab, "source", "compacted")) < 100,
            what=lambda: len(values(lab, "source", "compacted")),
        )
        lab.mirror.start()
        write_keys(lab, "compacted", 5, "c")
        copied(lab, "compacted", ["c 4"])
        wait_until(
            lambda: tally(watch, "compacted").passed > 500,
            what=lambda: tally(watch, "compacted"),
        )
        print(f"compacted: {tally(watch, 'compacted')}")
        watch.let_pass(5)
        assert books_of(watch, "compacted") == (0, 0)
        # What was found would stay for an hour.
        watch.wait_for(Health.OK, check="skips")


def test_marks_and_aborted_records_are_no_loss(lab: Lab) -> None:
    with Watch(lab) as watch:
        settled(watch)
        write_transactions(lab, "transactions", "all")
        produce(lab, "transactions", ["after all"])
        copied(lab, "transactions", ["all 3 9", "after all"])
        watch.let_pass(10)
        lab.mirror.stop()
        lab.mirror.start(only_committed())
        write_transactions(lab, "transactions", "committed")
        produce(lab, "transactions", ["after committed"])
        copied(lab, "transactions", ["after committed"])
        assert "committed 3 9" not in values(lab, "target", "transactions")
        watch.let_pass(5)
        # Behind what was committed no record may seem to be missing. It is
        # within a minute, or at once by a mirror that stops.
        lab.mirror.stop()
        wait_for_commit(lab, "transactions")
        watch.let_pass(5)
        assert tally(watch, "transactions") == CopyCounters()
        watch.wait_for(Health.OK, check="skips")


def test_what_a_transaction_holds_back_is_not_read_as_missing(
    lab: Lab,
) -> None:
    lab.target.topics.create("held", 1, {})
    producer = Producer(
        {
            "bootstrap.servers": lab.target.bootstrap,
            "transactional.id": "tests.held",
        }
    )
    producer.init_transactions(FLUSH_SECONDS)
    producer.begin_transaction()
    for n in range(3):
        producer.produce("held", f"{n}".encode())
    assert producer.flush(FLUSH_SECONDS) == 0
    stretches = RangeReader({"bootstrap.servers": lab.target.bootstrap}, "ldf")
    place = "held", 0

    def read(end: int, *, committed: bool) -> list[int] | None:
        found = stretches.read(
            [(place, OffsetRange(0, end))], committed=committed
        )
        records = found[place]
        return None if records is None else list(records)

    assert read(3, committed=False) == [0, 1, 2]
    assert read(3, committed=True) is None
    producer.commit_transaction(FLUSH_SECONDS)
    # The mark of its end is the fourth offset, and no record.
    wait_until(lambda: read(4, committed=True) == [0, 1, 2])
    assert read(5, committed=True) is None


def test_a_new_topic_whose_beginning_was_missed_is_named(lab: Lab) -> None:
    with Watch(lab) as watch:
        settled(watch)
        lab.mirror.stop()
        # What is behind a committed position is never missed.
        others = {CANARY_TOPIC, "compacted", "transactions"}
        assert others <= {topic for topic, _ in committed(lab)}
        lab.create_topic("missed", 1)
        produce(lab, "missed", [f"missed {n}" for n in range(50)])
        try:
            lab.mirror.start({"summit.consumer.auto.offset.reset": "latest"})
            wait_until(
                lambda: (
                    "Resetting offset for partition missed-0 to"
                    in (lab.logs / "mirror.log").read_text("utf-8")
                ),
            )
            produce(lab, "missed", ["first"])
            wait_until(
                lambda: is_told(
                    watch,
                    Health.CRITICAL,
                    "skips.dropped",
                    topic="missed",
                    partition=0,
                    records=50,
                    head=50,
                ),
                what=lambda: watch.verdict("skips"),
            )
            wait_for_tally(watch, "missed", (50, 0))
            assert truth(lab, "missed") == (50, 0)
        finally:
            lab.mirror.stop()
    lab.mirror.start()


# In each run the simulation has it: `test_what_two_tasks_copied_…`.
def test_two_mirrors_at_once_double_and_skip_nothing(lab: Lab) -> None:
    with Watch(lab) as watch:
        settled(watch)
        with Writer(lab, "doubled") as writer:
            wait_until(lambda: writer.written > 500)
            frozen_at = utc_now()
            lab.mirror.freeze()
            second = lab.add_mirror()
            second.start()
            # It has taken over what the frozen one had.
            copied(lab, "doubled", [f"w {writer.written}"])
            watch.let_pass(35 - (utc_now() - frozen_at).total_seconds())
            lab.mirror.thaw()
            watch.let_pass(15)
        copied(lab, "doubled", [f"w {writer.written - 1}"])
        second.stop()
        produce(lab, "doubled", ["last"])
        copied(lab, "doubled", ["last"])
        wait_for_tally(watch, "doubled", lambda: truth(lab, "doubled"))
        missing, repeated = truth(lab, "doubled")
        print(f"two mirrors: {missing} missing, {repeated} repeated")
        assert missing == 0
        assert repeated > 0
        assert tally(watch, "doubled").skipped == 0


def test_marks_of_an_exactly_once_mirror_are_no_repeats(lab: Lab) -> None:
    # What a killed one had begun is not read past before it times out: after
    # a minute by default.
    timeout = {f"{TARGET}.producer.transaction.timeout.ms": "20000"}
    properties = exactly_once() | timeout
    lab.mirror.stop()
    lab.mirror.start(properties)
    with Watch(lab) as watch:
        settled(watch)
        with Writer(lab, "exactly") as writer:
            wait_until(lambda: writer.written > 1000)
            lab.mirror.kill()
            lab.mirror.start(properties)
            wait_until(lambda: writer.written > 3000)

        def copies() -> int:
            level = "read_committed"
            return len(lab.read("target", "exactly", isolation_level=level))

        # The last transaction ends after its records can be seen.
        wait_until(
            lambda: copies() >= writer.written,
            what=lambda: (copies(), writer.written),
        )
        assert copies() == writer.written
        end = lab.target.topics.ends("exactly")[0][1]
        print(f"exactly once: {end - writer.written} offsets are no records")
        assert end > writer.written
        wait_for_commit(lab, "exactly")
        watch.let_pass(10)
        assert tally(watch, "exactly") == CopyCounters()
        watch.wait_for(Health.OK, check="skips")
