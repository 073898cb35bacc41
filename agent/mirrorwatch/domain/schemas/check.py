"""The check ``schemas``: whether readers at the target can decode records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypedDict

from ..report import (
    Evidence,
    Finding,
    Health,
    Numbers,
    Subject,
    Verdict,
    agree,
    conclude,
    counted,
    every,
    seconds,
)
from .model import (
    STALE,
    Resolution,
    SchemaProblem,
    SchemasObservation,
    SchemaUse,
)

__all__ = ["SchemasLimits", "judge_schemas"]

SHOWN = 20
"""Schema ids, late schemas and subjects that the evidence names, of each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemasLimits:
    """Limits of the check `schemas`."""

    enabled: bool = True
    """Whether both clusters have a schema registry."""

    patience: timedelta = field(
        default=timedelta(seconds=30),
        metadata={"title": "Missing after", "ge": timedelta()},
    )
    """How long a schema may be missing at the target while records use it
    before that is critical; until then it is a warning. A schema is replicated
    beside its first records and often arrives seconds after them, and
    registries read their topic within a second."""

    late_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Late schemas are shown for", "ge": timedelta()},
    )
    """How long a schema that was missing for longer than `patience` stays a
    warning after it has arrived: consumers failed meanwhile, and some stop for
    good."""

    subjects: bool = field(
        default=True, metadata={"title": "Compare subjects"}
    )
    """Whether a subject that the target lacks is a warning: the subject
    `TOPIC-value` or `TOPIC-key` of the source, under the name that the topic
    has at the target. Consumers resolve ids without it; producers, sink
    connectors and SQL engines look it up after a failover."""


READONLY = "READONLY"
"""Mode in which a registry, or a subject, takes no schema."""


def judge_schemas(
    flow: str,
    seen: SchemasObservation | None,
    limits: SchemasLimits,
    now: datetime,
) -> Verdict:
    """Judge whether readers at the target can decode what a flow copies.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        What was learned of the schemas.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="schemas",
        now=now,
        evidence={}
        if seen is None or not limits.enabled
        else _evidence(seen, now),
    )


def _find(
    seen: SchemasObservation | None, limits: SchemasLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(
            "schemas.off",
            Health.OFF,
            "Schemas are compared only where source and target have a schema "
            "registry each (clusters.*.schema_registry)",
        )
        return
    if seen is None:
        yield Finding(
            "schemas.no-data",
            Health.UNKNOWN,
            "Schemas of the records have not been read yet",
        )
        return
    yield from _find_bad(seen, limits, now)
    yield from _find_unknown(seen, now)
    yield from _find_late(seen, limits, now)
    yield from _find_setup(seen, limits)
    if seen.carriers:
        yield Finding(
            "schemas.ok",
            Health.OK,
            f"{every(seen.resolved, 'schema id').capitalize()} in records of "
            f"{counted(seen.carriers, 'topic')} "
            f"{agree(seen.resolved, 'are')} the same schema at "
            f"{seen.source} and {seen.target}"
            if seen.resolved
            else "The schema ids in the newest records are known only to the "
            f"schema registry of {seen.target}",
            numbers={"schemas": seen.resolved, "topics": seen.carriers},
        )
    elif seen.known:
        yield Finding(
            "schemas.off",
            Health.OFF,
            "No record that was sampled carries a schema id "
            f"({counted(seen.topics, 'topic')})",
            numbers={"topics": seen.topics},
        )


def _find_bad(
    seen: SchemasObservation, limits: SchemasLimits, now: datetime
) -> Iterator[Finding]:
    missing = _only(seen.bad, Resolution.MISSING)
    arrived = sorted(
        (p.unreadable_since, p.use, p)
        for p in missing
        if p.unreadable_since is not None
    )
    overdue = [p for at, _, p in arrived if now - at > limits.patience]
    if overdue:
        yield Finding(
            "schemas.missing",
            Health.CRITICAL,
            f"Records of {_which(overdue)} cannot be decoded at "
            f"{seen.target}: {overdue[0].use.schema} is unknown in its schema "
            f"registry for {seconds(now - arrived[0][0])}. {_remedy(seen)}",
            **_facts(overdue, now - arrived[0][0]),
        )
    fresh = [(at, p) for at, _, p in arrived if p not in overdue]
    if fresh:
        at, first = fresh[0]
        yield Finding(
            "schemas.missing",
            Health.WARNING,
            f"Records of {_which([p for _, p in fresh])} cannot be decoded "
            f"at {seen.target} yet: {first.use.schema} is unknown in its "
            f"schema registry for {seconds(now - at)}",
            **_facts([p for _, p in fresh], now - at),
        )
    coming = [
        p
        for p in missing
        if p.arrived is None and now - p.since > limits.patience
    ]
    if coming:
        yield Finding(
            "schemas.not-copied",
            Health.WARNING,
            f"Records of {_which(coming)} at {seen.source}, not copied yet, "
            f"will not be decoded at {seen.target}: "
            f"{coming[0].use.schema} is unknown in its schema registry for "
            f"{seconds(now - coming[0].since)}. {_remedy(seen)}",
            **_facts(coming, now - coming[0].since),
        )
    different = _only(seen.bad, Resolution.DIFFERENT)
    if different:
        yield Finding(
            "schemas.different",
            Health.CRITICAL,
            f"Records of {_which(different)} are decoded by a wrong schema "
            f"at {seen.target}: {different[0].use.schema} is another schema "
            f"there than at {seen.source}, for "
            f"{seconds(now - different[0].since)}. Let one registry assign "
            f"ids, and import the schemas of {seen.source} with theirs",
            **_facts(different, now - different[0].since),
        )
    neither = _only(seen.bad, Resolution.NEITHER)
    if neither:
        yield Finding(
            "schemas.unresolvable",
            Health.CRITICAL,
            f"Records of {_which(neither)} cannot be decoded: "
            f"{neither[0].use.schema} is unknown in the schema registries of "
            f"{seen.source} and {seen.target} for "
            f"{seconds(now - neither[0].since)}. Restore the schema, or check "
            "where its producer registers schemas",
            **_facts(neither, now - neither[0].since),
        )


class _Facts(TypedDict):
    subject: Subject
    numbers: Numbers


def _facts(problems: Sequence[SchemaProblem], lasted: timedelta) -> _Facts:
    return {
        "subject": {"topic": problems[0].use.topic},
        "numbers": {
            "schemas": len({p.use.schema for p in problems}),
            "topics": len({p.use.topic for p in problems}),
            "seconds": lasted.total_seconds(),
        },
    }


def _only(
    bad: Sequence[SchemaProblem], resolution: Resolution
) -> list[SchemaProblem]:
    return [p for p in bad if p.resolution is resolution]


def _which(problems: Sequence[SchemaProblem]) -> str:
    topics = {p.use.topic for p in problems}
    more = len(topics) - 1
    others = f" and {counted(more, 'more topic')}" if more else ""
    return f"{problems[0].use.topic}{others}"


def _remedy(seen: SchemasObservation) -> str:
    """Return what to do about a schema that the target lacks, by how the
    registry's own topic is replicated.
    """
    topic, target = seen.registry_topic, seen.target
    mode = seen.modes.get(target)
    said = f" (its mode is {mode})" if mode else ""
    if topic.feeds_target:
        return (
            f"Check the lag of {topic.source}, and that the registry of "
            f"{target} reads {topic.remote}{said}"
        )
    if topic.remote is not None and topic.wanted is None:
        return (
            f"The flow copies {topic.source} as {topic.remote}: check that "
            f"the registry of {target} reads that{said}"
        )
    if mode == READONLY:
        said = " (its mode is READONLY: set IMPORT first)"
    return f"Copy the schemas of {seen.source} there with their ids{said}" + (
        f"; the flow does not copy {topic.source}"
        if topic.exists and topic.remote is None
        else ""
    )


def _find_unknown(
    seen: SchemasObservation, now: datetime
) -> Iterator[Finding]:
    for problem in seen.problems:
        yield Finding("schemas.unreadable", Health.UNKNOWN, problem)
    if not seen.known:
        yield Finding(
            "schemas.no-data",
            Health.UNKNOWN,
            "Schemas of the records have not been read since mirrorwatch "
            "started",
        )
        return
    if now - seen.at > STALE and not seen.problems:
        yield Finding(
            "schemas.stale",
            Health.UNKNOWN,
            "Schemas of the records were last read "
            f"{seconds(now - seen.at)} ago: mirrorwatch hangs",
            numbers={"seconds": (now - seen.at).total_seconds()},
        )
    if seen.unsampled:
        yield Finding(
            "schemas.no-data",
            Health.UNKNOWN,
            f"Records of {seen.unsampled:,} of "
            f"{counted(seen.topics, 'topic')} have not been sampled yet",
            numbers={"topics": seen.unsampled},
        )
    if seen.unresolved and not seen.problems:
        yield Finding(
            "schemas.no-data",
            Health.UNKNOWN,
            f"{counted(seen.unresolved, 'schema id')} "
            f"{agree(seen.unresolved, 'have')} not been looked up yet",
            numbers={"schemas": seen.unresolved},
        )
    if seen.incomparable:
        use = seen.incomparable[0]
        yield Finding(
            "schemas.incomparable",
            Health.UNKNOWN,
            f"Whether {use.schema} of {use.topic} is the same schema at "
            f"{seen.source} and {seen.target} is unknown: the texts differ, "
            "and only Avro and JSON can be compared",
            subject={"topic": use.topic},
            numbers={"schemas": len({u.schema for u in seen.incomparable})},
        )


def _find_late(
    seen: SchemasObservation, limits: SchemasLimits, now: datetime
) -> Iterator[Finding]:
    late = [
        one
        for one in seen.late
        if one.delay > limits.patience
        and now - one.readable_at <= limits.late_window
    ]
    if late:
        worst = max(late, key=lambda one: one.delay)
        more = f" (and {len(late) - 1:,} more)" if len(late) > 1 else ""
        at_most = "at most " if worst.at_most else ""
        yield Finding(
            "schemas.late",
            Health.WARNING,
            f"{_capital(worst.use.schema)} of {worst.use.topic}{more} "
            f"arrived at {seen.target} {at_most}{seconds(worst.delay)} after "
            f"its first record, {seconds(now - worst.readable_at)} ago. Check "
            "that its consumers have recovered",
            subject={"topic": worst.use.topic},
            numbers={
                "schemas": len({one.use.schema for one in late}),
                "delay_seconds": worst.delay.total_seconds(),
            },
        )


def _capital(of: object) -> str:
    text = str(of)
    return text[:1].upper() + text[1:]


def _find_setup(
    seen: SchemasObservation, limits: SchemasLimits
) -> Iterator[Finding]:
    topic = seen.registry_topic
    if topic.misses:
        copied = (
            f"copies {topic.source} as {topic.remote}"
            if topic.remote is not None
            else f"does not copy {topic.source}"
        )
        yield Finding(
            "schemas.registry-topic",
            Health.WARNING,
            f"The schema registry of {seen.target} reads {topic.wanted} "
            "(clusters.*.schema_registry.topic), but the flow "
            f"{copied}: new schemas will not arrive",
            subject={"topic": topic.source},
        )
    if seen.modes.get(seen.source) == "IMPORT":
        yield Finding(
            "schemas.mode",
            Health.WARNING,
            f"Producers at {seen.source} cannot register schemas: its schema "
            "registry is in mode IMPORT. Set the mode READWRITE",
            subject={"cluster": seen.source},
        )
    yield from _find_subject_modes(seen)
    if limits.subjects and seen.missing_subjects:
        more = len(seen.missing_subjects) - 1
        others = f" (and {more:,} more)" if more else ""
        yield Finding(
            "schemas.missing-subjects",
            Health.WARNING,
            f"The schema registry of {seen.target} lacks subject "
            f"{seen.missing_subjects[0]}{others}: after a failover, clients "
            "that look schemas up by topic fail. Copy the subjects of "
            f"{seen.source} under the names of the topics at {seen.target}",
            subject={"subject": seen.missing_subjects[0]},
            numbers={"subjects": len(seen.missing_subjects)},
        )


def _find_subject_modes(seen: SchemasObservation) -> Iterator[Finding]:
    """Find subjects that take no schema, but by modes of their own.

    Notes
    -----
    A target whose whole registry is READONLY is one that waits for a failover,
    and a subject that is READONLY at the source, too, is one that shall not
    change.
    """
    imports = [
        one.subject
        for one in seen.subject_modes
        if one.alias == seen.source and one.mode == "IMPORT"
    ]
    if imports:
        yield Finding(
            "schemas.mode",
            Health.WARNING,
            f"Producers at {seen.source} cannot register schemas of "
            f"{_subjects(imports)}: its mode is IMPORT. Set the mode "
            "READWRITE",
            subject={"cluster": seen.source, "subject": imports[0]},
            numbers={"subjects": len(imports)},
        )
    frozen = [
        one.subject
        for one in seen.subject_modes
        if one.alias == seen.target
        and one.mode == READONLY
        and one.other != READONLY
    ]
    if frozen and not seen.registry_topic.feeds_target:
        yield Finding(
            "schemas.mode",
            Health.WARNING,
            f"New schemas of {_subjects(frozen)} cannot be copied to "
            f"{seen.target}: its mode in the schema registry there is "
            "READONLY. Set the mode IMPORT, or delete the mode of the subject",
            subject={"cluster": seen.target, "subject": frozen[0]},
            numbers={"subjects": len(frozen)},
        )


def _subjects(names: Sequence[str]) -> str:
    more = len(names) - 1
    others = f" and {counted(more, 'more subject')}" if more else ""
    return f"subject {names[0]}{others}"


def _evidence(seen: SchemasObservation, now: datetime) -> Evidence:
    topic = seen.registry_topic
    found: dict[str, str | int | float | bool | None] = {
        "topics": seen.topics,
        "topics_with_schemas": seen.carriers,
        "topics_not_sampled": seen.unsampled,
        "schema_ids_resolved": seen.resolved,
        "schema_ids_bad": len({p.use.schema for p in seen.bad}),
        "subjects_missing": len(seen.missing_subjects),
    }
    for alias in sorted(seen.modes):
        found[f"registry_mode_{alias}"] = seen.modes[alias]
    for n, one in enumerate(seen.subject_modes[:SHOWN], start=1):
        found[f"subject_mode_{n}"] = (
            f"{one.subject} at {one.alias}: {one.mode}"
        )
    if topic.exists:
        found["registry_topic"] = (
            f"{topic.source}, not copied"
            if topic.remote is None
            else f"{topic.source}, copied as {topic.remote}"
        )
    for n, problem in enumerate(seen.bad[:SHOWN], start=1):
        side, partition, offset = problem.at
        found[f"schema_{n}"] = (
            f"{_say(problem.use)}: {problem.resolution}, "
            f"for {seconds(now - problem.since)}, newest at offset {offset} "
            f"of partition {partition} at the {side}"
        )
    for n, late in enumerate(seen.late[:SHOWN], start=1):
        found[f"late_{n}"] = (
            f"{_say(late.use)}: {late.delay.total_seconds():.0f} s after its "
            "first record"
        )
    for n, subject in enumerate(seen.missing_subjects[:SHOWN], start=1):
        found[f"missing_subject_{n}"] = subject
    return found


def _say(use: SchemaUse) -> str:
    return f"{use.topic} {use.part} {use.schema}"
