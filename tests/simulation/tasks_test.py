"""Worlds in which `tasks` was wrong once, one by one."""

import json

import pytest

from mirrorwatch.domain.report import Health
from tests.simulation.scenarios import (
    HOUR,
    MINUTE,
    health,
    healths,
    reason,
    running,
)

pytestmark = pytest.mark.slow


def test_a_killed_mirror_is_not_said_to_run() -> None:
    with running("a") as world:
        world.mirror.kill()
        world.run(10 * MINUTE)
        assert health(world, "tasks") is not Health.OK, reason(world, "tasks")


def test_a_renamed_connector_leaves_nothing_critical() -> None:
    with running("a") as world:
        # Connect leaves task configs behind when a connector is deleted.
        old = "connector-Old"
        assigned = {
            "connector.class": world.mirror.properties()["connector.class"],
            "source.cluster.alias": "summit",
            "target.cluster.alias": "ldf",
        }
        configs, status = (
            "mm2-configs.summit.internal",
            "mm2-status.summit.internal",
        )

        def write(topic: str, key: str, value: object) -> None:
            body = None if value is None else json.dumps(value).encode()
            world.target.append(topic, 0, body, key.encode())

        write(configs, old, {"properties": assigned})
        write(
            configs,
            "task-Old-0",
            {"properties": assigned | {"task.assigned.partitions": "a-0"}},
        )
        write(configs, "commit-Old", {"tasks": 1})
        said = {"state": "RUNNING", "worker_id": "w", "generation": 1}
        write(status, "status-connector-Old", said)
        write(status, "status-task-Old-0", said)
        world.run(5 * MINUTE)
        write(configs, old, None)
        write(status, "status-connector-Old", None)
        write(status, "status-task-Old-0", None)
        world.run(10 * MINUTE)
        assert health(world, "tasks") is Health.OK, reason(world, "tasks")


def test_an_idle_mirror_is_said_to_run() -> None:
    with running("a", flow={"canary": {"enabled": False}}) as world:
        world.source.delete("a")
        world.run(2 * HOUR)
        assert healths(world, "tasks", 60) == []
        assert health(world, "tasks") is Health.OK, reason(world, "tasks")
