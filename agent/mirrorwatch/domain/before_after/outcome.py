"""What maintenance changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..maintenance import Window
from .snapshot import COUNTED, Snapshot

__all__ = ["Outcome"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What maintenance changed on one flow."""

    window: Window
    """When it was, as it ended."""

    before: Snapshot | None
    """The last report before it began; `None` if the agent did not run."""

    after: Snapshot
    """The first report after it ended."""

    @property
    def counted(self) -> Mapping[str, int | None]:
        """By how much each counter rose; `None` where that is not known.

        A counter that is lower than before began again at zero, so what it
        shows is the least that it rose.
        """
        before = self.before
        rises: dict[str, int | None] = {}
        for name in COUNTED:
            old = None if before is None else before.counts.get(name)
            new = self.after.counts.get(name)
            if old is None or new is None:
                rises[name] = None
            else:
                rises[name] = new if new < old else new - old
        return rises
