"""Samples the newest records, and looks up their schemas on both sides."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from confluent_kafka import Message
from pydantic_core import from_json

from ..domain.cluster_view import ClusterView, FlowView, TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.report import Flow
from ..domain.schemas.model import (
    RegistryTopic,
    Resolution,
    SchemaId,
    SchemasObservation,
    SchemasState,
    SubjectMode,
    read_schema_ids,
)
from ..domain.schemas.tracker import SchemaTracker
from ..exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from ..kafka.errors import denial
from ..kafka.reader import NewestReader
from ..state.documents import DocumentStore
from ..threads import Latest
from .registry import RegisteredSchema, Registry

__all__ = ["SchemasWorker", "compare_schemas"]

RECORDS = 3
"""Newest records that are read of a partition: the newest may be the marker of
a transaction, or have no value."""

PARTITIONS = 200
"""Partitions of each side that are sampled in one round, one of a topic, those
first that were never or longest ago: 1,172 topics take six rounds."""

READ_SECONDS = 1.0
"""Longest wait for the next of these records; what has not come is read in
another round."""

LOOKUPS = 100
"""Schema ids that are asked for in one round, of both registries."""

LOOKUP_SECONDS = 2.0
"""Time after which a round asks for no further id: a registry that is slow
must not make samples old."""

REFUSALS = 10
"""Schema ids in one round that a registry may fail to answer: it may refuse
some alone, by their subjects, and one that fails at all must not be asked for
a hundred."""

SUBJECTS_EVERY = 60.0
"""Seconds between two lists of all subjects, which may be long."""

SUBJECTS = 20
"""Subjects that one of them asks for by name: Apicurio's list ends after
1,000."""

SUBJECT_MODES = 60
"""Subjects whose own modes are asked for at a time, of both registries: those
with one first, then those that were never or longest ago. Modes are changed
by hand, and 1,000 topics with schemas take half an hour."""

DELAYS_KEPT = timedelta(days=1)
"""Retention in the metric of a late schema's delay: it arrived after its
records."""

GRACE = timedelta(minutes=1)
"""Grace period of a topic with records but without a sample: of new ones, a
few wait for the next round."""

_SIDES = ("target", "source")


@dataclass(frozen=True, slots=True)
class _Sample:
    """Sample of one partition: time, end offset and schema ids."""

    end: int
    """-1 if its records could not be read then."""

    at: datetime

    ids: tuple[str, str]


class SchemasWorker:
    """Finds out whether readers at the target can resolve schema ids.

    Parameters
    ----------
    flow
        The flow.
    properties
        librdkafka properties of its clusters, by alias.
    registries
        Schema registries of both, by alias.
    topics
        Configured names of the topics in which they keep schemas, by alias.
    store
        Keeps what was found over restarts.
    interval
        Interval between samples of records.
    clock
        Gives the time.
    monotonic
        A clock that only goes forward, in seconds.

    Notes
    -----
    Ends come from the survey, so what to read costs no request.
    """

    def __init__(
        self,
        *,
        flow: Flow,
        properties: Mapping[str, Mapping[str, str]],
        registries: Mapping[str, Registry],
        topics: Mapping[str, str | None],
        store: DocumentStore[SchemasState],
        interval: timedelta,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"schemas {flow.name}"
        self.interval = interval
        self._flow = flow
        self._aliases = {"source": flow.source, "target": flow.target}
        self._readers = {
            side: NewestReader(properties[alias], alias)
            for side, alias in self._aliases.items()
        }
        self._registries = {
            side: registries[alias] for side, alias in self._aliases.items()
        }
        self._topics = {
            side: topics.get(alias) for side, alias in self._aliases.items()
        }
        self._store = store
        self._state = store.load()
        self._tracker = SchemaTracker(self._state)
        self._clock = clock
        self._monotonic = monotonic
        self._view = Latest[FlowView | None](None)
        self._samples: dict[tuple[str, TopicPartition], _Sample] = {}
        self._noticed: dict[str, datetime] = {}
        self._first_pass = True
        self._denied: dict[str, set[str]] = {side: set() for side in _SIDES}
        self._refused: dict[SchemaId, str] = {}
        """Error of the registries, by schema id that they did not resolve."""
        self._subjects_at = monotonic()
        self._suspects: AbstractSet[str] = frozenset()
        self._subject_modes: dict[tuple[str, str], str] = {}
        self._modes_asked: dict[tuple[str, str], float] = {}
        self._peers: dict[tuple[str, str], tuple[str, str]] = {}
        now = clock()
        self._seen = Latest(
            SchemasObservation(
                flow=flow.name,
                at=now,
                source=flow.source,
                target=flow.target,
                bad=self._tracker.bad(),
                late=self._tracker.late(now - DELAYS_KEPT),
                carriers=self._tracker.topics(),
                known=False,
            )
        )

    def take(self, view: FlowView) -> None:
        """Learn how far every topic is."""
        self._view.set(view)

    def observe(self, now: datetime) -> Sequence[SchemasObservation]:
        """Return what the last round found; its age shows if it is old."""
        del now
        return [self._seen.get()]

    def step(self) -> None:
        """Sample some topics, and look up what is in their records.

        Raises
        ------
        StateError
            Raised if what was found cannot be kept.
        """
        view = self._view.get()
        if view is None:
            return
        if view.source is None or view.target is None:
            self._seen.set(replace(self._seen.get(), problems=view.problems))
            return
        self._tracker.look(view)
        problems = [
            *self._sample(view, "target", view.target),
            *self._sample(view, "source", view.source),
            *self._look_up(),
        ]
        modes = self._read_modes(problems)
        missing = self._seen.get().missing_subjects
        if self._monotonic() >= self._subjects_at and not problems:
            missing = self._compare_subjects(view, modes, problems)
        self._publish(view, problems, modes, missing)
        state = self._tracker.to_state()
        if state != self._state:
            self._store.save(state)
            self._state = state

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        for registry in self._registries.values():
            registry.close()

    def _publish(
        self,
        view: FlowView,
        problems: Sequence[str],
        modes: dict[str, str],
        missing: tuple[str, ...],
    ) -> None:
        now, tracker = self._clock(), self._tracker
        self._seen.set(
            SchemasObservation(
                flow=self._flow.name,
                at=now,
                source=self._flow.source,
                target=self._flow.target,
                topics=len(view.names),
                unsampled=self._count_unsampled(view, now),
                carriers=tracker.topics(),
                resolved=tracker.resolved(),
                unresolved=tracker.unresolved(),
                incomparable=tracker.incomparable(),
                bad=tracker.bad(),
                late=tracker.late(now - DELAYS_KEPT),
                missing_subjects=missing,
                modes=modes,
                subject_modes=self._describe_modes(modes),
                registry_topic=self._registry_topic(view),
                problems=tuple(dict.fromkeys(problems)),
            )
        )

    def _sample(
        self, view: FlowView, side: str, cluster: ClusterView
    ) -> list[str]:
        """Read the newest records of some topics; return what failed."""
        names = {topic: topic for topic in view.names}
        if side == "target":
            names = {remote: topic for topic, remote in view.names.items()}
        ids = _topic_ids(view, names)
        self._forget_samples(side, ids)
        wanted = self._choose(side, cluster, names)
        denied = self._denied[side]
        if wanted:
            try:
                records, failed = self._readers[side].read(
                    wanted, READ_SECONDS
                )
            except SourceError as e:
                return [str(e)]
            at = self._clock()
            for record in records:
                self._note(record, side, names, ids, at)
            for place, span in wanted.items():
                error = failed.get(place)
                if isinstance(error, SourceDeniedError):
                    denied.add(place[0])
                elif place not in failed:
                    denied.discard(place[0])
                end = -1 if place in failed else span.end
                self._samples[side, place] = _Sample(end, at, ids[place[0]])
        denied &= names.keys()
        if not denied:
            return []
        first, *more = sorted(denied)
        others = f" and {len(more)} more" if more else ""
        return [denial(f"READ on topic {first}{others}", self._aliases[side])]

    def _forget_samples(
        self, side: str, ids: Mapping[str, tuple[str, str]]
    ) -> None:
        """Forget samples of topics that are no more, or were not seen.

        The tracker forgot what was in them. Should the log end where it ended
        before, nothing else would have it read again.
        """
        self._samples = {
            (at, place): sample
            for (at, place), sample in self._samples.items()
            if at != side or ids.get(place[0]) == sample.ids
        }

    def _choose(
        self, side: str, cluster: ClusterView, names: Mapping[str, str]
    ) -> dict[TopicPartition, OffsetRange]:
        """Return the newest offsets of some partitions, one of a topic."""
        due: list[tuple[float, TopicPartition, int, int]] = []
        for name in names:
            facts = cluster.topics.get(name)
            for partition in range(0 if facts is None else facts.partitions):
                place = (name, partition)
                end = cluster.ends.get(place)
                start = cluster.starts.get(place, 0)
                if end is None or end <= start:
                    continue
                before = self._samples.get((side, place))
                if before is None or before.end != end:
                    age = 0.0 if before is None else before.at.timestamp()
                    due.append((age, place, start, end))
        due.sort()
        chosen: dict[TopicPartition, OffsetRange] = {}
        topics: set[str] = set()
        for _, place, start, end in due:
            if place[0] not in topics:
                topics.add(place[0])
                chosen[place] = OffsetRange(max(start, end - RECORDS), end)
            if len(chosen) == PARTITIONS:
                break
        return chosen

    def _note(
        self,
        record: Message,
        side: str,
        names: Mapping[str, str],
        ids: Mapping[str, tuple[str, str]],
        at: datetime,
    ) -> None:
        topic = names[record.topic() or ""]
        topic_id, copy_id = ids[record.topic() or ""]
        try:
            headers: Any = record.headers() or ()
        except UnicodeDecodeError:
            headers = ()  # names that no serializer writes
        self._tracker.note(
            topic,
            topic_id,
            (side, record.partition() or 0, record.offset() or 0),
            read_schema_ids(
                _to_bytes(record.key()), _to_bytes(record.value()), headers
            ),
            at,
            copy_id=copy_id if side == "target" else "",
        )

    def _count_unsampled(self, view: FlowView, now: datetime) -> int:
        sampled = {
            (side, place[0])
            for (side, place), sample in self._samples.items()
            if sample.end >= 0 or place[0] in self._denied[side]
        }
        waiting = set[str]()
        for topic, remote in view.names.items():
            for side, name, cluster in (
                ("source", topic, view.source),
                ("target", remote, view.target),
            ):
                if (side, name) not in sampled and _has_records(cluster, name):
                    waiting.add(topic)
        self._noticed = {
            topic: self._noticed.get(topic, now) for topic in waiting
        }
        if not waiting:
            self._first_pass = False
        if self._first_pass:
            return len(waiting)
        return sum(now - at > GRACE for at in self._noticed.values())

    def _look_up(self) -> list[str]:
        until, failures = self._monotonic() + LOOKUP_SECONDS, 0
        wanted = self._tracker.wanted(self._clock())
        self._refused = {
            s: self._refused[s] for s in wanted if s in self._refused
        }
        # Those that were refused before keep no others waiting.
        for schema in sorted(wanted, key=self._refused.__contains__)[:LOOKUPS]:
            if self._monotonic() > until or failures == REFUSALS:
                break
            try:
                there = self._registries["target"].look_up(schema)
                here = self._registries["source"].look_up(schema)
            except SourceUnavailableError as e:
                return [str(e)]
            except SourceError as e:
                self._refused[schema] = str(e)
                failures += 1
                continue
            self._refused.pop(schema, None)
            self._tracker.resolve(
                schema, compare_schemas(here, there), self._clock()
            )
        return list(self._refused.values())

    def _read_modes(self, problems: list[str]) -> dict[str, str]:
        found = {}
        for side, registry in self._registries.items():
            try:
                mode = registry.mode()
            except SourceError as e:
                problems.append(str(e))
                continue
            if mode is not None:
                found[self._aliases[side]] = mode
        return found

    def _read_subject_modes(
        self, subjects: AbstractSet[tuple[str, str]]
    ) -> None:
        """Ask some of the subjects for modes of their own.

        Parameters
        ----------
        subjects
            Our alias of the cluster, and the name of the subject there.
        """
        self._modes_asked = {
            one: at for one, at in self._modes_asked.items() if one in subjects
        }
        self._subject_modes = {
            one: mode
            for one, mode in self._subject_modes.items()
            if one in subjects
        }
        by_alias = {r.cluster: r for r in self._registries.values()}
        until = self._monotonic() + LOOKUP_SECONDS
        due = sorted(
            subjects,
            key=lambda one: (
                one not in self._subject_modes,
                self._modes_asked.get(one, -math.inf),
                one,
            ),
        )
        for one in due[:SUBJECT_MODES]:
            if self._monotonic() > until:
                break
            alias, subject = one
            mode = by_alias[alias].mode(subject)
            self._modes_asked[one] = self._monotonic()
            self._subject_modes.pop(one, None)
            if mode is not None:
                self._subject_modes[one] = mode

    def _pair_subjects(self, view: FlowView) -> None:
        here, there = self._aliases["source"], self._aliases["target"]
        pairs = {
            (here, f"{topic}-{part}"): (there, f"{view.names[topic]}-{part}")
            for topic, part in self._tracker.carriers
            if topic in view.names
        }
        self._peers = pairs | {there: here for here, there in pairs.items()}

    def _describe_modes(
        self, modes: Mapping[str, str]
    ) -> tuple[SubjectMode, ...]:
        found = []
        for one, mode in sorted(self._subject_modes.items()):
            other = self._peers[one]
            found.append(
                SubjectMode(
                    alias=one[0],
                    subject=one[1],
                    mode=mode,
                    other=self._subject_modes.get(other, modes.get(other[0])),
                )
            )
        return tuple(found)

    def _compare_subjects(
        self, view: FlowView, modes: Mapping[str, str], problems: list[str]
    ) -> tuple[str, ...]:
        self._subjects_at = self._monotonic() + SUBJECTS_EVERY
        try:
            here = self._registries["source"].subjects()
            there = self._registries["target"].subjects()
            self._tracker.take_subjects(here)
            self._pair_subjects(view)
            known = {"source": here, "target": there}
            self._read_subject_modes(
                {
                    (self._aliases[side], subject)
                    for side, names in known.items()
                    # One without a mode has none for its subjects either.
                    if self._aliases[side] in modes
                    for alias, subject in self._peers
                    if alias == self._aliases[side] and subject in names
                }
            )
            lacking = sorted(
                f"{view.names[topic]}-{part}"
                for topic, part in self._tracker.carriers
                if f"{topic}-{part}" in here
                and topic in view.names
                and f"{view.names[topic]}-{part}" not in there
            )
            target = self._registries["target"]
            lacking = [
                subject
                for number, subject in enumerate(lacking)
                if number >= SUBJECTS or not target.has_subject(subject)
            ]
        except SourceError as e:
            problems.append(str(e))
            return self._seen.get().missing_subjects
        missing = tuple(s for s in lacking if s in self._suspects)
        self._suspects = frozenset(lacking)
        return missing

    def _registry_topic(self, view: FlowView) -> RegistryTopic:
        default = RegistryTopic()
        topic = self._topics["source"] or default.source
        return RegistryTopic(
            source=topic,
            exists=view.source is not None and topic in view.source.topics,
            remote=view.names.get(topic),
            wanted=self._topics["target"],
        )


def _topic_ids(
    view: FlowView, names: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return of topics, by their names on one side, the ids on both; empty
    where the target has none.
    """
    source, target = view.source, view.target
    assert source is not None  # noqa: S101 - both sides answered
    assert target is not None  # noqa: S101 - both sides answered
    found = {}
    for name, topic in names.items():
        copy = target.topics.get(view.names[topic])
        found[name] = source.topics[topic].id, copy.id if copy else ""
    return found


def _has_records(cluster: ClusterView | None, topic: str) -> bool:
    facts = None if cluster is None else cluster.topics.get(topic)
    if cluster is None or facts is None:
        return False
    places = ((topic, partition) for partition in range(facts.partitions))
    return any(
        cluster.ends.get(place, 0) > cluster.starts.get(place, 0)
        for place in places
    )


def _to_bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def compare_schemas(
    here: RegisteredSchema | None, there: RegisteredSchema | None
) -> Resolution:
    """Tell whether what two registries have is the same schema to a reader.

    Notes
    -----
    Registries write a schema in their own way: white space, the order of
    attributes and, in Avro, documentation are of no account. Avro's canonical
    form leaves out logical types, which readers do not.
    """
    if here is None or there is None:
        if there is not None:
            return Resolution.TARGET_ONLY
        return Resolution.NEITHER if here is None else Resolution.MISSING
    return _compare(here, there)


def _compare(here: RegisteredSchema, there: RegisteredSchema) -> Resolution:
    kinds = {here.kind, there.kind} - {None}
    if len(kinds) > 1:
        return Resolution.DIFFERENT
    if here.references != there.references:
        return Resolution.INCOMPARABLE
    if here.text == there.text:
        return Resolution.SAME
    ours, theirs = _parse(here.text), _parse(there.text)
    if ours is None or theirs is None:
        alike = _squeeze(here.text) == _squeeze(there.text)
        return Resolution.SAME if alike else Resolution.INCOMPARABLE
    if ours == theirs or kinds == {"JSON"}:
        return Resolution.SAME if ours == theirs else Resolution.DIFFERENT
    return _compare_avro(ours, theirs)


def _parse(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return None


def _squeeze(text: str) -> str:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    return " ".join(plain.split())


def _compare_avro(ours: Any, theirs: Any) -> Resolution:
    # 9 MB of memory, and where schemas are copied the texts are equal.
    import fastavro  # noqa: PLC0415

    canonical = fastavro.schema.to_parsing_canonical_form
    try:
        alike = canonical(ours) == canonical(theirs) and (
            [*_logical_types(ours)] == [*_logical_types(theirs)]
        )
    except (
        *(ValueError, KeyError, TypeError, RecursionError),
        fastavro.schema.SchemaParseException,
    ):
        # With references, a name in it is defined elsewhere.
        return Resolution.INCOMPARABLE
    return Resolution.SAME if alike else Resolution.DIFFERENT


def _logical_types(schema: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(schema, list):
        for each in schema:
            yield from _logical_types(each)
    elif isinstance(schema, dict):
        if "logicalType" in schema:
            yield tuple(
                schema.get(key)
                for key in ("logicalType", "precision", "scale")
            )
        for key in ("type", "fields", "items", "values"):
            yield from _logical_types(schema.get(key))
