"""What Connect's REST API says -> facts."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ...domain.positions import Committed, TaskState

__all__ = ["to_committed", "to_states"]


def to_states(
    name: str, status: Mapping[str, Any], at: datetime
) -> Iterator[TaskState]:
    """Read the state of a connector and of its tasks.

    Parameters
    ----------
    name
        Name of the connector.
    status
        Its ``status``.
    at
        When it was asked.

    Raises
    ------
    ValueError
        Raised if it is not of the known layout.
    """
    try:
        told: list[tuple[int | None, Any]] = [(None, status["connector"])]
        told += [(int(task["id"]), task) for task in status["tasks"]]
        for task, said in told:
            yield TaskState(
                connector=name,
                task=task,
                state=str(said["state"]),
                worker=str(said.get("worker_id") or ""),
                trace=str(said.get("trace") or ""),
                # Known to the status topic only.
                generation=0,
                written_at=at,
            )
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"the status of {name} lacks {e}") from e


def to_committed(
    offsets: Sequence[Mapping[str, Any]], alias: str, at: datetime
) -> Iterator[Committed]:
    """Read the committed offsets of a source connector.

    Parameters
    ----------
    offsets
        What was answered.
    alias
        The mirror's alias of the source.
    at
        When it was asked.

    Raises
    ------
    ValueError
        Raised if it is not of the known layout.
    """
    try:
        for said in offsets:
            place, offset = said["partition"], said["offset"]
            if place.get("cluster") == alias and offset is not None:
                yield Committed(
                    topic=str(place["topic"]),
                    partition=int(place["partition"]),
                    # The last one that was copied.
                    position=int(offset["offset"]) + 1,
                    written_at=at,
                )
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"offsets lack {e}") from e
