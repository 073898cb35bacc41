"""What a dedicated MirrorMaker 2 has written of itself at the target."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .settings import SOURCE
from .topics import Topics

__all__ = ["CONNECTOR", "DEDICATED", "DIGEST", "Bookmark", "Place"]
__all__ += ["bookmark", "is_settled"]

CONNECTOR = "MirrorSourceConnector"
"""Name of the connector that copies records."""

DIGEST = "mirrorwatch.lab.digest"
"""Property, unknown to MirrorMaker 2, that travels with the others into the
configuration of each task: so one can see which properties a task runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a mirror writes of itself at the target."""

    connector: str
    """Name of the connector that copies records."""

    status: str
    """Topic of states."""

    configs: str
    """Topic of configurations."""


DEDICATED = Place(
    connector=CONNECTOR,
    status=f"mm2-status.{SOURCE}.internal",
    configs=f"mm2-configs.{SOURCE}.internal",
)
"""Places of a dedicated MirrorMaker 2."""

Bookmark = Mapping[str, Mapping[int, int]]
"""Ends of the internal topics at one moment: later records are newer."""


def bookmark(target: Topics, place: Place = DEDICATED) -> Bookmark:
    """Return where the internal topics end now."""
    return {
        topic: {p: high for p, (_, high) in target.ends(topic).items()}
        for topic in (place.status, place.configs)
    }


def is_settled(
    target: Topics, since: Bookmark, digest: str, place: Place = DEDICATED
) -> bool:
    """Tell whether the connector runs what the mirror was started with.

    Parameters
    ----------
    target
        Topics of the target.
    since
        What `bookmark` returned before the mirror was started.
    digest
        Digest of the properties it was started with.
    place
        Where it writes.

    Notes
    -----
    A mirror that comes back first runs the task configurations that it finds
    stored; it stores those of its properties, and starts the tasks again,
    only later and only if they differ. So every task must have the digest,
    and must have said that it runs after it was given it.
    """
    given_at: dict[int, int] = {}
    count = 0
    for message in target.read(place.configs):
        key, value = _decode(message)
        if value is None:
            continue
        if key == f"commit-{place.connector}":
            count = value["tasks"]
        elif key.startswith(f"task-{place.connector}-"):
            task = int(key.rpartition("-")[2])
            if value["properties"].get(DIGEST) != digest:
                given_at.pop(task, None)
            else:
                # The same again does not start the task again.
                given_at.setdefault(task, message.timestamp()[1])
    wanted = set(range(count))
    if not wanted or not wanted <= given_at.keys():
        return False
    return wanted <= _running(target, since, given_at, place)


def _running(
    target: Topics,
    since: Bookmark,
    given_at: Mapping[int, int],
    place: Place,
) -> set[int]:
    states: dict[int, bool] = {}
    for message in target.read(
        place.status, start=since.get(place.status, {})
    ):
        key, value = _decode(message)
        if key.startswith(f"status-task-{place.connector}-") and value:
            task = int(key.rpartition("-")[2])
            new = message.timestamp()[1] >= given_at.get(task, 0)
            states[task] = value["state"] == "RUNNING" and new
    return {task for task, running in states.items() if running}


def _decode(message: Any) -> tuple[str, dict[str, Any] | None]:
    key, value = message.key().decode(), message.value()
    return key, json.loads(value) if value else None
