"""Looks at the topics in which a mirror keeps its positions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import FlowView
from .model import PositionState, Reset, ResetKind

__all__ = ["AWAY_AFTER", "InternalTopics"]


AWAY_AFTER = timedelta(minutes=1)
"""Time for which a topic must be away: a cluster that comes up may not know
all of its topics at once."""


@dataclass(slots=True)
class InternalTopics:
    """Looks at the topics in which the mirror keeps its positions.

    Parameters
    ----------
    state
        The state.
    names
        Names of these topics, by kind.
    """

    state: PositionState
    names: Mapping[str, str]
    _missing: dict[str, datetime] = field(default_factory=dict)
    """Since when a topic has not been seen, by kind."""

    _seen: set[str] = field(default_factory=set)

    def see(self, homes: Mapping[str, str | None], at: datetime) -> None:
        """Note which of them are there."""
        for what, found in homes.items():
            if found is None:
                self._missing.setdefault(what, at)
            else:
                self._missing.pop(what, None)
                self._seen.add(what)

    def awaits(self, what: str, at: datetime) -> bool:
        """Return whether a topic that was there before the agent started has
        not been seen since, and may yet be.
        """
        return (
            ("internal", what) in self.state.pins
            and what in self._missing
            and what not in self._seen
            and not self._is_gone(what, at)
        )

    def _is_gone(self, what: str, at: datetime) -> bool:
        return at - self._missing.get(what, at) >= AWAY_AFTER

    def look(
        self,
        homes: Mapping[str, str | None],
        view: FlowView,
        *,
        from_end: bool,
    ) -> None:
        """Pin their ids, and find those that are gone or replaced.

        Parameters
        ----------
        homes
            Ids of the topics that were looked for, by kind.
        view
            Snapshot of the flow in this survey.
        from_end
            A mirror without a position begins at the log end.

        Notes
        -----
        One that comes back with the same id was not seen for a while, and
        nothing was lost.
        """
        for what, kind in (
            ("offsets", ResetKind.OFFSETS_GONE),
            ("syncs", ResetKind.SYNCS_GONE),
        ):
            if what not in homes:
                continue
            found = homes[what]
            pinned = self.state.pins.get(("internal", what))
            name = self.names.get(what, what)
            known = self.state.open(kind, name)
            if found is None and not self._is_gone(what, view.at):
                continue
            if known is not None and found == pinned:
                self.state.drop(known)
                continue
            if pinned is not None and found != pinned and known is None:
                known = self._lose(kind, name, pinned, view.at, from_end)
            if found is None:
                continue
            if known is not None:
                self.state.change(known, settled=view.at, now=found)
            self.state.pin("internal", what, found)

    def _lose(
        self,
        kind: ResetKind,
        name: str,
        pinned: str,
        at: datetime,
        from_end: bool,  # noqa: FBT001 - passed on
    ) -> Reset:
        had = [
            place
            for place, kept in self.state.places.items()
            if kept.committed is not None
        ]
        offsets = kind is ResetKind.OFFSETS_GONE
        return self.state.begin(
            kind,
            name,
            at,
            counted={t for t, _ in had} if offsets else (),
            places=len(had),
            before=pinned,
            from_end=from_end,
        )
