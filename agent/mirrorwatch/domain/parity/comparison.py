"""Both sides of a flow, topic by topic."""

from dataclasses import dataclass, field

from ..carriage import Carriage
from ..habits import Habits
from ..naming import HEARTBEATS, DefaultNaming, FormatNaming
from ..view import ClusterView, FlowView

__all__ = ["Comparison", "Names", "compare"]


@dataclass(slots=True)
class Comparison:
    """What is not alike, by the topics' names at the source."""

    missing: dict[str, str] = field(default_factory=dict)
    """Names at the target, where they are not."""

    unwanted: list[str] = field(default_factory=list)
    """Topics that the mirror's own filter does not match."""

    partitions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Numbers of partitions here and there, where they differ."""

    other_replication: list[str] = field(default_factory=list)
    """Topics with another replication factor."""


def compare(
    view: FlowView, source: ClusterView, target: ClusterView, habits: Habits
) -> Comparison:
    """Compare what the flow carries with what is at the target."""
    found = Comparison()
    for topic, remote in view.names.items():
        here, there = source.topics[topic], target.topics.get(remote)
        if not habits.wants(topic):
            # One of that name at the target is not a copy.
            found.unwanted.append(topic)
            continue
        if there is None:
            found.missing[topic] = remote
            continue
        if here.partitions != there.partitions:
            found.partitions[topic] = (here.partitions, there.partitions)
        if here.replication_factor != there.replication_factor:
            found.other_replication.append(topic)
    return found


class Names:
    """What the names at the target tell by themselves.

    Names seldom change, and reading them costs more than all the rest: what
    they told is kept until they do.
    """

    def __init__(self, carriage: Carriage) -> None:
        self._carriage = carriage
        self._seen: tuple[frozenset[str], frozenset[str]] | None = None
        self.cycles: tuple[str, ...] = ()
        self.left_over: tuple[str, ...] = ()

    def update(self, source: ClusterView, target: ClusterView) -> None:
        """Read the names on both sides."""
        if self._seen is not None and (
            source.topics.keys() == self._seen[0]
            and target.topics.keys() == self._seen[1]
        ):
            return
        here, there = frozenset(source.topics), frozenset(target.topics)
        self._seen = here, there
        self.cycles = tuple(sorted(self._find_cycles(there)))
        self.left_over = tuple(sorted(self._find_left_over(here, there)))

    def _find_left_over(
        self, here: frozenset[str], there: frozenset[str]
    ) -> list[str]:
        found = []
        for remote in there:
            origin = self._carriage.naming.origin(remote)
            gone = origin is not None and origin not in here
            if origin is not None and gone and self._carriage.carries(origin):
                found.append(remote)
        return found

    def _find_cycles(self, there: frozenset[str]) -> list[str]:
        """Find names that a topic gets on a second round.

        Notes
        -----
        ``summit.ldf.topic`` at ldf, where ``topic`` is as well: MirrorMaker 2
        refuses to make it, but only if all its nodes know the clusters by the
        same aliases (KAFKA-9914). Of heartbeats it is enough that an alias
        comes twice: nobody else makes topics of that name.
        """
        naming = self._carriage.naming
        if isinstance(naming, FormatNaming) or not naming.separator:
            return []
        prefixed = DefaultNaming(
            alias=naming.alias, separator=naming.separator
        )
        found = []
        for remote in there:
            origin = prefixed.origin(remote)
            if origin is None:
                continue
            *aliases, last = origin.split(naming.separator)
            if last == HEARTBEATS and naming.alias in aliases:
                found.append(remote)
            elif self._carriage.target_alias in aliases:
                at = aliases.index(self._carriage.target_alias)
                rest = naming.separator.join([*aliases[at + 1 :], last])
                if rest in there:
                    found.append(remote)
        return found
