"""Versions of MirrorMaker 2 from 2.8 on, between today's brokers.

Each version is watched on clean traffic, drops records, is killed, is stopped
until records expire unread, and the agent is started again after each.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from mirrorwatch_lab.process import KAFKA_VERSIONS, MIRROR_VERSIONS
from tests.support.lab import copied, produce
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module", params=[*KAFKA_VERSIONS, *MIRROR_VERSIONS])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    settings = LabSettings(
        mirror_kafka=request.param,
        naming="default",
        intervals="fast",
        topics={CANARY_TOPIC: 2, "x": 1, "expires": 1},
        start_mirror=False,
    )
    with Lab(settings) as lab:
        lab.mirror.start(drop_marked())
        yield lab


def numbered(name: str, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(end)]


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        # What is copied again is reported, too: not what is asked for here.
        "canary": {"warning_window": "5s"},
        "skips": {"warning_window": "5s"},
        "position": {"rewind_window": "5s"},
        "latency": {"warning": "5m", "critical": "10m"},
    }
    return Watch(
        lab, state=state, canary={"deadline": "60s"}, flow={"limits": limits}
    )


def test_position_skips_and_restarts(lab: Lab, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    for topic in ("x", "expires"):
        produce(lab, topic, numbered(topic, 150))
        copied(lab, topic, [f"{topic} 149"])
    with watching(lab, state) as watch:
        watch.wait_for_count("delivered", 40)
        watch.wait_for_only()
        # Killed, it copies some records again: none is lost.
        lab.mirror.kill()
        produce(lab, "x", numbered("more", 20))
        lab.mirror.start(drop_marked())
        copied(lab, "x", ["more 19"])
        watch.wait_for_count("delivered", watch.counts["delivered"] + 40)
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["lost"] == 0
        watch.wait_for_only()
    with watching(lab, state) as watch:
        produce(lab, "x", numbered("lost", 7), headers={MARK: b""})
        produce(lab, "x", ["last"])
        copied(lab, "x", ["last"])
        watch.wait_for(
            Health.CRITICAL, "skips.dropped", check="skips", records=7
        )
        watch.wait_for_only("skips")
    lab.mirror.stop()
    produce(lab, "expires", numbered("unread", 30))
    with watching(lab, state) as watch:
        watch.wait_for(
            Health.CRITICAL, "skips.dropped", check="skips", records=7
        )
        wait_until(
            lambda: "expires" in str(watch.verdict("lag")),
            what=lambda: watch.verdict("lag"),
        )
    # Nobody watches while they expire, nor when the mirror comes back.
    lab.delete_records("expires", {0: 150 + 12})
    lab.mirror.start(drop_marked())
    copied(lab, "expires", ["unread 29"])
    with watching(lab, state) as watch:
        watch.wait_for(
            Health.CRITICAL,
            "position.expired-unread",
            check="position",
            records=12,
        )
        watch.wait_for(
            Health.CRITICAL, "skips.dropped", check="skips", records=7
        )
        watch.wait_for_only("skips", "position")
