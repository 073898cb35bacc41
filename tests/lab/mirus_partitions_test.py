"""Mirus that keeps partitions, real: its newest copies show what it drops
while records are written.

It copies clean traffic, is killed, drops records, skips what expired, and is
started without keeping partitions, though mirrorwatch expects it to.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import (
    copied,
    mirus_lab,
    numbered,
    produce,
    write_to_both,
    written_to,
)
from tests.support.skips import books_of
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = ((CANARY_TOPIC, 3), ("x", 2), ("expires", 1))
MATCHING = "enable.partition.matching"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with mirus_lab(TOPICS, {MATCHING: "true"}) as lab:
        yield lab


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        "canary": {"warning_window": "5s"},
        "position": {"lost_window": "5s", "rewind_window": "5s"},
        "skips": {"lost_window": "5s", "warning_window": "5s"},
        "latency": {"warning": "5m", "critical": "10m"},
    }
    mirror = {**lab.mirror.agent_config, "keeps_partitions": True}
    return Watch(
        lab,
        state=state,
        canary={"deadline": "60s"},
        flow={"limits": limits, "mirror": mirror},
    )


def test_what_is_dropped_while_the_topic_moves(
    lab: Lab, tmp_path: Path
) -> None:
    with watching(lab, tmp_path / "state.db") as watch:
        produce(lab, "x", numbered("first", 0, 150))
        copied(lab, "x", ["first 149"])
        with written_to(lab, "x", 1):
            write_to_both(lab, "x")
            watch.wait_for(Health.OK, check="skips")
            # Killed, it copies some records again: none is lost.
            lab.mirror.kill()
            produce(lab, "x", numbered("more", 0, 20))
            lab.mirror.start(drop_marked())
            copied(lab, "x", ["more 19"])
            watch.wait_for_only()
            assert books_of(watch, "x")[0] == 0
            for partition, count in ((0, 7), (1, 12)):
                produce(lab, "x", numbered("a", 0, 10), partition=partition)
                produce(
                    lab,
                    "x",
                    numbered("gone", 0, count),
                    partition=partition,
                    headers={MARK: b"1"},
                )
                produce(lab, "x", numbered("b", 0, 200), partition=partition)
            watch.wait_for(Health.CRITICAL, check="skips")
            wait_until(
                lambda: books_of(watch, "x")[0] == 19,
                what=lambda: (books_of(watch, "x"), watch.verdict("skips")),
            )
            watch.let_pass(5)
            assert books_of(watch, "x")[0] == 19
        watch.wait_for_only()
        assert watch.counts["lost"] == 0
        lab.mirror.stop()
        lab.mirror.start()


def test_what_is_skipped_to_the_log_end_is_counted_at_once(
    lab: Lab, tmp_path: Path
) -> None:
    produce(lab, "expires", numbered("seen", 0, 150))
    copied(lab, "expires", ["seen 149"])
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK, check="position")
        lab.mirror.stop()
        produce(lab, "expires", numbered("unread", 0, 20))
        wait_until(
            lambda: watch.evidence("lag").get("topics_behind") == 2,
            what=lambda: watch.verdict("lag"),
        )
        lab.delete_records("expires", {0: 150 + 5})
        gone = "5 records expired", "resumes at the log end"
        watch.wait_for(Health.CRITICAL, *gone, check="position")
        lab.mirror.start()
        with written_to(lab, "expires", 0):
            skipped = "20 records expired", "expires[0] offsets [150, 170)"
            watch.wait_for(Health.CRITICAL, *skipped, check="position")
        watch.wait_for_only()


def test_partitions_that_are_not_kept_are_unknown_with_the_remedy(
    lab: Lab, tmp_path: Path
) -> None:
    lab.mirror.stop()
    lab.mirror.start({MATCHING: "false"})
    remedy = "Set mirror.keeps_partitions to false"
    with watching(lab, tmp_path / "state.db") as watch:
        watch.wait_for(Health.UNKNOWN, remedy, check="position")
        scattered = "does not keep the partitions"
        watch.wait_for(Health.UNKNOWN, scattered, check="skips")
        # Longer than it takes until a commit without copies is believed.
        watch.let_pass(60)
        for check in ("canary", "position", "skips"):
            verdict = watch.verdict(check)
            assert verdict is not None
            assert verdict.health is Health.UNKNOWN, verdict
        assert books_of(watch, "x") == (0, 0)
        assert watch.counts["lost"] == 0
    lab.mirror.stop()
    lab.mirror.start()
