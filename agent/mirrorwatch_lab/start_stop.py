"""Parts that run for as long as a ``with`` block."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["StartStop"]


class StartStop(ABC):
    """Started where a ``with`` block begins, stopped where it ends."""

    @abstractmethod
    def start(self) -> None:
        """Start it."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it, and wait until it has stopped."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
