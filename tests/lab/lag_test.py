"""Lag, told by positions and held to the truth of a plain writer."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.lag import LagObservation, LagStatus, TopicLag
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import Lab, LabSettings
from tests.support.oversized import (
    UNSYNCED,
    lower_limit,
    produce_among_others,
)
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

TOPICS = {"efd.plain": 2, "efd.idle": 1, "efd.transactions": 1}
TOPICS |= {"efd.short": 1}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two sites and a mirror at MirrorMaker 2's own intervals."""
    topics = LabSettings().topics
    with Lab(LabSettings(topics={**topics, **TOPICS})) as lab:
        yield lab


@pytest.fixture(scope="module")
def watch(lab: Lab) -> Iterator[Watch]:
    # As often as the source's retention is changed here.
    limits = {"configs": {"every": "5s"}}
    with Watch(lab, flow={"limits": limits}) as watch:
        watch.wait_for(Health.OK, within=120)
        yield watch


def write(lab: Lab, topic: str, count: int, **config: Any) -> None:
    producer = Producer({**lab.source.client_properties(), **config})
    if "transactional.id" in config:
        producer.init_transactions(30)
        producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, f"{n}".encode(), partition=0)
    if "transactional.id" in config:
        producer.commit_transaction(30)
    assert producer.flush(30) == 0


def seen_by(watch: Watch) -> LagObservation | None:
    report = watch.agent.board.report
    for seen in report.observations if report else ():
        if isinstance(seen, LagObservation):
            return seen
    return None


def lag_of(watch: Watch, topic: str) -> TopicLag | None:
    seen = seen_by(watch)
    topics = seen.topics if seen else ()
    return next((t for t in topics if t.topic == topic), None)


def wait_until_copied(watch: Watch, topic: str) -> None:
    called = utc_now()

    def is_copied() -> bool:
        seen, lag = seen_by(watch), lag_of(watch, topic)
        later = seen is not None and seen.at > called
        return later and lag is not None and lag.records == 0

    wait_until(is_copied, within=120, what=lambda: lag_of(watch, topic))


def health(watch: Watch, check: str) -> Health | None:
    verdict = watch.verdict(check)
    return None if verdict is None else verdict.health


def test_a_frozen_mirror_lags_by_what_was_written_since(
    lab: Lab, watch: Watch
) -> None:
    write(lab, "efd.plain", 10)
    wait_until_copied(watch, "efd.plain")
    wait_until(
        lambda: health(watch, "lag") is Health.OK,
        within=60,
        what=lambda: watch.verdict("lag"),
    )
    lab.mirror.freeze()
    frozen = utc_now()
    try:
        write(lab, "efd.plain", 321)
        written = utc_now()
        wait_until(
            lambda: (lag_of(watch, "efd.plain") or _none()).records == 321,
            within=30,
            what=lambda: lag_of(watch, "efd.plain"),
        )
        idle = lag_of(watch, "efd.idle")
        assert idle is not None
        assert (idle.records, idle.seconds) == (0, 0)
        # Twice the flush interval, 60 s, and then it is critical.
        wait_until(
            lambda: health(watch, "lag") is Health.CRITICAL,
            within=180,
            what=lambda: watch.verdict("lag"),
        )
        assert utc_now() - frozen > timedelta(seconds=119)
        verdict = watch.verdict("lag")
        assert verdict is not None
        assert "Nothing of summit->ldf is copied" in verdict.reason
        lag = lag_of(watch, "efd.plain")
        report = watch.agent.board.report
        assert lag is not None
        assert report is not None
        assert lag.records == 321
        assert lag.status is LagStatus.STOPPED
        truth = (report.at - written).total_seconds()
        # A tick of the survey, and one of the report.
        assert truth - 3 < lag.seconds < truth + 3
    finally:
        lab.mirror.thaw()
    wait_until_copied(watch, "efd.plain")
    wait_until(
        lambda: health(watch, "lag") is Health.OK,
        within=60,
        what=lambda: watch.verdict("lag"),
    )


def test_markers_of_transactions_are_no_lag(lab: Lab, watch: Watch) -> None:
    for name in ("one", "two"):
        write(lab, "efd.transactions", 5, **{"transactional.id": name})
    wait_until_copied(watch, "efd.transactions")
    watch.let_pass(5)
    lag = lag_of(watch, "efd.transactions")
    assert lag is not None
    assert lag.records == 0
    assert lag.status is LagStatus.EVEN


def _keeps_for(watch: Watch, topic: str) -> timedelta | None:
    lag = lag_of(watch, topic)
    if lag is None or lag.headroom is None or lag.headroom.share < 1:
        return None
    return lag.headroom.remaining


def _none() -> TopicLag:
    return TopicLag(topic="", topic_class="", records=-1, seconds=0)


def test_records_about_to_expire_are_warned_of_while_they_are_there(
    lab: Lab, watch: Watch
) -> None:
    topic = "efd.short"
    lab.source.topics.set_configs(topic, {"retention.ms": "120000"})
    write(lab, topic, 3)
    wait_until_copied(watch, topic)
    wait_until(
        lambda: _keeps_for(watch, topic) == timedelta(minutes=2),
        within=60,
        what=lambda: lag_of(watch, topic),
    )
    lab.mirror.freeze()
    try:
        write(lab, topic, 7)
        for limit, left in ((Health.WARNING, 90), (Health.CRITICAL, 60)):
            wait_until(
                lambda limit=limit: health(watch, "retention") is limit,  # type: ignore[misc]
                within=90,
                what=lambda: watch.verdict("retention"),
            )
            verdict = watch.verdict("retention")
            assert verdict is not None
            assert verdict.reason.startswith(f"{topic} loses records in")
            remaining = verdict.evidence["time_to_loss_seconds"]
            assert isinstance(remaining, int)
            assert left - 5 <= remaining <= left
    finally:
        lab.mirror.thaw()
    wait_until(
        lambda: health(watch, "retention") is Health.OK,
        within=60,
        what=lambda: watch.verdict("retention"),
    )


def test_a_mirror_that_runs_and_copies_nothing_is_critical_by_position() -> (
    None
):
    """The producer splits a batch into itself for ever, until it dies.

    KAFKA-8350: newer ones split it in halves, and their task fails.
    """
    topics = {**LabSettings().topics, "efd.plain": 2}
    settings = LabSettings(
        kafka="3.9.2", topics=topics, mirror_properties=UNSYNCED
    )
    with Lab(settings) as lab, Watch(lab) as watch:
        watch.wait_for(Health.OK, within=120)
        write(lab, "efd.plain", 1)
        wait_until_copied(watch, "efd.plain")
        lower_limit(lab, "efd.plain")
        stuck_at = produce_among_others(lab, "efd.plain")

        def says_so() -> bool:
            verdict = watch.verdict("lag")
            return (
                verdict is not None
                and verdict.health is Health.CRITICAL
                and "Nothing of summit->ldf is copied" in verdict.reason
            )

        wait_until(says_so, within=300, what=lambda: watch.verdict("lag"))
        lag = lag_of(watch, "efd.plain")
        assert lag is not None
        assert lag.position is not None
        assert stuck_at - 20 <= lag.position <= stuck_at
        assert health(watch, "tasks") is Health.OK  # it says RUNNING
