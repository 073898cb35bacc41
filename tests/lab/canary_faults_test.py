"""Faults that lose nothing: nothing may be called lost."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Producer

from mirrorwatch.domain.report import Health
from mirrorwatch.sources.canary.surveyor import IN_THE_BROKER
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.lab import FLUSH_SECONDS
from tests.support.overdue import expect_overdue_in_time
from tests.support.truth import Truth
from tests.support.watch import FLOW, Watch, describe, wait_until

pytestmark = pytest.mark.lab


def calm_down(watch: Watch) -> None:
    """Wait until nothing old is under way, and probes arrive again."""
    arrived = watch.counts["delivered"]
    watch.wait_for_count("delivered", arrived + 30)
    wait_until(
        lambda: watch.counts["outstanding"] < 12,
        what=lambda: (watch.counts, watch.verdict()),
    )


@pytest.mark.long
def test_a_killed_mirror_doubles_and_loses_nothing(lab: Lab) -> None:
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        watch.wait_for_count("delivered", 100)
        lab.mirror.kill()
        lab.mirror.start()
        calm_down(watch)
        watch.wait_for_count("duplicates", 1)
        watch.stop()
    totals = Truth(lab).check(watch)
    assert totals["lost"] == 0
    assert totals["duplicates"] > 0


def test_a_frozen_mirror_makes_probes_overdue_then_late(lab: Lab) -> None:
    # Long enough to see that they were late, once nothing is overdue.
    flow = {"limits": {"canary": {"warning_window": "1m"}}}
    with Watch(lab, flow=flow) as watch:
        watch.wait_for(Health.OK)
        calm_down(watch)
        lab.mirror.freeze()
        try:
            expect_overdue_in_time(watch, lab)
            during = watch.counts
            watch.wait_for_count("sent", during["sent"] + 6 * 100)
            assert watch.counts["late"] == during["late"]
        finally:
            lab.mirror.thaw()
        watch.wait_for(Health.WARNING, "canary.late")
        calm_down(watch)
        watch.stop()
    totals = Truth(lab).check(watch)
    assert totals["lost"] == 0
    assert totals["late"] > 6 * 50


@pytest.mark.parametrize(
    "side", [pytest.param("source", marks=pytest.mark.long), "target"]
)
def test_a_broker_that_crashes_loses_no_probe(lab: Lab, side: str) -> None:
    site = lab.source if side == "source" else lab.target
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        site.kill()
        wait_until(lambda: _is_not_ok(watch))
        site.start()
        calm_down(watch)
        watch.stop()
    assert Truth(lab).check(watch)["lost"] == 0


@pytest.mark.long
def test_the_mirrors_link_cut_for_a_minute_loses_no_probe(lab: Lab) -> None:
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        lab.link_mirror.cut()
        try:
            watch.wait_for(Health.CRITICAL, "canary.overdue")
            watch.let_pass(48)
        finally:
            lab.link_mirror.restore()
        calm_down(watch)
        watch.stop()
    assert Truth(lab).check(watch)["lost"] == 0


def test_the_agents_link_cut_is_unknown_and_not_a_loss(lab: Lab) -> None:
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        # Some are on their way when the line goes, whatever the moment: five
        # rounds without an answer are no accident of one look.
        lab.link_agent.stall()
        wait_until(
            lambda: watch.counts["sent"] >= watch.counts["acked"] + 30,
        )
        lab.link_agent.cut()
        try:
            watch.wait_for(Health.UNKNOWN, "canary.unreadable")
            # Longer than a broker may still carry out what was sent.
            watch.let_pass(IN_THE_BROKER.total_seconds() + 5)
        finally:
            lab.link_agent.restore()
        calm_down(watch)
        watch.stop()
    totals = Truth(lab).check(watch)
    assert totals["lost"] == 0
    assert totals["indeterminate"] > 0


@pytest.mark.long
def test_a_killed_agent_goes_on_where_it_was(lab: Lab, tmp_path: Path) -> None:
    data = describe(lab, canary={"interval": "200ms", "deadline": "10s"})
    data["state"] = {"path": str(tmp_path / "state.db")}
    data["interval"] = "1s"
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(data))
    agent = [sys.executable, "-m", "mirrorwatch", "run", "--config"]
    agent.append(str(config))
    for wanted in (60, 120, 180):
        with subprocess.Popen(agent, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(
                    lambda: _delivered(tmp_path / "state.db") > wanted  # noqa: B023
                )
            finally:
                process.kill()
    with Watch(lab, state=tmp_path / "state.db") as watch:
        # Probes come all the time, and yet the end was reached once.
        wait_until(lambda: _latency_is_known(watch))
        calm_down(watch)
        wait_until(lambda: not _unacked(watch))
        watch.stop()
    totals = Truth(lab).check(watch)
    assert (totals["lost"], totals["duplicates"]) == (0, 0)


def test_new_partitions_are_covered_and_lose_nothing(lab: Lab) -> None:
    topic = "mirrorwatch.growing"
    lab.create_topic(topic, 3)
    lab.mirror.stop()
    lab.mirror.start({"refresh.topics.interval.seconds": "5"})
    # A busy machine may make a probe late, of which nothing is asked here.
    canary = {"topic": topic, "deadline": "60s"}
    with Watch(lab, canary=canary) as watch:
        wait_until(lambda: _covered(watch) == 3)
        lab.grow(topic, 6)
        wait_until(
            lambda: _covered(watch) == 6,
            what=lambda: (watch.counts, watch.verdict()),
        )
        watch.wait_for(Health.OK)
        watch.stop()
    totals = Truth(lab, topic).check(watch)
    assert (totals["lost"], totals["late"]) == (0, 0)


def test_a_probe_that_comes_back_is_a_circle(lab: Lab) -> None:
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        back = Producer({"bootstrap.servers": lab.source.bootstrap})
        ours = watch.store.run.encode()
        records = lab.read("source", CANARY_TOPIC)
        for record in [r for r in records if ours in (r.value() or b"")][-3:]:
            # As a second mirror, from the target to the source, would.
            back.produce(
                CANARY_TOPIC,
                value=record.value(),
                key=record.key(),
                partition=record.partition() or 0,
            )
        assert back.flush(FLUSH_SECONDS) == 0
        watch.wait_for(Health.CRITICAL, "canary.loop")
        watch.wait_for_count("duplicates", 3)
        watch.stop()
    totals = Truth(lab).check(watch)
    assert (totals["lost"], totals["duplicates"]) == (0, 3)


def test_a_topic_outside_the_mirrors_filter_is_named(lab: Lab) -> None:
    """The last one: the mirror is left with its filter."""
    lab.mirror.stop()
    lab.mirror.start({f"{FLOW}.topics": "lsst[.].*"})
    with Watch(lab) as watch:
        watch.wait_for(Health.CRITICAL, "canary.filtered")


def _latency_is_known(watch: Watch) -> bool:
    verdict = watch.verdict("latency")
    return verdict is not None and verdict.health is not Health.UNKNOWN


def _unacked(watch: Watch) -> bool:
    seen = watch.canary
    return seen is None or any(p.oldest_unacked for p in seen.partitions)


def _is_not_ok(watch: Watch) -> bool:
    verdict = watch.verdict()
    return verdict is not None and verdict.health > Health.OK


def _covered(watch: Watch) -> int:
    partitions = watch.canary.partitions if watch.canary else ()
    return sum(p.last_arrival is not None for p in partitions)


def _delivered(state: Path) -> int:
    if not state.exists():
        return 0
    with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as file:
        try:
            rows = file.execute("SELECT body FROM canary_partition").fetchall()
        except sqlite3.OperationalError:
            return 0  # the agent has not made its tables yet
    return sum(json.loads(body)["counts"]["delivered"] for (body,) in rows)
