"""At which isolation level the mirror reads its source."""

from collections.abc import Collection
from datetime import datetime, timedelta

from ...domain.positions import Connector

__all__ = ["Isolation"]

_AFTER = timedelta(minutes=5)
"""How long aborted records stay out of what is read after the mirror began to
copy them: what it left out before must not seem to be dropped. Every position
is told several times within it."""


class Isolation:
    """Follows whether the mirror leaves out aborted records."""

    def __init__(self) -> None:
        self._left_out_at: datetime | None = None

    def note(self, connectors: Collection[Connector], now: datetime) -> None:
        """Take how the mirror is configured; none may be known for a while."""
        if connectors and all(c.read_committed for c in connectors):
            self._left_out_at = now

    def is_committed(self, now: datetime) -> bool:
        """Tell whether to read as one that leaves out aborted records."""
        last = self._left_out_at
        return last is not None and now - last < _AFTER
