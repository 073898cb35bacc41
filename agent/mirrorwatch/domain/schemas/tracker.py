"""Which schema ids are in use, and since when readers cannot resolve them."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import ClusterView, FlowView
from ..topics import HEARTBEATS
from .model import (
    BAD,
    LateSchema,
    RecordPart,
    Resolution,
    SampledId,
    SchemaId,
    SchemaProblem,
    SchemasState,
    SchemaUse,
)

__all__ = ["SchemaTracker"]

RECHECK = timedelta(minutes=10)
"""Validity of a resolved schema. It would have to be deleted for good to
change; one that is found missing has all others asked for again."""

AGAIN = timedelta(minutes=1)
"""Validity of an id that the source's registry does not know: it may be
registered at any time. Of a record of another topic it is asked for again at
once."""

MOST_USES = 20
"""Schema ids of one part of a topic that are known at a time; a topic has few
versions of its schema. Those that readers cannot resolve go last."""

ENOUGH = 3
"""Ids that no registry knows, after which a part of a topic's records is held
to carry none: bytes of another format look like one by chance. Others are
tried every `RECHECK`, as it may carry schemas from then on."""

MOST_LATE = 1000
"""Late schemas that are kept; the longest delays go last."""

_UNREGISTERED = {Resolution.NEITHER, Resolution.TARGET_ONLY}
"""With these, the source's registry has no such schema."""

AT_SOURCE = frozenset(Resolution) - _UNREGISTERED
"""With these, the source's registry has the schema: its id is one."""

_ABSENT = {Resolution.MISSING, Resolution.NEITHER}


@dataclass(slots=True)
class _Facts:
    """Facts known of one schema use."""

    topic_id: str
    doubtful: bool
    first: datetime
    arrived: datetime | None
    newest: datetime
    at: tuple[str, int, int]
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    """Offset of the newest record that is known, by side and partition."""

    copy_id: str = ""
    bad_as: Resolution | None = None
    """Resolution that was found while consumers could not resolve it."""

    bad_since: datetime | None = None
    """Since when: from its first record on, unless it was readable before."""

    readable: bool = False


class SchemaTracker:
    """Follows the schema ids in the records of one flow.

    Parameters
    ----------
    state
        State that a former agent kept.
    """

    def __init__(self, state: SchemasState) -> None:
        self._uses: dict[SchemaUse, _Facts] = {}
        self._resolved: dict[SchemaId, tuple[Resolution, datetime | None]] = {}
        self._late = list(state.late)
        self._carriers: set[tuple[str, str]] = set(state.carriers)
        self._subjects: AbstractSet[str] = frozenset()
        self._distrusted: datetime | None = None
        for problem in state.problems:
            self._uses[problem.use] = _Facts(
                topic_id=problem.topic_id,
                doubtful=False,
                first=problem.since,
                arrived=problem.arrived,
                newest=problem.since,
                at=problem.at,
                copy_id=problem.copy_id,
                bad_as=problem.resolution,
                bad_since=problem.since,
                readable=problem.was_readable,
            )
            self._resolved[problem.use.schema] = (problem.resolution, None)

    def look(self, view: FlowView) -> None:
        """Forget topics that are no more, and what their logs have lost."""
        source = view.source
        if source is None:
            return
        gone = [
            use
            for use, facts in self._uses.items()
            if use.topic not in view.names
            or source.topics[use.topic].id != facts.topic_id
            or _is_recreated(use, facts, view)
            or _has_expired(use, facts, view)
        ]
        for use in gone:
            del self._uses[use]
        self._carriers = {c for c in self._carriers if c[0] in view.names}
        left = {use.schema for use in self._uses}
        self._resolved = {s: r for s, r in self._resolved.items() if s in left}

    def note(
        self,
        topic: str,
        topic_id: str,
        place: tuple[str, int, int],
        found: Iterable[SampledId],
        at: datetime,
        *,
        copy_id: str = "",
    ) -> None:
        """Learn which schema ids one record carries.

        Parameters
        ----------
        topic
            Topic at the source.
        topic_id
            Its id there.
        place
            Side, partition and offset of the record.
        found
            Schema ids in it.
        at
            Time at which the record was read.
        copy_id
            Id of the topic at the target, if it was read there.
        """
        for sampled in found:
            use = SchemaUse(topic, sampled.part, sampled.schema)
            facts = self._uses.get(use)
            if facts is None:
                if not self._has_room(topic, sampled.part, at):
                    continue
                facts = self._uses[use] = _Facts(
                    topic_id=topic_id,
                    # MirrorMaker's own heartbeats begin as schema id 1 does.
                    doubtful=sampled.doubtful or topic.endswith(HEARTBEATS),
                    first=at,
                    arrived=None,
                    newest=at,
                    at=place,
                )
                if self._resolution(use.schema) in _UNREGISTERED:
                    self._resolved.pop(use.schema)
                self._judge(use, facts, at)
            facts.newest, facts.places[place[:2]] = at, place[2]
            if place[0] == "target":
                facts.at, facts.copy_id = place, copy_id
                facts.arrived = facts.arrived or at
            elif facts.arrived is None:
                # Not behind a copy: that may be kept for longer.
                facts.at = place

    def take_subjects(self, subjects: AbstractSet[str]) -> None:
        """Learn the subjects of the source's registry: one of a topic's name
        shows that its records carry schema ids.
        """
        self._subjects = subjects

    def wanted(self, now: datetime) -> Sequence[SchemaId]:
        """Return the schema ids to ask the registries for: unknown ones
        first, then those that readers cannot resolve, then the oldest.
        """
        bad = {
            use.schema for use, f in self._uses.items() if f.bad_as is not None
        }

        def rank(schema: SchemaId) -> tuple[int, float]:
            found = self._resolved.get(schema)
            if found is None:
                return 0, 0.0
            _, at = found
            age = 0.0 if at is None else at.timestamp()
            return (1 if schema in bad else 2), age

        return sorted(
            (
                schema
                for schema in {use.schema for use in self._uses}
                if schema in bad or self._is_due(schema, now)
            ),
            key=rank,
        )

    def resolve(
        self, schema: SchemaId, resolution: Resolution, at: datetime
    ) -> None:
        """Learn what both registries say of a schema id."""
        before = self._resolved.get(schema)
        self._resolved[schema] = resolution, at
        if (
            before is not None
            and before[0] not in BAD
            and resolution in BAD
            and before[1] is not None
        ):
            self._distrusted = at
        for use, facts in self._uses.items():
            if use.schema == schema:
                self._judge(use, facts, at)

    @property
    def carriers(self) -> AbstractSet[tuple[str, str]]:
        """Topic and part whose records carry schema ids."""
        return self._carriers

    def topics(self) -> int:
        """Return of how many topics a record with a schema id is known."""
        return len(
            {
                use.topic
                for use in self._uses
                if (use.topic, use.part) in self._carriers
            }
        )

    def unresolved(self) -> int:
        """Return of how many schema ids nothing is known yet."""
        schemas = {use.schema for use in self._uses}
        return len(schemas - self._resolved.keys())

    def resolved(self) -> int:
        """Return how many schema ids both sides resolve alike."""
        return len(
            {
                use.schema
                for use in self._uses
                if (use.topic, use.part) in self._carriers
                and self._resolution(use.schema) is Resolution.SAME
            }
        )

    def incomparable(self) -> tuple[SchemaUse, ...]:
        """Return uses of schemas that cannot be compared."""
        return tuple(
            sorted(
                use
                for use in self._uses
                if (use.topic, use.part) in self._carriers
                and self._resolution(use.schema) is Resolution.INCOMPARABLE
            )
        )

    def bad(self) -> tuple[SchemaProblem, ...]:
        """Return what readers cannot read, the oldest first."""
        return tuple(
            sorted(
                (
                    SchemaProblem(
                        use=use,
                        resolution=facts.bad_as,
                        since=facts.bad_since or facts.first,
                        arrived=facts.arrived,
                        topic_id=facts.topic_id,
                        at=facts.at,
                        copy_id=facts.copy_id,
                        was_readable=facts.readable,
                    )
                    for use, facts in self._uses.items()
                    if facts.bad_as is not None
                ),
                key=lambda p: (p.since, p.use),
            )
        )

    def late(self, since: datetime) -> tuple[LateSchema, ...]:
        """Return what was readable too late since a time; forget the rest."""
        kept = [late for late in self._late if late.readable_at >= since]
        kept.sort(key=lambda late: -late.delay)
        self._late = kept[:MOST_LATE]
        return tuple(self._late)

    def to_state(self) -> SchemasState:
        """Return what must outlive the agent."""
        return SchemasState(
            problems=self.bad(),
            late=tuple(self._late),
            carriers=tuple(sorted(self._carriers)),
        )

    def _resolution(self, schema: SchemaId) -> Resolution | None:
        found = self._resolved.get(schema)
        return None if found is None else found[0]

    def _is_due(self, schema: SchemaId, now: datetime) -> bool:
        found = self._resolved.get(schema)
        if found is None or found[1] is None:
            return True
        distrusted = self._distrusted is not None and (
            found[1] < self._distrusted
        )
        pause = AGAIN if found[0] in _UNREGISTERED else RECHECK
        return distrusted or now - found[1] >= pause

    def _has_room(self, topic: str, part: RecordPart, now: datetime) -> bool:
        """Tell whether one more id of a topic is taken; make room for it."""
        own = [u for u in self._uses if (u.topic, u.part) == (topic, part)]
        unknown = [
            use
            for use in own
            if self._resolution(use.schema) is Resolution.NEITHER
        ]
        if (topic, part) not in self._carriers and len(unknown) >= ENOUGH:
            oldest = min(unknown, key=lambda use: self._uses[use].first)
            if now - self._uses[oldest].first < RECHECK:
                return False
            del self._uses[oldest]
            return True
        if len(own) < MOST_USES:
            return True
        fine = [use for use in own if self._uses[use].bad_as is None]
        if not fine:
            return False
        del self._uses[min(fine, key=lambda use: self._uses[use].newest)]
        return True

    def _judge(self, use: SchemaUse, facts: _Facts, at: datetime) -> None:
        """Note whether readers can resolve a use, and if so since when."""
        resolution = self._resolution(use.schema)
        if resolution is None:
            return
        place = (use.topic, use.part)
        proved = not facts.doubtful or f"{use.topic}-{use.part}" in (
            self._subjects
        )
        if proved and resolution in AT_SOURCE and place not in self._carriers:
            self._carriers.add(place)
            for other, own in self._uses.items():
                if (other.topic, other.part) == place and other != use:
                    self._judge(other, own, at)
        if resolution in BAD:
            if proved and place in self._carriers:
                if facts.bad_as is None:
                    facts.bad_since = at if facts.readable else facts.first
                facts.bad_as = resolution
            return
        arrived = facts.arrived
        late = facts.bad_as in _ABSENT and not facts.readable
        if late and arrived is not None:
            delay = max(at - arrived, timedelta())
            self._late.append(
                LateSchema(
                    use=use,
                    delay=delay,
                    readable_at=at,
                )
            )
        facts.bad_as = facts.bad_since = None
        facts.readable = True


def _is_recreated(use: SchemaUse, facts: _Facts, view: FlowView) -> bool:
    """Tell whether another topic is at the target than that of its records."""
    copies = view.target.topics if view.target is not None else {}
    now = copies.get(view.names[use.topic])
    return bool(facts.copy_id) and now is not None and now.id != facts.copy_id


def _has_expired(use: SchemaUse, facts: _Facts, view: FlowView) -> bool:
    """Tell whether all records that are known of a use are gone: at the
    target, where readers fail at them, if any was found there.
    """
    side, partition, offset = facts.at
    cluster: ClusterView | None = view.source
    topic: str | None = use.topic
    if side == "target":
        cluster, topic = view.target, view.names.get(use.topic)
    if cluster is None or topic is None:
        return False
    known = {(side, partition): offset, **facts.places}
    left = [
        (side, partition, newest)
        for (at, partition), newest in known.items()
        if at == side and newest >= cluster.starts.get((topic, partition), 0)
    ]
    if left and facts.at not in left:
        facts.at = left[-1]
    return not left
