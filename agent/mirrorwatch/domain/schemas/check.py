"""The check ``schemas``: whether readers at the target can decode records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..finding import Code, Finding, Health
from ..report import Evidence, Verdict, conclude
from . import texts
from .model import STALE, Resolution, SchemaProblem, SchemasObservation

__all__ = ["SchemasLimits", "judge_schemas"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemasLimits:
    """Limits of the check `schemas`."""

    enabled: bool = True
    """Both clusters have a schema registry."""

    patience: timedelta = field(
        default=timedelta(seconds=30),
        metadata={"title": "Missing after", "ge": timedelta()},
    )
    """Grace period for a schema that is missing at the target while records
    use it: a warning at first, then critical. A schema is replicated beside
    its first records and often arrives seconds after them, and registries
    read their topic within a second."""

    late_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Late schemas are shown for", "ge": timedelta()},
    )
    """Time a schema stays a warning after it has arrived, if it was missing
    for longer than `patience`: consumers failed meanwhile, and some stop for
    good."""

    subjects: bool = field(
        default=True, metadata={"title": "Compare subjects"}
    )
    """Warn if the target lacks a subject: the subject `TOPIC-value` or
    `TOPIC-key` of the source, under the name that the topic has at the target.
    Consumers resolve ids without it; producers, sink connectors and SQL
    engines look it up after a failover."""


IMPORT, READONLY = "IMPORT", "READONLY"
"""Modes in which a registry, or a subject, takes only schemas with their ids,
and none."""


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
        Observation of the schemas.
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
        evidence={} if seen is None or not limits.enabled else _evidence(seen),
    )


def _find(
    seen: SchemasObservation | None, limits: SchemasLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    yield from _find_bad(seen, limits, now)
    yield from _find_unknown(seen, now)
    yield from _find_late(seen, limits, now)
    yield from _find_setup(seen, limits)
    if seen.carriers:
        yield texts.OK.found(
            Health.OK,
            schemas=seen.resolved,
            topics=seen.carriers,
            source=seen.source,
            target=seen.target,
        )
    elif seen.known:
        yield texts.OFF.found(Health.OFF, topics=seen.topics)


def _find_bad(
    seen: SchemasObservation, limits: SchemasLimits, now: datetime
) -> Iterator[Finding]:
    missing = _only(seen.bad, Resolution.MISSING)
    arrived = sorted(
        (p.unreadable_since, p.use, p)
        for p in missing
        if p.unreadable_since is not None
    )
    overdue = [(at, p) for at, _, p in arrived if now - at > limits.patience]
    fresh = [(at, p) for at, _, p in arrived if now - at <= limits.patience]
    coming = [
        (p.since, p)
        for p in missing
        if p.arrived is None and now - p.since > limits.patience
    ]
    different = _only(seen.bad, Resolution.DIFFERENT)
    neither = _only(seen.bad, Resolution.NEITHER)
    for code, health, bad in (
        (texts.MISSING, Health.CRITICAL, overdue),
        (texts.MISSING, Health.WARNING, fresh),
        (texts.NOT_COPIED, Health.WARNING, coming),
        (texts.DIFFERENT, Health.CRITICAL, _dated(different)),
        (texts.UNRESOLVABLE, Health.CRITICAL, _dated(neither)),
    ):
        if bad:
            yield _bad(code, health, seen, bad, now)


def _dated(
    problems: Sequence[SchemaProblem],
) -> list[tuple[datetime, SchemaProblem]]:
    return [(problem.since, problem) for problem in problems]


def _bad(
    code: Code,
    health: Health,
    seen: SchemasObservation,
    bad: Sequence[tuple[datetime, SchemaProblem]],
    now: datetime,
) -> Finding:
    since, first = bad[0]
    side, partition, offset = first.at
    topics = len({p.use.topic for _, p in bad})
    return code.found(
        health,
        {"topic": first.use.topic},
        schemas=len({p.use.schema for _, p in bad}),
        topics=topics,
        other_topics=topics - 1 or None,
        seconds=(now - since).total_seconds(),
        source=seen.source,
        target=seen.target,
        schema=str(first.use.schema),
        part=first.use.part,
        newest_at=side,
        newest_partition=partition,
        newest_offset=offset,
    )


def _only(
    bad: Sequence[SchemaProblem], resolution: Resolution
) -> list[SchemaProblem]:
    return [p for p in bad if p.resolution is resolution]


def _find_unknown(
    seen: SchemasObservation, now: datetime
) -> Iterator[Finding]:
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if not seen.known:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    age = now - seen.at
    if age > STALE and not seen.problems:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    if seen.unsampled:
        yield texts.NO_DATA.found(Health.UNKNOWN, topics=seen.unsampled)
    if seen.unresolved and not seen.problems:
        yield texts.NO_DATA.found(Health.UNKNOWN, schemas=seen.unresolved)
    if seen.incomparable:
        use = seen.incomparable[0]
        yield texts.INCOMPARABLE.found(
            Health.UNKNOWN,
            {"topic": use.topic},
            schemas=len({u.schema for u in seen.incomparable}),
            schema=str(use.schema),
            source=seen.source,
            target=seen.target,
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
        yield texts.LATE.found(
            Health.WARNING,
            {"topic": worst.use.topic},
            schemas=len({one.use.schema for one in late}),
            schema=str(worst.use.schema),
            target=seen.target,
            delay_seconds=worst.delay.total_seconds(),
            seconds=(now - worst.readable_at).total_seconds(),
        )


def _find_setup(
    seen: SchemasObservation, limits: SchemasLimits
) -> Iterator[Finding]:
    topic = seen.registry_topic
    if topic.misses:
        yield texts.REGISTRY_TOPIC.found(
            Health.WARNING,
            {"topic": topic.source},
            target=seen.target,
            wanted=topic.wanted,
            copied_to=topic.remote,
        )
    if seen.modes.get(seen.source) == IMPORT:
        yield texts.MODE.found(
            Health.WARNING, {"cluster": seen.source}, mode=IMPORT
        )
    yield from _find_subject_modes(seen)
    if limits.subjects and seen.missing_subjects:
        yield texts.MISSING_SUBJECTS.found(
            Health.WARNING,
            {"subject": seen.missing_subjects[0]},
            subjects=len(seen.missing_subjects),
            other_subjects=len(seen.missing_subjects) - 1 or None,
            target=seen.target,
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
        if one.alias == seen.source and one.mode == IMPORT
    ]
    frozen = [
        one.subject
        for one in seen.subject_modes
        if one.alias == seen.target
        and one.mode == READONLY
        and one.other != READONLY
        and not seen.registry_topic.feeds_target
    ]
    for alias, mode, subjects in (
        (seen.source, IMPORT, imports),
        (seen.target, READONLY, frozen),
    ):
        if subjects:
            yield texts.MODE.found(
                Health.WARNING,
                {"cluster": alias, "subject": subjects[0]},
                subjects=len(subjects),
                other_subjects=len(subjects) - 1 or None,
                mode=mode,
            )


def _evidence(seen: SchemasObservation) -> Evidence:
    """Return how schemas come to the target."""
    topic = seen.registry_topic
    found = {
        f"registry_mode_{alias}": mode
        for alias, mode in sorted(seen.modes.items())
    }
    if topic.exists:
        found["registry_topic"] = topic.source
        found["registry_topic_copied_as"] = topic.remote or "not copied"
    return found
