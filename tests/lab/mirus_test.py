"""Mirus, real, read by Connect's offsets topic at the target.

It copies clean traffic, is killed, meets a record that is too large, and is
stopped until its position expires; then it resumes at the log end.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.lab import (
    carry,
    copied,
    mirus_lab,
    numbered,
    produce,
    values,
)
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

LARGE = 200_000
"""Bytes of a record that the mirror's producer refuses."""

SENDS = {"worker.producer.max.request.size": "1000000"}

BATCHES = SENDS | {
    "worker.producer.batch.size": "250000",
    "worker.producer.linger.ms": "200",
}
"""Lets it send such a record in a batch with others."""

TOPICS = ((CANARY_TOPIC, 3), ("x", 2), ("expires", 1))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with mirus_lab(
        TOPICS, {"worker.producer.max.request.size": "100000"}
    ) as lab:
        yield lab


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        "canary": {"warning_window": "5s"},
        "position": {"rewind_window": "5s"},
        "latency": {"warning": "30m", "critical": "1h"},
    }
    return Watch(
        lab, state=state, canary={"deadline": "60s"}, flow={"limits": limits}
    )


def test_clean_traffic_and_a_kill(lab: Lab, tmp_path: Path) -> None:
    for topic in ("x", "expires"):
        produce(lab, topic, numbered(topic, 0, 150))
        copied(lab, topic, [f"{topic} 149"])
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for_count("delivered", 40)
        watch.wait_for(Health.OK, check="position")
        watch.wait_for(Health.OK, check="tasks")
        watch.wait_for(Health.OFF, check="skips")
        watch.wait_for_only()
        # Killed, it copies some records again: none is lost.
        lab.mirror.kill()
        produce(lab, "x", numbered("more", 0, 20))
        lab.mirror.start()
        copied(lab, "x", ["more 19"])
        watch.wait_for_count("delivered", watch.counts["delivered"] + 40)
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["lost"] == 0
        watch.wait_for_only()
        # Both sides get another partition, and Mirus finds it by itself.
        for site in (lab.target, lab.source):
            site.topics.grow("x", 3)
        produce(lab, "x", numbered("third", 0, 10), partition=2)
        copied(lab, "x", ["third 9"])
        watch.wait_for_only()


def test_a_position_that_expired(lab: Lab, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    with watching(lab, state) as watch:
        watch.wait_for(Health.OK, check="position")
        lab.mirror.stop()
        produce(lab, "expires", numbered("unread", 0, 20))
        wait_until(
            lambda: watch.evidence("lag").get("topics_behind") == 2,
            what=lambda: watch.verdict("lag"),
        )
        lab.delete_records("expires", {0: 150 + 5})
        watch.wait_for(
            Health.CRITICAL,
            "position.expired-unread",
            check="position",
            # Its commits alone say where it was: it may have copied them.
            records=0,
            records_at_most=5,
        )
        lab.mirror.start()
        # Until another record comes, it commits nothing.
        produce(lab, "expires", numbered("after", 0, 3))
        copied(lab, "expires", ["after 2"])
        assert not {"unread 0", "unread 19"} & set(
            values(lab, "target", "expires")
        )
        # What it passed beyond those that expired, only an audit finds.
        watch.wait_for_only("position")


def test_one_that_is_frozen_and_one_that_is_stopped(
    lab: Lab, tmp_path: Path
) -> None:
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="lag")
        lab.mirror.freeze()
        watch.wait_for(Health.CRITICAL, check="lag")
        lab.mirror.thaw()
        watch.wait_for(Health.OK, check="lag")


def test_new_topics_and_one_whose_head_is_left_out(
    lab: Lab, tmp_path: Path
) -> None:
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="lag")
        for site in (lab.target, lab.source):
            site.topics.create("whole", 1, {})
        produce(lab, "whole", numbered("whole", 0, 10))
        copied(lab, "whole", ["whole 9"])
        # By default it begins at the start; it may be told otherwise. Its
        # first tasks after a start are those that it finds stored.
        latest = {"consumer.auto.offset.reset": "latest"}
        lab.mirror.stop()
        lab.mirror.start(latest)
        lab.mirror.stop()
        for site in (lab.target, lab.source):
            site.topics.create("head", 1, {})
        produce(lab, "head", numbered("head", 0, 10))
        watch.wait_for(
            Health.CRITICAL, "lag.never-copied", check="lag", topic="head"
        )
        lab.mirror.start(latest)

        def goes_on() -> bool:
            produce(lab, "head", ["next"])
            return values(lab, "target", "head") != []

        wait_until(goes_on)
        produce(lab, "head", ["last"])
        copied(lab, "head", ["last"])
        watch.wait_for(Health.OK, check="lag")
        lab.mirror.stop()
        lab.mirror.start()


def test_a_record_that_is_too_large(lab: Lab, tmp_path: Path) -> None:
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="position")
        produce(lab, "x", ["before", "x" * LARGE, "after"])
        watch.wait_for(
            Health.CRITICAL, "tasks.failed", "oversized", check="tasks"
        )
        watch.wait_for_only("tasks", "lag")
        # It copies the ones before it again, each time that it is restarted.
        lab.mirror.stop()
        lab.mirror.start(SENDS)
        copied(lab, "x", ["after"])
        watch.wait_for(Health.OK, check="lag")
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["lost"] == 0


def test_one_that_the_target_refuses(lab: Lab, tmp_path: Path) -> None:
    lab.mirror.stop()
    lab.mirror.start(SENDS)
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="lag")
        lab.target.topics.set_configs("x", {"max.message.bytes": "100000"})
        refused = "r" * LARGE
        produce(lab, "x", ["before it"])
        copied(lab, "x", ["before it"])
        # Alone: a batch that holds another record, too, it sends for ever.
        produce(lab, "x", [refused])
        watch.wait_for(
            Health.CRITICAL, "tasks.failed", "RecordTooLarge", check="tasks"
        )
        watch.wait_for(Health.CRITICAL, check="lag")
        assert "position" not in watch.unhealthy()
        lab.target.topics.unset_configs("x", ["max.message.bytes"])
        # It starts failed tasks again by itself.
        copied(lab, "x", [refused])
        carry(lab, "x", ["behind it"])
        watch.wait_for(Health.OK, check="lag")
        assert watch.counts["lost"] == 0


def test_a_batch_that_it_sends_for_ever(lab: Lab, tmp_path: Path) -> None:
    lab.mirror.stop()
    lab.mirror.start(BATCHES)
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="lag")
        watch.wait_for_count("delivered", 10)
        lab.target.topics.set_configs("x", {"max.message.bytes": "100000"})
        batch = ["b", "b" * LARGE, "bb"]
        produce(lab, "x", batch)
        # The task runs, by its status, and copies nothing.
        watch.wait_for(Health.CRITICAL, "lag.stalled", check="lag", topic="x")
        watch.let_pass(30)
        assert "position" not in watch.unhealthy()
        assert not set(batch) & set(values(lab, "target", "x"))
        lab.mirror.kill()
        lab.target.topics.unset_configs("x", ["max.message.bytes"])
        lab.mirror.start(SENDS)
        copied(lab, "x", batch)
        watch.wait_for(Health.OK, check="lag")
        assert watch.counts["lost"] == 0
