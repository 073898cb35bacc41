"""MirrorMaker 1, real, read by its consumer group at the source.

It copies clean traffic, is killed, and is stopped until records expire unread;
the agent is started again after each. Records that are too large meet it in
its three ways: it drops them, ends, or sends their batch for ever.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from mirrorwatch.config import Config
from mirrorwatch.doctor import examine
from mirrorwatch.domain.doctor import FindingSeverity
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.lab import copied, produce, values
from tests.support.watch import Watch, describe, lag_of, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

LARGE = 200_000
"""Bytes of a record that the mirror's producer refuses."""

SENDS = {"producer.max.request.size": "1000000"}

BATCHES = SENDS | {
    "producer.batch.size": "250000",
    "producer.linger.ms": "200",
    # As by default.
    "offset.commit.interval.ms": "60000",
}
"""Lets it send such a record in a batch with others."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        mirror="mirrormaker1",
        mirror_kafka="3.9.2",
        topics={CANARY_TOPIC: 3, "x": 2, "expires": 1},
        mirror_properties={"producer.max.request.size": "100000"},
        auto_create=True,
        source_properties={"num.partitions": "2"},
        target_properties={"num.partitions": "2"},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        for topic, partitions in (("x", 2), ("expires", 1)):
            lab.target.topics.create(topic, partitions, {})
        lab.target.topics.create(CANARY_TOPIC, 3, {})
        lab.mirror.start()
        yield lab


def numbered(name: str, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(end)]


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        "canary": {"warning_window": "5s"},
        "position": {"rewind_window": "5s"},
        "latency": {"warning": "30m", "critical": "1h"},
    }
    return Watch(
        lab, state=state, canary={"deadline": "60s"}, flow={"limits": limits}
    )


def test_what_its_group_tells(lab: Lab, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    for topic in ("x", "expires"):
        produce(lab, topic, numbered(topic, 150))
        copied(lab, topic, [f"{topic} 149"])
    with watching(lab, state) as watch:
        watch.wait_for_count("delivered", 40)
        watch.wait_for(Health.OK, check="position")
        watch.wait_for(Health.OFF, check="skips")
        watch.wait_for_only()
        watch.wait_for(Health.OK, "tasks.ok", check="tasks")
        # Killed, it copies some records again: none is lost.
        lab.mirror.kill()
        produce(lab, "x", numbered("more", 20))
        lab.mirror.start()
        copied(lab, "x", ["more 19"])
        watch.wait_for_count("delivered", watch.counts["delivered"] + 40)
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["lost"] == 0
        watch.wait_for_only()
        lab.mirror.stop()
        produce(lab, "expires", numbered("unread", 30))
        watch.wait_for(Health.CRITICAL, "tasks.no-members", check="tasks")
        wait_until(
            lambda: watch.evidence("lag").get("topics_behind") == 2,
            what=lambda: watch.verdict("lag"),
        )
    # Nobody watches while they expire, nor when the mirror comes back.
    lab.delete_records("expires", {0: 150 + 12})
    lab.mirror.start()
    copied(lab, "expires", ["unread 29"])
    with watching(lab, state) as watch:
        watch.wait_for(
            Health.WARNING,
            "position.unverifiable",
            check="position",
            records_at_most=12,
        )
        watch.wait_for_only("position")


def test_one_that_the_target_refuses_is_dropped(
    lab: Lab, tmp_path: Path
) -> None:
    """Larger than the producer's batches, it is sent alone. The mirror commits
    past it, so that only an audit finds it.
    """
    lab.mirror.stop()
    lab.mirror.start(SENDS)
    lab.target.topics.set_configs("x", {"max.message.bytes": "100000"})
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="position")
        produce(lab, "x", ["r"])
        copied(lab, "x", ["r"])
        # Alone: a batch that holds another record, too, it sends for ever.
        produce(lab, "x", ["r" * LARGE])
        wait_until(lambda: lag_of(watch, "x") == 1)
        wait_until(lambda: lag_of(watch, "x") == 0)
        produce(lab, "x", ["s"])
        copied(lab, "x", ["s"])
        # The smaller limit at the target is reported, sooner or later.
        wait_until(
            lambda: watch.unhealthy().keys() <= {"configs"},
            what=watch.unhealthy,
        )
        assert max(map(len, values(lab, "target", "x"))) < LARGE
    lab.target.topics.unset_configs("x", ["max.message.bytes"])


def test_one_that_it_ends_at_is_not_lost(lab: Lab, tmp_path: Path) -> None:
    """As it does unless configured otherwise."""
    lab.mirror.stop()
    ends = {"abort.on.send.failure": "true"}
    lab.mirror.start(ends)
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="position")
        watch.wait_for_only()
        large = "u" * LARGE
        produce(lab, "x", ["u", large, "v"])
        wait_until(lambda: not lab.mirror.running)
        watch.wait_for(Health.CRITICAL, "tasks.no-members", check="tasks")
        # Started again, it ends again.
        lab.mirror.start(ends)
        wait_until(lambda: not lab.mirror.running)
        watch.wait_for(Health.CRITICAL, check="lag")
        watch.wait_for(Health.CRITICAL, "tasks.no-members", check="tasks")
        assert "position" not in watch.unhealthy()
        assert watch.counts["lost"] == 0
        lab.mirror.start(ends | SENDS)
        copied(lab, "x", ["u", large, "v"])
        watch.wait_for_only()
        assert watch.counts["lost"] == 0


def test_a_batch_that_it_sends_for_ever_is_not_lost(
    lab: Lab, tmp_path: Path
) -> None:
    """It copies on until its next commit, which never ends. All that it copied
    meanwhile is copied again.
    """
    lab.mirror.stop()
    lab.mirror.start(BATCHES)
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="position")
        watch.wait_for_only()
        lab.target.topics.set_configs("x", {"max.message.bytes": "100000"})
        # Just after a commit: it copies until the next one.
        produce(lab, "expires", ["committed"])
        wait_until(lambda: lag_of(watch, "expires") == 1)
        wait_until(lambda: lag_of(watch, "expires") == 0)
        batch = ["w", "w" * LARGE, "ww"]
        produce(lab, "x", batch)
        again = numbered("copied again", 150)
        produce(lab, "expires", again)
        copied(lab, "expires", again)
        watch.wait_for(Health.CRITICAL, "tasks.uncommitted", check="tasks")
        watch.wait_for(Health.CRITICAL, "lag.stopped", check="lag")
        assert "position" not in watch.unhealthy()
        assert not set(batch) & set(values(lab, "target", "x"))
        # Its consumers are taken for dead, and leave their group.
        watch.wait_for(Health.CRITICAL, "tasks.no-members", check="tasks")
        lab.mirror.kill()
        lab.target.topics.unset_configs("x", ["max.message.bytes"])
        lab.mirror.start(SENDS)
        copied(lab, "x", batch)
        wait_until(
            lambda: watch.unhealthy().keys() <= {"configs"},
            what=watch.unhealthy,
        )
        assert watch.counts["lost"] == 0
        found = Counter(values(lab, "target", "expires"))
        assert {found[each] for each in again} == {2}
        found = Counter(values(lab, "target", "x"))
        assert {found[each] for each in batch} == {1}


def test_doctor_names_a_group_that_is_not_there(lab: Lab) -> None:
    data = describe(lab)
    (flow,) = data["flows"]

    def said() -> list[str]:
        found = examine(
            Config.from_mapping(data),
            logger=structlog.get_logger("mirrorwatch"),
        )
        return [
            f"{f.check}: {f.cause}. {f.remedy}"
            for f in found.findings
            if f.severity is FindingSeverity.ERROR
        ]

    assert said() == []
    flow["mirror"]["group"] = "no-such-group"
    (one,) = said()
    assert one.startswith("mirror: group no-such-group at summit has no")
