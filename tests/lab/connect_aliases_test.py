"""A real site's setting, from its first hour to a loss.

MirrorMaker 2 runs on a Connect cluster that it shares, without a source alias
and without a separator, so that topics keep their names under the default
policy; and its allow-list does not name the canary's topic.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import copied, produce
from tests.support.watch import Watch

pytestmark = [pytest.mark.lab, pytest.mark.long]

ALLOWED = r"lsst\..*, x"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        kafka="3.9.2",
        mirror="connect",
        naming="default",
        aliases=("", "target"),
        separator="",
        intervals="fast",
        topics={CANARY_TOPIC: 1, "x": 1, "lsst.sal.y": 2, "private": 1},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        yield lab


def numbered(name: str, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(end)]


def test_from_the_first_hour_to_a_loss(lab: Lab, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    lab.mirror.start({"topics": ALLOWED})
    for topic in ("x", "lsst.sal.y", "private"):
        produce(lab, topic, numbered(topic, 20))
    copied(lab, "x", ["x 19"])
    with Watch(lab, state=state, canary={"deadline": "20s"}) as watch:
        # What the mirror's list leaves out is neither late nor lost.
        watch.wait_for(Health.UNKNOWN, "mirrorwatch.canary", "topics")
        watch.wait_for_only("canary", "latency")
        said = [v and v.reason for v in map(watch.verdict, ("lag", "skips"))]
        assert "private" not in str(said)
        topics = watch.verdict("topics")
        assert topics is not None
        assert "private" in str(topics.evidence["not_wanted_topics"])
        assert "mm2-offset-syncstargetinternal" in lab.source.topics.names()
    lab.mirror.stop()
    allowed = {"topics": f"{ALLOWED}, {CANARY_TOPIC}"}
    lab.mirror.start(allowed | drop_marked())
    with Watch(lab, state=state, canary={"deadline": "60s"}) as watch:
        watch.wait_for(Health.OK)
        watch.wait_for_count("delivered", 20)
        watch.wait_for_only()
        # Proofs need the mirror's own topics.
        assert "does not exist" not in str(watch.verdict())
        produce(lab, "x", numbered("lost", 7), headers={MARK: b""})
        produce(lab, "x", ["last"])
        copied(lab, "x", ["last"])
        watch.wait_for(
            Health.CRITICAL, "skips.dropped", check="skips", records=7
        )
        watch.wait_for_only("skips")
    # What was proved stays told after a restart.
    with Watch(lab, state=state, canary={"deadline": "60s"}) as watch:
        watch.wait_for(
            Health.CRITICAL, "skips.dropped", check="skips", records=7
        )
        watch.wait_for_only("skips")
