"""A mirror that says that it runs, and copies nothing of a topic."""

from datetime import timedelta

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.lag.model import LagStatus
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab, LabSettings
from tests.support.lab import produce
from tests.support.oversized import (
    UNSYNCED,
    lower_limit,
    produce_among_others,
)
from tests.support.reports import lag_of, wait_until_copied
from tests.support.skips import is_told
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

TOPIC = "efd.plain"

FLUSH = timedelta(minutes=1)

# Kafka 3.9's producer splits a batch that is too large into itself, again and
# again (KAFKA-8350): the task waits for it. Newer ones split it in halves, and
# the task fails of the single record in the end.
SETTINGS = LabSettings(
    kafka="3.9.2",
    topics={**LabSettings().topics, TOPIC: 2},
    mirror_properties=UNSYNCED,
)


# In each run the simulation has it: `test_a_mirror_without_syncs_…`.
@pytest.mark.long
def test_a_mirror_that_runs_and_copies_nothing_is_critical_by_position() -> (
    None
):
    with Lab(SETTINGS) as lab, Watch(lab) as watch:
        watch.wait_for(Health.OK)
        produce(lab, TOPIC, ["first"])
        wait_until_copied(watch, TOPIC)
        lower_limit(lab, TOPIC)
        before = utc_now()
        too_large = produce_among_others(lab, TOPIC)
        end = lab.source.topics.ends(TOPIC)[0][1]

        # Two flush intervals, and what the machine does beside.
        def is_stuck(**facts: int) -> bool:
            return any(
                is_told(
                    watch,
                    Health.CRITICAL,
                    code,
                    topic=TOPIC,
                    partition=0,
                    **facts,
                )
                for code in ("lag.stalled", "lag.stopped")
            )

        wait_until(is_stuck, what=lambda: watch.verdict("lag"))
        copied = lab.target.topics.ends(TOPIC)[0][1]
        wait_until(
            lambda: is_stuck(position=copied),
            what=lambda: watch.verdict("lag"),
        )
        verdict = watch.verdict("lag")
        assert verdict is not None
        lag = lag_of(watch, TOPIC)
        print(verdict)
        assert lag is not None
        # As long as the producer lives, it takes other topics along.
        assert lag.status in {LagStatus.STALLED, LagStatus.STOPPED}
        assert (lag.partition, lag.position) == (0, copied)
        assert copied <= too_large
        assert lag.records == end - copied
        assert verdict.since - before > 2 * FLUSH
        assert verdict.findings[0].subject["topic"] == TOPIC
        # It copies nothing more, and says that it runs.
        watch.let_pass(10)
        assert lab.target.topics.ends(TOPIC)[0][1] == copied
        assert states(watch) == {"RUNNING"}
        watch.wait_for(Health.OK, check="tasks")


def states(watch: Watch) -> set[str]:
    """Return the states of all that copies, in Connect's words."""
    tasks = watch.tasks.tasks if watch.tasks else ()
    return {task.state for task in tasks if task.role == "source"}
