"""Hand-over between threads: of the latest value, or of every value."""

from collections import deque
from collections.abc import Iterable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Latest", "Mailbox"]


T = TypeVar("T")


class Latest(Generic[T]):
    """Holds the newest value; anyone who reads it may miss older ones.

    One reference is replaced as a whole, so no lock is needed: others see the
    value before or the one after, never a mixture. Values must not be changed
    in place, and have one writer.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def get(self) -> T:
        """Return the newest value."""
        return self._value

    def set(self, value: T) -> None:
        """Replace the value."""
        self._value = value


class Mailbox(Generic[T]):
    """Keeps every value until it is taken, in order.

    Parameters
    ----------
    values
        Values in it at first.
    limit
        Number of values kept if nobody takes them; the oldest go first.
    """

    __slots__ = ("_lock", "_values")

    def __init__(
        self, values: Iterable[T] = (), *, limit: int | None = None
    ) -> None:
        self._lock = Lock()
        self._values = deque(values, maxlen=limit)

    def put(self, *values: T) -> None:
        """Add values."""
        with self._lock:
            self._values.extend(values)

    @property
    def is_empty(self) -> bool:
        """Mailbox holds no values."""
        return not self._values

    def take_all(self) -> tuple[T, ...]:
        """Take every value since the last call."""
        with self._lock:
            taken = tuple(self._values)
            self._values.clear()
            return taken
