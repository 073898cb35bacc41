"""Lets each piece of work fail alone: a bug in one must not blind the rest."""

import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from structlog.typing import FilteringBoundLogger

from .exceptions import InternalError, MirrorwatchError

__all__ = ["Isolation"]

PACKAGE = Path(__file__).parent

T = TypeVar("T")


class Isolation:
    """Runs pieces of work, counts what crashes and logs it once.

    Parameters
    ----------
    logger
        Logger of crashes, with their stack.

    Attributes
    ----------
    errors
        Number of crashes of each part since the start.
    """

    def __init__(self, logger: FilteringBoundLogger) -> None:
        self.errors: Counter[str] = Counter()
        self._logger = logger
        self._failing: dict[str, InternalError] = {}
        self._lock = Lock()

    @property
    def failing(self) -> dict[str, InternalError]:
        """Parts whose last run crashed, and how."""
        with self._lock:
            return dict(self._failing)

    def run(self, part: str, work: Callable[[], T]) -> T:
        """Do a piece of work.

        Raises
        ------
        MirrorwatchError
            Raised as the work raised it.
        InternalError
            Raised for anything else that it raised: it is a bug, or an answer
            that nobody thought of.
        """
        try:
            done = work()
        except Exception as e:
            if isinstance(e, MirrorwatchError):
                self._note(part, None)
                raise
            error = InternalError(part, f"{type(e).__name__} at {_place(e)}")
            if self._note(part, error):
                self._logger.exception("Work crashed", work=part)
            raise error from e
        self._note(part, None)
        return done

    def collect(self, part: str, work: Callable[[], Iterable[T]]) -> list[T]:
        """Return all that a piece of work makes, or nothing if it crashes."""
        try:
            return self.run(part, lambda: list(work()))
        except InternalError:
            return []

    def _note(self, part: str, error: InternalError | None) -> bool:
        """Take note of how a part did; return whether it is a new crash."""
        with self._lock:
            if error is None:
                self._failing.pop(part, None)
                return False
            new = str(self._failing.get(part)) != str(error)
            self._failing[part] = error
            self.errors[part] += 1
            return new


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if PACKAGE in Path(f.filename).parents]
    last = (ours or frames)[-1]
    file = Path(last.filename)
    name = file.relative_to(PACKAGE) if ours else Path(file.name)
    return f"{name}:{last.lineno}"
