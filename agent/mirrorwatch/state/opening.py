"""Opens the state file at the start, whatever became of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..clock import utc_now
from ..exceptions import StateError, StateInUseError, StateUnusableError
from .database import Database

__all__ = ["use_state"]

T = TypeVar("T")


def use_state(path: Path, use: Callable[[Database], T]) -> T:
    """Use the state file; else a fresh one in its place, else memory.

    Parameters
    ----------
    path
        The state file.
    use
        Function that needs the database. Called again with another if it
        raises a `StateError`.

    Raises
    ------
    StateInUseError
        Raised if another agent uses the file.

    Notes
    -----
    A monitor that does not start is worse than one that forgot something.
    What is not as it should be is a problem of the database, which the page
    and all else report.
    """
    try:
        return _use(Database(path), use)
    except StateInUseError:
        raise
    except StateUnusableError as e:
        error: StateError = e
        try:
            aside = _set_aside(path)
            problem = (
                f"{e}. It was set aside as {aside}, and a fresh one is used"
            )
            return _use(Database(path, problem=problem), use)
        except StateError as again:
            error = again
        except OSError as again:
            error = StateError(f"{e}. It cannot be set aside: {again}")
    except StateError as e:
        error = e
    problem = (
        f"{error}. The state is kept in memory, and lost at the agent's end"
    )
    return _use(Database(None, problem=problem), use)


def _use(database: Database, use: Callable[[Database], T]) -> T:
    try:
        return use(database)
    except BaseException:
        database.close()
        raise


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.unusable-{utc_now():%Y%m%dT%H%M%SZ}")
    for end in ("", "-wal", "-shm"):
        file = path.with_name(path.name + end)
        if file.exists():
            file.rename(aside.with_name(aside.name + end))
    return aside
