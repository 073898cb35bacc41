"""Findings of `mirrorwatch doctor`, and the known traps of MirrorMaker 2.

Each trap is a row of `TRAPS`: a rule that reads how a mirror is set up, with
the reference that explains it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from .mirror_records import (
    BLACKLISTS,
    Companion,
    Connector,
    ConnectorSettings,
)
from .report import counted
from .topics import ReplicatedTopics

__all__ = [
    "TRAPS",
    "DoctorFinding",
    "FindingSeverity",
    "MirrorSetup",
    "SetupConnector",
    "Trap",
    "find_traps",
]


class FindingSeverity(IntEnum):
    """Severity of a finding."""

    WARNING = 1

    ERROR = 2
    """Something does not work until this is corrected."""

    @property
    def label(self) -> str:
        """Name as it leaves the process."""
        return self.name.lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorFinding:
    """Finding of the doctor: one cause, and its remedy."""

    severity: FindingSeverity
    subject: str
    check: str
    cause: str
    remedy: str
    reference: str = ""
    """Reference to further documentation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupConnector:
    """A connector of a flow's mirror as Connect has it."""

    name: str
    fact: Connector | Companion
    properties: Mapping[str, str]
    """Its configuration. It may hold passwords: a rule quotes no value but
    those that cannot be one."""

    def get(self, name: str, default: str) -> str | None:
        """Return a setting; `None` if it is a reference, which only the
        worker resolves.
        """
        value = self.properties.get(name, default).strip()
        return None if "${" in value else value


@dataclass(frozen=True, kw_only=True)
class MirrorSetup:
    """Setup of the mirror of one flow, as far as it could be read."""

    flow: str
    source: str
    target: str
    topics: ReplicatedTopics
    policy: Literal["identity", "default", "format"]
    separator: str = "."
    syncs_location: Literal["source", "target"] = "source"
    canary: str | None = None
    """Canary topic at the source; `None` if there is none."""

    counts_errors: bool = False
    connectors: tuple[SetupConnector, ...] = ()
    source_topics: frozenset[str] = frozenset()
    target_topics: frozenset[str] = frozenset()
    brokers: Mapping[str, int] = field(default_factory=dict)
    replication: Mapping[tuple[str, str], int] = field(default_factory=dict)
    largest: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """``max.message.bytes`` at the source and at the target by source topic,
    where both are known."""

    @property
    def copying(self) -> tuple[tuple[SetupConnector, Connector], ...]:
        """Connectors that copy records, with what they do."""
        return tuple(
            (one, one.fact)
            for one in self.connectors
            if isinstance(one.fact, Connector)
        )

    def alias(self, side: str) -> str:
        """Return our alias of a side."""
        return self.source if side == "source" else self.target


Found = Iterator[tuple[str, str]]


def _single_replica(setup: MirrorSetup) -> Found:
    for side, brokers in setup.brokers.items():
        names = sorted(
            name
            for (place, name), factor in setup.replication.items()
            if place == side and factor == 1
        )
        if names and brokers > 1:
            yield (
                (
                    f"{_list(names)} at {setup.alias(side)} "
                    f"{'has' if len(names) == 1 else 'have'} one replica: "
                    "MirrorMaker stops, or loses its positions, with that "
                    "broker"
                ),
                (
                    "Raise the replication factor "
                    "(kafka-reassign-partitions), "
                    "and set offset-syncs.topic.replication.factor and its "
                    "like"
                ),
            )


def _by_value(
    found: Iterable[tuple[str, str | None]],
) -> list[tuple[str, list[str]]]:
    names: dict[str, list[str]] = {}
    for name, value in found:
        if value is not None:
            names.setdefault(value, []).append(name)
    return list(names.items())


def _other_location(setup: MirrorSetup) -> Found:
    given = (
        (one.name, one.get("offset-syncs.topic.location", "source"))
        for one in setup.connectors
        if not isinstance(one.fact, Companion)
        or one.fact.role == "checkpoints"
    )
    found = ((name, where and where.lower()) for name, where in given)
    for location, names in _by_value(found):
        if location and location != setup.syncs_location:
            keep = "keeps its" if len(names) == 1 else "keep their"
            yield (
                (
                    f"{_list(names)} {keep} offset-syncs at the "
                    f"{_quote(location)}, mirrorwatch looks at the "
                    f"{setup.syncs_location}"
                ),
                (
                    f"Set mirror.syncs_location to {_quote(location)}, or "
                    "offset-syncs.topic.location of all connectors alike"
                ),
            )


def _removed_setting(setup: MirrorSetup) -> Found:
    for old, new in BLACKLISTS.items():
        names = [
            one.name
            for one in setup.connectors
            if old in one.properties
            and new not in one.properties
            and not (
                isinstance(one.fact, Companion)
                and one.fact.role == "heartbeats"
            )
        ]
        if names:
            yield (
                (
                    f"{old} of {_list(names)} excludes nothing in Kafka 4.0 "
                    "and newer"
                ),
                f"Call it {new}, its name since Kafka 2.7",
            )


FLUSH = "offset.flush.interval.ms"


def _ignored_flush(setup: MirrorSetup) -> Found:
    for one, _ in setup.copying:
        if f"target.cluster.{FLUSH}" in one.properties:
            continue
        here = FLUSH in one.properties
        if here or f"source.cluster.{FLUSH}" in one.properties:
            yield (
                f"{FLUSH} of {one.name} has no effect: it is a setting of "
                "the worker" + ("" if here else " of the target"),
                (
                    f"Dedicated: set TARGET.{FLUSH}, with the target's alias. "
                    f"Connect: set {FLUSH} of the worker"
                ),
            )


def _starts_at_end(setup: MirrorSetup) -> Found:
    for one, fact in setup.copying:
        if fact.starts_at_end:
            yield (
                (
                    f"{one.name} has auto.offset.reset latest: what a new "
                    "topic "
                    "holds before MirrorMaker finds it is skipped, and so is "
                    "what retention outruns"
                ),
                "Set consumer.auto.offset.reset to earliest",
            )


def _ignored_override(setup: MirrorSetup) -> Found:
    for one, _ in setup.copying:
        names = sorted(
            name
            for name in one.properties
            if name.startswith("consumer.override.")
        )
        if names:
            yield (
                (
                    f"{_list(names)} of {one.name} {_has(names)} no effect: "
                    "MirrorMaker makes its consumer itself"
                ),
                "Use the prefix source.consumer. or consumer.",
            )


DEFAULT_REQUEST = 1_048_576
"""Bytes of ``max.request.size`` of Kafka's producers."""

BATCH_HEAD = 12
"""Bytes by which the default of ``max.message.bytes`` is larger."""


def _request_beyond_topic(setup: MirrorSetup) -> Found:
    for one, fact in setup.copying:
        size = fact.max_request_bytes or DEFAULT_REQUEST
        fails = sorted(
            topic
            for topic, (source, target) in setup.largest.items()
            if target < min(size, source)
        )
        if fails:
            yield (
                (
                    f"max.message.bytes of {_list(fails)} at {setup.target} "
                    "is "
                    f"below what {one.name} may send ({size} bytes): a larger "
                    "record fails its task"
                ),
                (
                    "Raise max.message.bytes at the target to that of the "
                    "source, or lower producer.override.max.request.size"
                ),
            )


def _record_beyond_request(setup: MirrorSetup) -> Found:
    for one, fact in setup.copying:
        size = fact.max_request_bytes or DEFAULT_REQUEST
        fails = sorted(
            topic
            for topic, (source, _) in setup.largest.items()
            # The topic's own limit leaves room for the head of a batch.
            if source > size + BATCH_HEAD
        )
        if fails:
            yield (
                (
                    f"{_list(fails)} at {setup.source} may hold records that "
                    "are "
                    f"larger than max.request.size of {one.name} ({size} "
                    "bytes): such a record fails its task"
                ),
                (
                    "Raise producer.override.max.request.size (Connect), or "
                    "TARGET.producer.max.request.size (dedicated)"
                ),
            )


def _no_syncs(setup: MirrorSetup) -> Found:
    for one, fact in setup.copying:
        if not fact.emits_syncs:
            yield (
                (
                    f"{one.name} writes no offset-syncs: skips are not found, "
                    "and no consumer group can fail over"
                ),
                "Remove emit.offset-syncs.enabled=false",
            )


def _no_emission(setup: MirrorSetup) -> Found:
    for one in setup.connectors:
        fact = one.fact
        if not isinstance(fact, Companion) or fact.interval is not None:
            continue
        if fact.role == "heartbeats":
            yield (
                (
                    f"{one.name} writes no heartbeats: a stopped mirror "
                    "without "
                    "traffic is found by the canary only"
                ),
                "Remove emit.heartbeats.enabled=false",
            )
        if fact.role == "checkpoints":
            yield (
                (
                    f"{one.name} writes no checkpoints: no consumer group can "
                    "fail over"
                ),
                "Remove emit.checkpoints.enabled=false",
            )


def _overlap(setup: MirrorSetup) -> Found:
    copying = setup.copying
    for number, (one, fact) in enumerate(copying):
        for other, also in copying[number + 1 :]:
            both = sorted(
                topic
                for topic in setup.source_topics
                if setup.topics.carries(topic)
                and ConnectorSettings.of([fact]).selections
                and ConnectorSettings.of([also]).selections
                and fact.selection.matches(topic)
                and also.selection.matches(topic)
            )
            if both:
                yield (
                    (
                        f"{one.name} and {other.name} both copy "
                        f"{_list(both)}: "
                        "every record arrives twice"
                    ),
                    "Exclude the topics in one of them",
                )


def _hidden_topics(setup: MirrorSetup) -> Found:
    hidden = sorted(
        topic
        for topic in setup.source_topics
        if setup.topics.is_mistaken(topic, setup.target_topics)
    )
    if hidden:
        yield (
            (
                f"{_list(hidden)} at {setup.source} {_is(hidden)} not copied: "
                "the default policy takes a name with the target's alias in "
                "it "
                "for a copy from there"
            ),
            (
                "Rename the topics or the alias, or use the "
                "IdentityReplicationPolicy"
            ),
        )


def _uncounted_errors(setup: MirrorSetup) -> Found:
    for one, fact in setup.copying:
        if fact.tolerates_errors and not setup.counts_errors:
            yield (
                (
                    f"{one.name} drops records that fail (errors.tolerance "
                    "all), "
                    "and nobody counts them"
                ),
                (
                    "Set errors.tolerance to none, or configure mirror.jmx: "
                    "total-record-failures counts them"
                ),
            )


DEFAULT_POLICY = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

POLICIES = {
    "IdentityReplicationPolicy": "identity",
    "DefaultReplicationPolicy": "default",
}
"""Our `naming.policy` for those of MirrorMaker 2."""


def _other_policy(setup: MirrorSetup) -> Found:
    if setup.policy == "format":
        return
    given = (
        (one.name, one.get("replication.policy.class", DEFAULT_POLICY))
        for one, _ in setup.copying
    )
    found = ((name, (p or "").rpartition(".")[2]) for name, p in given)
    for policy, names in _by_value(found):
        meant = POLICIES.get(policy)
        if meant is not None and meant != setup.policy:
            yield (
                (
                    f"{_list(names)} {_use(names)} the {policy}, mirrorwatch "
                    f"expects naming {setup.policy}"
                ),
                f"Set naming to {meant}, or correct replication.policy.class",
            )


def _other_separator(setup: MirrorSetup) -> Found:
    found = (
        (one.name, one.get("replication.policy.separator", "."))
        for one, _ in setup.copying
    )
    for given, names in _by_value(found):
        if given != setup.separator:
            yield (
                (
                    f"{_list(names)} {_use(names)} the separator "
                    f"{_quote(given)}, mirrorwatch expects "
                    f"{_quote(setup.separator)}"
                ),
                f"Set mirror.separator to {_quote(given)}",
            )


def _canary_filtered(setup: MirrorSetup) -> Found:
    if setup.canary is None or not setup.copying:
        return
    known = ConnectorSettings.of(fact for _, fact in setup.copying)
    if not known.wants(setup.canary):
        names = [one.name for one, _ in setup.copying]
        yield (
            (
                f"the topic filter of {_list(names)} leaves out the canary "
                "topic "
                f"{setup.canary}: no probe can arrive"
            ),
            (
                f"Add {setup.canary.replace('.', '[.]')} to topics "
                "(topicsPattern with Strimzi)"
            ),
        )


@dataclass(frozen=True, slots=True)
class Trap:
    """A known trap."""

    name: str
    severity: FindingSeverity
    rule: Callable[[MirrorSetup], Found]
    reference: str


_KAFKA = "https://kafka.apache.org/documentation/"

TRAPS = (
    Trap("canary-filter", FindingSeverity.ERROR, _canary_filtered, "KIP-382"),
    Trap(
        "policy", FindingSeverity.ERROR, _other_policy, "KIP-382, KAFKA-9726"
    ),
    Trap("separator", FindingSeverity.ERROR, _other_separator, "KIP-690"),
    Trap("syncs-location", FindingSeverity.ERROR, _other_location, "KIP-716"),
    Trap("overlap", FindingSeverity.ERROR, _overlap, "KIP-382"),
    Trap(
        "hidden-topics", FindingSeverity.WARNING, _hidden_topics, "KAFKA-9914"
    ),
    Trap(
        "single-replica", FindingSeverity.WARNING, _single_replica, "KIP-382"
    ),
    Trap(
        "removed-setting",
        FindingSeverity.WARNING,
        _removed_setting,
        "KIP-629",
    ),
    Trap(
        "flush-interval",
        FindingSeverity.WARNING,
        _ignored_flush,
        f"{_KAFKA}#georeplication",
    ),
    Trap(
        "offset-reset", FindingSeverity.WARNING, _starts_at_end, "KAFKA-13988"
    ),
    Trap(
        "consumer-override",
        FindingSeverity.WARNING,
        _ignored_override,
        f"{_KAFKA}#georeplication",
    ),
    Trap(
        "target-size",
        FindingSeverity.WARNING,
        _request_beyond_topic,
        "KAFKA-8350, strimzi-kafka-operator#5933",
    ),
    Trap(
        "request-size",
        FindingSeverity.WARNING,
        _record_beyond_request,
        "strimzi-kafka-operator#8710",
    ),
    Trap(
        "syncs-off",
        FindingSeverity.WARNING,
        _no_syncs,
        "KIP-1031, KAFKA-16254",
    ),
    Trap("emission-off", FindingSeverity.WARNING, _no_emission, "KIP-382"),
    Trap(
        "errors-uncounted",
        FindingSeverity.WARNING,
        _uncounted_errors,
        "KIP-298",
    ),
)
"""All of them, those that make the agent blind first."""


def find_traps(setup: MirrorSetup) -> list[DoctorFinding]:
    """Return the traps that a mirror is in."""
    return [
        DoctorFinding(
            severity=trap.severity,
            subject=f"flow {setup.flow}",
            check=trap.name,
            cause=cause,
            remedy=remedy,
            reference=trap.reference,
        )
        for trap in TRAPS
        for cause, remedy in trap.rule(setup)
    ]


SHOWN = 3


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - SHOWN
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {counted(more, 'other')}" if more > 0 else shown


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _use(names: list[str]) -> str:
    return "uses" if len(names) == 1 else "use"


def _quote(value: str) -> str:
    return value if value.isalnum() else f"'{value}'"
