"""Logs that lose their end on real brokers, as by an unclean election."""

from collections.abc import Iterator

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import cut_log
from tests.support.lab import copied, produce
from tests.support.skips import is_told, settled, truth
from tests.support.watch import PATIENT, Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

ROUNDS, EACH = 6, 20
"""Batches of a log, and records in each: whole batches are lost."""

TOPICS = "quiet", "both", "kept"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {CANARY_TOPIC: 1, **dict.fromkeys(TOPICS, 1)}
    with Lab(LabSettings(topics=topics, intervals="fast")) as lab:
        for number in range(ROUNDS):
            for topic in TOPICS:
                values = [f"{number} {n}" for n in range(EACH)]
                produce(lab, topic, values)
                copied(lab, topic, values[-1:])
        yield lab


def test_what_the_target_lost_is_told_and_nothing_else(lab: Lab) -> None:
    whole = ROUNDS * EACH
    with Watch(lab) as watch:
        settled(watch)
        lab.mirror.stop()
        cut_log(lab.source, "both", whole - EACH)
        cut_log(lab.target, "quiet", 2 * EACH)
        cut_log(lab.target, "both", 3 * EACH)
        lost, _ = truth(lab, "quiet")
        assert EACH <= lost <= whole - 2 * EACH
        assert truth(lab, "both")[0] >= EACH
        wait_until(
            lambda: is_told(
                watch,
                Health.CRITICAL,
                "skips.truncated",
                topic="quiet",
                partition=0,
                records=lost,
            ),
            within=PATIENT,
            what=lambda: watch.verdict("skips"),
        )
        # The mirror's position is behind the end of one of them: it reads
        # that from its start, and copies again what was lost.
        lab.mirror.start()
        for topic in TOPICS:
            produce(lab, topic, ["more"])
            copied(lab, topic, ["more"])
        repeated = truth(lab, "both")[1]
        assert repeated >= 2 * EACH
        wait_until(
            lambda: (
                is_told(
                    watch,
                    Health.CRITICAL,
                    "skips.truncated",
                    topic="quiet",
                    records=lost,
                )
                and is_told(
                    watch,
                    Health.CRITICAL,
                    "skips.duplicated",
                    topic="both",
                    records=repeated,
                )
            ),
            within=PATIENT,
            what=lambda: watch.verdict("skips"),
        )
        verdict = watch.verdict("skips")
        assert verdict is not None
        assert "kept" not in str(verdict)
        assert [truth(lab, topic)[0] for topic in TOPICS] == [lost, 0, 0]
