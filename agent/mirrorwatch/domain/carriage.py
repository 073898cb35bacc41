"""Which topics a flow carries, and who says so: one answer for all checks."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from .mirror_records import Connector, ConnectorSettings
from .topics import ReplicatedTopics, ends_as_internal

__all__ = ["Carriage", "CarriedTopics"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedTopics:
    """The topics at the source, divided by whether the flow carries them."""

    names: Mapping[str, str] = field(default_factory=dict)
    unwanted: tuple[str, ...] = ()
    """Topics that the mirror's own filter leaves out, where nothing else says
    what the flow carries."""

    internal: tuple[str, ...] = ()
    """Topics that MirrorMaker before Kafka 4.0 treats as internal, by the
    suffix of their names, and that no task was given."""

    by: str = ""


class Carriage:
    """Knows which topics a flow carries.

    Parameters
    ----------
    topics
        The flow's filter and naming.
    chosen
        The flow's topics were configured; if not, the flow carries the topics
        that its mirror wants.
    """

    def __init__(
        self, topics: ReplicatedTopics, *, chosen: bool = True
    ) -> None:
        self._topics = topics
        self._chosen = chosen
        self._connectors: tuple[Connector, ...] = ()
        self._settings = ConnectorSettings()
        self._assigned: Callable[[], AbstractSet[str]] = frozenset

    def learn(
        self,
        connectors: Iterable[Connector],
        assigned: Callable[[], AbstractSet[str]],
    ) -> None:
        """Take what the mirror says, once all of it was read.

        Parameters
        ----------
        connectors
            Its source connectors. Without any, the last ones hold: one that
            was removed copies nothing, so it wants nothing else either.
        assigned
            Returns the topics that its tasks were given.
        """
        connectors = tuple(connectors)
        if connectors and connectors != self._connectors:
            self._connectors = connectors
            self._settings = ConnectorSettings.of(connectors)
        self._assigned = assigned

    def divide(self, topics: Iterable[str]) -> CarriedTopics:
        """Return which of these topics at the source are carried."""
        names = self._topics.names(topics)
        internal = tuple(filter(ends_as_internal, names))
        if internal:
            # Whatever the version is: its tasks show what it does.
            assigned = self._assigned()
            internal = tuple(t for t in internal if t not in assigned)
            names = {t: n for t, n in names.items() if t not in internal}
        if self._chosen:
            return CarriedTopics(
                names=names, internal=internal, by="topics.include"
            )
        wants: Callable[[str], bool] = self._settings.wants
        by = "the mirror's topics"
        if not self._settings.known:
            by = "default"
        elif not self._settings.selections and (assigned := self._assigned()):
            # Python cannot read the filter; its tasks show what it matches.
            wants, by = assigned.__contains__, "the mirror's tasks"
        return CarriedTopics(
            names={t: name for t, name in names.items() if wants(t)},
            unwanted=tuple(t for t in names if not wants(t)),
            internal=internal,
            by=by,
        )
