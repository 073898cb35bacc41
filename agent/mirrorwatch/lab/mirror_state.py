"""What a dedicated MirrorMaker 2 has written of itself at the target."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .settings import SOURCE
from .topics import Topics

__all__ = ["CONNECTOR", "Bookmark", "Generation", "bookmark", "is_settled"]

CONNECTOR = "MirrorSourceConnector"
"""Name of the connector that copies records."""

_STATUS_TOPIC = f"mm2-status.{SOURCE}.internal"
_CONFIG_TOPIC = f"mm2-configs.{SOURCE}.internal"

Bookmark = Mapping[str, Mapping[int, int]]
"""Ends of the internal topics at one moment: later records are newer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """Where the tasks of the source connector stand."""

    tasks: Mapping[int, Mapping[str, str]]
    """Configuration of each task, as last committed."""

    states: Mapping[int, str]
    """State of each task, as said since the bookmark."""


def bookmark(target: Topics) -> Bookmark:
    """Return where the internal topics end now."""
    return {
        topic: {p: high for p, (_, high) in target.ends(topic).items()}
        for topic in (_STATUS_TOPIC, _CONFIG_TOPIC)
    }


def is_settled(target: Topics, since: Bookmark) -> bool:
    """Tell whether the connector runs what the mirror was started with.

    Parameters
    ----------
    target
        Topics of the target.
    since
        What `bookmark` returned before the mirror was started.

    Notes
    -----
    A mirror that comes back first runs the connector and task configurations
    that it finds stored; only then does it store those of its properties,
    and starts the tasks again if they differ. So three things must hold: the
    connector's configuration was written since the start, every task's
    agrees with it, and every task said that it runs after that.
    """
    connector: dict[str, str] = {}
    written_at = -1
    tasks: dict[str, dict[str, str]] = {}
    committed_at = -1
    count = 0
    for message in target.read(_CONFIG_TOPIC):
        key, value = _decode(message)
        if value is None:
            continue
        if key == f"connector-{CONNECTOR}":
            connector, written_at = value["properties"], message.offset()
        elif key.startswith(f"task-{CONNECTOR}-"):
            tasks[key] = value["properties"]
        elif key == f"commit-{CONNECTOR}":
            count = value["tasks"]
            committed_at = message.timestamp()[1]
    if written_at < since[_CONFIG_TOPIC].get(0, 0):
        return False
    wanted = [tasks[f"task-{CONNECTOR}-{n}"] for n in range(count)]
    if not all(_agree(connector, task) for task in wanted):
        return False
    running = _running(target, since, committed_at)
    return bool(wanted) and running == set(range(count))


def _running(target: Topics, since: Bookmark, after: int) -> set[int]:
    states: dict[int, bool] = {}
    for message in target.read(_STATUS_TOPIC, start=since[_STATUS_TOPIC]):
        key, value = _decode(message)
        if key.startswith(f"status-task-{CONNECTOR}-") and value:
            task = int(key.rpartition("-")[2])
            new = message.timestamp()[1] >= after
            states[task] = value["state"] == "RUNNING" and new
    return {task for task, running in states.items() if running}


def _agree(connector: Mapping[str, str], task: Mapping[str, str]) -> bool:
    # A task has all of its connector's properties, and some of its own.
    return all(
        task.get(key) == value
        for key, value in connector.items()
        if key != "tasks.max"
    )


def _decode(message: Any) -> tuple[str, dict[str, Any] | None]:
    key, value = message.key().decode(), message.value()
    return key, json.loads(value) if value else None
