"""Metrics of the schemas that readers at the target need."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .model import STALE, Resolution, SchemasObservation

__all__ = [
    "METRICS",
    "MISSING_SCHEMAS",
    "MISSING_SUBJECTS",
    "SCHEMA_COLLISIONS",
    "SCHEMA_DELAY",
    "SCHEMA_IDS",
    "samples",
]

_LABELS = ("flow",)

MISSING_SCHEMAS = gauge(
    "missing_schemas",
    "schemas",
    "schemas",
    _LABELS,
    "Schema ids in records that the schema registry of the target does not "
    "know; absent while unknown",
)
SCHEMA_COLLISIONS = gauge(
    "schemas_collisions",
    "schemas",
    "schemas",
    _LABELS,
    "Schema ids in records that are another schema at the target than at the "
    "source; absent while unknown",
)
SCHEMA_IDS = gauge(
    "schemas_resolved",
    "schemas",
    "schemas",
    _LABELS,
    "Schema ids in records that are the same schema at source and target",
)
MISSING_SUBJECTS = gauge(
    "schemas_missing_subjects",
    "subjects",
    "schemas",
    _LABELS,
    "Subjects of replicated topics that the schema registry of the target "
    "lacks; absent while unknown",
)
SCHEMA_DELAY = gauge(
    "schemas_delay_seconds",
    "seconds",
    "schemas",
    _LABELS,
    "Longest time from the first record of a topic until its schema was "
    "readable at the target, over those of the last day; 0 if every schema "
    "was there first",
)

METRICS = (
    MISSING_SCHEMAS,
    SCHEMA_COLLISIONS,
    SCHEMA_IDS,
    MISSING_SUBJECTS,
    SCHEMA_DELAY,
)


def samples(seen: SchemasObservation, now: datetime) -> Iterator[Sample]:
    """Yield the samples of one flow; none while they are not known."""
    if not seen.known or now - seen.at > STALE:
        return
    labels = (seen.flow,)
    delay = max((one.delay.total_seconds() for one in seen.late), default=0.0)
    yield Sample(SCHEMA_DELAY, labels, delay)
    if seen.problems:
        return
    bad = {
        p.use.schema: p.resolution is Resolution.DIFFERENT for p in seen.bad
    }
    collisions = sum(bad.values())
    yield Sample(MISSING_SCHEMAS, labels, len(bad) - collisions)
    yield Sample(SCHEMA_COLLISIONS, labels, collisions)
    yield Sample(SCHEMA_IDS, labels, seen.resolved)
    yield Sample(MISSING_SUBJECTS, labels, len(seen.missing_subjects))
