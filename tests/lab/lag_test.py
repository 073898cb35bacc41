"""Lag, told by positions and held to the truth of a plain writer."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.lag.model import LagObservation, LagStatus, TopicLag
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab, LabSettings
from tests.support.lab import produce
from tests.support.reports import lag_in, lag_of, lags_of, wait_until_copied
from tests.support.resets import await_health, numbers
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

PLAIN = "efd.plain"

TOPICS = {PLAIN: 2, "efd.idle": 1}

FLUSH = timedelta(minutes=1)

BACKLOG, BYTES_EACH = 3210, 2000

LINK_BYTES_PER_SECOND = 220_000
"""The backlog takes half a minute over such a link."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two sites and a mirror at MirrorMaker 2's own intervals."""
    topics = LabSettings().topics
    with Lab(LabSettings(topics={**topics, **TOPICS})) as lab:
        yield lab


@pytest.fixture(scope="module")
def watch(lab: Lab) -> Iterator[Watch]:
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        yield watch


def seen(watch: Watch) -> tuple[LagObservation, TopicLag]:
    """Return what the agent says of all topics, and of the plain one."""
    found = lags_of(watch)
    lag = lag_in(found, PLAIN)
    assert found is not None
    assert lag is not None
    return found, lag


def written_at(lab: Lab, offset: int) -> datetime:
    """Return when a plain reader says that a record was written."""
    (time_ms,) = (
        record.timestamp()[1]
        for record in lab.read("source", PLAIN)
        if (record.partition(), record.offset()) == (0, offset)
    )
    return datetime.fromtimestamp(time_ms / 1000, UTC)


@pytest.mark.long
def test_a_frozen_mirror_lags_by_what_was_written_since(
    lab: Lab, watch: Watch
) -> None:
    produce(lab, PLAIN, numbers(0, 10))
    wait_until_copied(watch, PLAIN)
    await_health(watch, Health.OK, "lag")
    lab.mirror.freeze()
    frozen = utc_now()
    before = seen(watch)[0].at
    produce(lab, PLAIN, ["x" * BYTES_EACH] * BACKLOG)
    wait_until(
        lambda: seen(watch)[1].records == BACKLOG,
        what=lambda: seen(watch),
    )
    tick = seen(watch)[0].at - before
    oldest = written_at(lab, 10)

    def age_is_true() -> None:
        found, lag = seen(watch)
        truth = (found.at - oldest).total_seconds()
        print(f"lag {lag.seconds:.3f} s, truth {truth:.3f} s, tick {tick}")
        assert lag.records == BACKLOG
        assert abs(lag.seconds - truth) <= tick.total_seconds()

    age_is_true()
    idle = lag_of(watch, "efd.idle")
    assert idle is not None
    assert (idle.records, idle.seconds) == (0, 0)

    # Nothing but the time may pass: the flush interval.
    verdict = watch.wait_for(Health.CRITICAL, "lag.stopped", check="lag")
    assert verdict.since - frozen > FLUSH
    age_is_true()
    assert seen(watch)[1].status is LagStatus.STOPPED
    assert seen(watch)[1].drain is None

    lab.link_mirror.shape(bytes_per_second=LINK_BYTES_PER_SECOND)
    lab.mirror.thaw()
    it_is_said_how_long_the_rest_takes(watch)
    lab.link_mirror.shape()
    await_health(watch, Health.OK, "lag")


def it_is_said_how_long_the_rest_takes(watch: Watch) -> None:
    """Hold the estimates to the time that it took."""
    said: dict[datetime, timedelta] = {}

    def is_drained() -> bool:
        found, lag = seen(watch)
        if lag.drain is not None:
            said[found.at] = lag.drain
        return lag.records == 0

    wait_until(is_drained, what=lambda: seen(watch))
    end = seen(watch)[0].at
    wrong = 0
    for at, estimate in said.items():
        left, right = estimate.total_seconds(), (end - at).total_seconds()
        print(f"{left:.1f} s left by estimate, {right:.1f} s in truth")
        # A mirror copies a megabyte at once, and then waits for the next.
        wrong += right / 4 > left + 10 or left > 4 * right + 10
    # An estimate does not know of what a busy machine holds up later.
    assert wrong <= len(said) / 4
    assert len(said) >= 3
