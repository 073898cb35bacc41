"""A mirror that keeps offsets, by a stand-in: ends are positions.

It copies clean traffic, and is stopped until records expire unread.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.copier import lab_for_copier
from tests.support.lab import copied, numbered, produce
from tests.support.offset_copier import OffsetCopier
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = ((CANARY_TOPIC, 3), ("x", 2), ("expires", 1))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_for_copier(TOPICS) as lab:
        yield lab


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        "losses": {"critical": "5s"},
        "position": {"rewind_window": "5s"},
        "latency": {"warning": "5m", "critical": "10m"},
    }
    mirror = {"kind": "linked"}
    return Watch(
        lab,
        state=state,
        canary={"deadline": "60s"},
        flow={"limits": limits, "mirror": mirror},
    )


def test_what_ends_tell(lab: Lab, tmp_path: Path) -> None:
    copier = OffsetCopier(lab, TOPICS)
    produce(lab, "x", numbered("x", 0, 150))
    produce(lab, "expires", numbered("expires", 0, 150))
    # Its log begins later, and so does the copy.
    lab.delete_records("expires", {0: 20})
    with copier, watching(lab, tmp_path / "state.db") as watch:
        copied(lab, "x", ["x 149"])
        copied(lab, "expires", ["expires 149"])
        watch.wait_for_count("delivered", 40)
        watch.wait_for(Health.OK, check="lag")
        watch.wait_for(Health.OFF, "skips.off", check="skips")
        watch.wait_for_only()
        copier.stop()
        produce(lab, "expires", numbered("unread", 0, 30))
        produce(lab, "x", numbered("late", 0, 7))
        wait_until(
            lambda: lag(watch) == {"x": 7, "expires": 30},
            what=lambda: (lag(watch), watch.verdict("lag")),
        )
        # Twelve of them are gone before it goes on.
        lab.delete_records("expires", {0: 162})
        watch.wait_for(
            Health.CRITICAL,
            "position.expired-unread",
            check="position",
            topic="expires",
            records=12,
        )
        copier.start()
        copied(lab, "expires", ["unread 29"])
        watch.wait_for(Health.OK, check="position")
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["lost"] == 0
        watch.wait_for_only()


def lag(watch: Watch) -> dict[str, int]:
    """Return the lag in records of the topics that are not the canary's."""
    report = watch.agent.latest.get()
    found = {}
    for seen in report.observations if report else ():
        for topic in getattr(seen, "topics", ()):
            records = getattr(topic, "records", None)
            if records is not None and topic.topic in {"x", "expires"}:
                found[topic.topic] = records
    return found
