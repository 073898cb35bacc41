"""Whether a mirror leaves out aborted records, as far as that is known."""

from ..positions import Connector

__all__ = ["IsolationHistory"]


class IsolationHistory:
    """Collects how the connectors of one flow read their source.

    Notes
    -----
    The records that an audit compares may have been copied before the last
    configuration was written. So all count that their topic still holds, of
    all connectors, also of those that are gone. One that cannot be told
    makes it unknown, as none at all does: then the records themselves must
    tell what was aborted.
    """

    def __init__(self) -> None:
        self._levels: set[bool | None] = set()

    def take(self, connector: Connector) -> None:
        """Learn of a configuration."""
        self._levels.add(connector.read_committed)

    @property
    def read_committed(self) -> bool | None:
        """Whether aborted records are left out; `None` if that is not known,
        or was not always so.
        """
        return next(iter(self._levels)) if len(self._levels) == 1 else None
