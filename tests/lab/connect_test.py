"""MirrorMaker 2 on a Connect cluster that it shares with others."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from mirrorwatch.config import Config
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import Lab, LabSettings
from mirrorwatch_lab.connect import LabConnect
from tests.support.findings import find, is_found
from tests.support.group import GROUP, commit
from tests.support.lab import copied, produce
from tests.support.watch import Watch, describe, wait_until

pytestmark = pytest.mark.lab

GROUPED = "lab.grouped"
CONNECTOR = "mirror-source"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        mirror="connect",
        topics={"mirrorwatch.canary": 6, GROUPED: 1},
        # A worker that was killed is missed at once, not for five minutes.
        intervals="fast",
    )
    with Lab(settings) as lab:
        yield lab


def worker_of(lab: Lab) -> LabConnect:
    assert isinstance(lab.mirror, LabConnect)
    return lab.mirror


def watching(lab: Lab, **mirror: Any) -> Watch:
    """Return an agent that asks the REST API, too, and is impatient."""
    watch = Watch(lab)
    # A busy machine may make a probe late, of which nothing is asked here.
    data = describe(lab, canary={"interval": "500ms", "deadline": "60s"})
    (flow,) = data["flows"]
    connect = {"url": worker_of(lab).rest_url}
    flow["mirror"] = {**flow["mirror"], "connect": connect, **mirror}
    flow["limits"] = {"tasks": {"grace": "3s"}}
    watch.config = Config.from_mapping({**data, "interval": "1s"})
    return watch


def hurry(watch: Watch) -> None:
    """Let the agent look every second; no verdict counts its looks."""
    for worker in watch.agent.workers:
        if worker.name.startswith(("checkpoints ", "connect ")):
            worker.interval = timedelta(seconds=1)


def without_status(lab: Lab) -> Mapping[str, str]:
    """Return the topics of a site that does not name the status topic."""
    topics = dict(worker_of(lab).agent_config["topics"])
    del topics["status"]
    return topics


def wait_for(
    watch: Watch,
    health: Health,
    *,
    of: str = "tasks",
    saying: str = "",
) -> Verdict:
    """Wait for a verdict, on tasks if nothing else is said."""
    met: list[Verdict] = []

    def is_so() -> bool:
        found = watch.verdict(of)
        if (
            found is not None
            and found.health is health
            and saying in f"{found.codes} {found.reason} {found.evidence}"
        ):
            met.append(found)
        return met != []

    wait_until(is_so, what=lambda: (saying, watch.verdict(of)))
    return met[0]


def states(watch: Watch) -> set[tuple[str, str]]:
    """Return connectors and the states of them and their tasks."""
    tasks = watch.tasks.tasks if watch.tasks else ()
    return {(task.connector, task.state) for task in tasks}


def order(lab: Lab, method: str, path: str) -> None:
    """Tell the worker to do something; while it rebalances, again."""
    worker = worker_of(lab)
    wait_until(lambda: worker.ask(method, path).is_success, what=lambda: path)


def test_a_mirror_on_connect_is_watched_like_a_dedicated_one(
    lab: Lab,
) -> None:
    with watching(lab) as watch:
        watch.wait_for(Health.OK)
        watch.wait_for_count("delivered", 30)
        # Until the status topic has been read, the REST API tells; and the
        # neighbour is the last one that the worker is given.
        read_from = "topic lab-connect-status at ldf"
        wait_until(lambda: ("neighbour", "RUNNING") in states(watch))
        verdict = watch.wait_for(
            Health.OK, "tasks.ok", read_from, check="tasks"
        )
        assert ("mirror-checkpoints", "RUNNING") in states(watch)
    find(verdict, "tasks.ok", running_tasks=2, tasks=2)
    assert verdict.evidence["read_from"] == read_from


def test_without_a_status_topic_the_rest_api_tells(lab: Lab) -> None:
    with watching(lab, topics=without_status(lab)) as watch:
        verdict = wait_for(watch, Health.OK, saying="tasks.ok")
    find(verdict, "tasks.ok", running_tasks=2, tasks=2)
    assert verdict.evidence["read_from"] == "Connect's REST API"
    assert verdict.evidence["version"] == lab.settings.kafka


def test_with_neither_nothing_tells_and_that_is_said(lab: Lab) -> None:
    topics = without_status(lab)
    with watching(lab, topics=topics, connect=None) as watch:
        verdict = wait_for(watch, Health.OFF)
        watch.wait_for(Health.OK)
    assert verdict.code == "tasks.off"


def test_a_paused_connector_copies_nothing(lab: Lab) -> None:
    with watching(lab) as watch, ExitStack() as stack:
        wait_for(watch, Health.OK)
        resume = f"/connectors/{CONNECTOR}/resume"
        stack.callback(order, lab, "PUT", resume)
        order(lab, "PUT", f"/connectors/{CONNECTOR}/pause")
        wait_for(watch, Health.CRITICAL, saying="tasks.idle")
        order(lab, "PUT", resume)
        wait_for(watch, Health.OK)


@pytest.mark.long
def test_checkpoints_that_do_not_follow_a_group_are_stale(lab: Lab) -> None:
    with watching(lab) as watch, ExitStack() as stack:
        hurry(watch)
        produce(lab, GROUPED, [f"record {n}" for n in range(300)])
        copied(lab, GROUPED, ["record 299"])
        commit(lab.source.bootstrap, GROUP, {(GROUPED, 0): 300})
        wait_until(
            lambda: is_found(
                watch.verdict("checkpoints"), "checkpoints.ok", groups=1
            ),
            what=lambda: watch.verdict("checkpoints"),
        )
        resume = "/connectors/mirror-checkpoints/resume"
        stack.callback(order, lab, "PUT", resume)
        order(lab, "PUT", "/connectors/mirror-checkpoints/pause")
        verdict = wait_for(watch, Health.WARNING, saying="tasks.idle")
        find(verdict, "tasks.idle", connector="mirror-checkpoints")
        produce(lab, GROUPED, [f"more {n}" for n in range(300)])
        copied(lab, GROUPED, ["more 299"])
        moved = count(601)

        def is_stale() -> bool:
            # The group goes on, and is followed no more.
            produce(lab, GROUPED, ["one more"])
            commit(lab.source.bootstrap, GROUP, {(GROUPED, 0): next(moved)})
            watch.let_pass(2)
            verdict = watch.verdict("checkpoints")
            return (
                verdict is not None
                and verdict.health is Health.WARNING
                and is_found(
                    verdict,
                    "checkpoints.overdue",
                    group=GROUP,
                    topic=GROUPED,
                    partition=0,
                )
            )

        wait_until(is_stale, what=lambda: watch.verdict("checkpoints"))
        order(lab, "PUT", resume)
        wait_for(watch, Health.OK, of="checkpoints")
        wait_for(watch, Health.OK)


def test_a_worker_that_was_killed_is_missed(lab: Lab) -> None:
    with watching(lab) as watch:
        wait_for(watch, Health.OK)
        lab.mirror.kill()
        # The status topic goes on to say RUNNING.
        verdict = wait_for(watch, Health.UNKNOWN, saying="cannot be reached")
        assert verdict.code == "tasks.unreadable"
        assert (CONNECTOR, "RUNNING") in states(watch)
        lab.mirror.start()
        wait_for(watch, Health.OK)
