"""Records that Kafka Connect writes for MirrorMaker 2: JSON.

Layouts are those of ``OffsetStorageWriter``, ``KafkaStatusBackingStore`` and
``KafkaConfigBackingStore``, unchanged from Kafka 2.4 to 4.3.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..domain.positions import Assignment, TaskCount, TaskState

__all__ = ["to_assignment", "to_offset", "to_partitions", "to_state"]
__all__ += ["to_task_count"]

ASSIGNED = "task.assigned.partitions"


def to_state(
    key: bytes | None, value: bytes | None, written_at: datetime
) -> TaskState | None:
    """Read the state of a connector or a task; `None` if it is neither."""
    name = (key or b"").decode()
    if name.startswith("status-connector-"):
        connector, task = name.removeprefix("status-connector-"), None
    elif found := re.fullmatch(r"status-task-(.+)-(\d+)", name, re.DOTALL):
        connector, task = found[1], int(found[2])
    else:
        # Topics that connectors use, and what later versions may add.
        return None
    said = json.loads(value) if value else {}
    return TaskState(
        connector=connector,
        task=task,
        state=said["state"] if value else None,
        worker=said.get("worker_id") or "",
        trace=said.get("trace") or "",
        generation=int(said.get("generation") or 0),
        written_at=written_at,
    )


def to_offset(
    key: bytes | None, value: bytes | None
) -> tuple[str, Mapping[str, Any], int | None]:
    """Read a committed offset: connector, source partition, next offset.

    The value is the last offset that was copied (``MirrorUtils``); a
    tombstone means that somebody reset it.
    """
    connector, partition = json.loads(key or b"")
    last = None if value is None else json.loads(value)
    if not isinstance(partition, dict):
        raise TypeError("a source partition is an object")
    return connector, partition, None if last is None else last["offset"] + 1


def to_assignment(
    name: str, properties: Mapping[str, Any], written_at: datetime
) -> Assignment | None:
    """Read what a task was given; `None` if it copies no records.

    Parameters
    ----------
    name
        Connector and number, with a dash between them.
    properties
        The task's configuration.
    written_at
        When it was written.
    """
    connector, _, task = name.rpartition("-")
    assigned = properties.get(ASSIGNED)
    if assigned is None:
        return None
    return Assignment(
        connector=connector,
        task=int(task),
        partitions=to_partitions(assigned),
        written_at=written_at,
    )


def to_partitions(assigned: str) -> frozenset[tuple[str, int]]:
    """Read ``a.b-0,a.b-1``: names of topics may hold dashes, no commas."""
    return frozenset(
        (topic, int(number))
        for topic, _, number in (
            place.strip().rpartition("-")
            for place in assigned.split(",")
            if place.strip()
        )
    )


def to_task_count(connector: str, value: Mapping[str, Any]) -> TaskCount:
    """Read how many tasks a connector was given."""
    return TaskCount(connector=connector, tasks=int(value["tasks"]))
