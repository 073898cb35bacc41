"""MirrorMaker 1, real, read by its consumer group at the source.

It copies clean traffic, is killed, drops a record that is too large, and is
stopped until records expire unread; the agent is started again after each.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from mirrorwatch.config import Config
from mirrorwatch.doctor import examine
from mirrorwatch.domain.doctor import FindingSeverity
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.lab import copied, produce
from tests.support.watch import Watch, describe, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

LARGE = 200_000
"""Bytes of a record that the mirror's producer refuses."""


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
        "skips": {"warning_window": "5s"},
        "latency": {"warning": "5m", "critical": "10m"},
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
        watch.wait_for(Health.OK, "on 2 topics", check="skips")
        watch.wait_for_only()
        watch.wait_for(Health.OK, "stable with 2 members", check="tasks")
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
        watch.wait_for(Health.CRITICAL, "does not run", check="tasks")
        wait_until(
            lambda: watch.evidence("lag").get("topics_behind") == 2,
            what=lambda: watch.verdict("lag"),
        )
    # Nobody watches while they expire, nor when the mirror comes back.
    lab.delete_records("expires", {0: 150 + 12})
    lab.mirror.start()
    copied(lab, "expires", ["unread 29"])
    with watching(lab, state) as watch:
        doubt = "12 records of expires cannot be verified"
        watch.wait_for(Health.WARNING, doubt, check="skips")
        watch.wait_for_only("skips")
        # Too large for the mirror's producer, which drops it and goes on.
        produce(lab, "x", ["last", "x" * LARGE, "after"])
        copied(lab, "x", ["after"])
        lost = "At least 1 record of x is missing"
        watch.wait_for(Health.CRITICAL, lost, check="skips")
        watch.wait_for_only("skips")


def test_doctor_names_the_group_of_another_mirror(lab: Lab) -> None:
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

    group = flow["mirror"]["group"]
    assert said() == []
    flow["mirror"]["group"] = "no-such-group"
    for topic in ("x", "expires"):
        produce(lab, topic, ["once more"])
    # It commits after a while.
    there = f"Set mirror.group; there is {group} (positions in "
    wait_until(lambda: there in said()[0], what=said)
    (one,) = said()
    assert one.startswith("mirror: group no-such-group at summit has no")
    flow["mirror"] = {"kind": "mirrormaker2"}
    (one,) = said()
    assert one.startswith("mirror: MirrorMaker 2 has left no trace at summit")
    assert f"there is group {group} (positions in " in one
    assert "set mirror.kind and mirror.group" in one
