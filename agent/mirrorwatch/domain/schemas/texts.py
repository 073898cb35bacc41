"""Texts of the check `schemas`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "DIFFERENT",
    "INCOMPARABLE",
    "LATE",
    "MISSING",
    "MISSING_SUBJECTS",
    "MODE",
    "NOT_COPIED",
    "NO_DATA",
    "OFF",
    "OK",
    "REGISTRY_TOPIC",
    "STALE",
    "UNREADABLE",
    "UNRESOLVABLE",
]

ABOUT = """\
Whether consumers at the target can decode what arrives. The newest records of
each topic are sampled on both sides; each schema id in them (Confluent's or
Apicurio's format, payload or headers) must be known to the target's registry
and be the same schema as at the source. Documentation, aliases and defaults
may differ. Old records are not sampled. Findings end when the target has the
schema, or the records have expired."""

OK = Code(
    name="schemas.ok",
    title="Schema ids in records of {topics:topic} resolve alike at {source} and "
    "{target} ({schemas:schema id} compared)",
    meaning="""\
0 compared: the newest ids are known only to the target's registry, so that
consumers there can decode the records.""",
)

OFF = Code(
    name="schemas.off",
    title="No schemas to compare: it takes a schema registry at each cluster, and "
    "records with schema ids[ (none in {topics:topic} sampled)]",
)

NO_DATA = Code(
    name="schemas.no-data",
    title="Schemas were not read yet"
    "[: records of {topics:topic} not sampled]"
    "[: {schemas:schema id} not looked up]",
    meaning="""\
mirrorwatch was just started. Later: a partition without leader, or a slow
broker or registry.""",
    steps="""\
1. Wait a minute.
2. [Look for partitions without leader](#look-at-a-topic) on both clusters.""",
)

STALE = Code(
    name="schemas.stale",
    title="Schemas were last read {seconds:duration} ago",
)

UNREADABLE = Code(name="schemas.unreadable", title="{problem}")

MISSING = Code(
    name="schemas.missing",
    title="Records of {topic}[ and {other_topics:more topic}] cannot be decoded at "
    "{target}: its schema registry lacks {schema} for {seconds:duration}",
    meaning="""\
Consumers fail at these records, and go on once the schema is there. No record
is lost. Warning while it may only be late (`limits.schemas.patience`, 30 s):
schemas often arrive seconds after their first records.""",
    steps="""\
1. Compare `GET /schemas/ids/ID` of both registries.
2. The flow copies the registry's topic (see the evidence): check its `lag`, and
   in the log of the target's registry that it reads the copy
   (`kafkastore.topic`).
3. It does not: add that topic to the mirror's `topics`, or register the schema
   at the target with its id, in mode `IMPORT`. A registry in mode `READONLY`
   takes none.""",
)

NOT_COPIED = Code(
    name="schemas.not-copied",
    title="Records of {topic}[ and {other_topics:more topic}] at {source}, not "
    "copied yet, cannot be decoded at {target}: its schema registry lacks "
    "{schema} for {seconds:duration}",
    meaning="""\
Consumers at the target will fail once the records arrive. While the mirror does
not run, its copy of the schemas waits as the records do.""",
    steps="1. As for [`schemas.missing`](#schemasmissing), before consumers see it.",
)

DIFFERENT = Code(
    name="schemas.different",
    title="Records of {topic}[ and {other_topics:more topic}] are decoded by a "
    "wrong schema at {target}: {schema} differs from {source} for "
    "{seconds:duration}",
    meaning="""\
Consumers fail, or read wrong values without an error: both registries assigned
the same id.""",
    steps="""\
1. Stop consumers that act on wrong values.
2. Find who registered the schema at the target. Set the mode of its registry to
   `READONLY`, or to `IMPORT` for what copies schemas.
3. Delete the wrong schema, import the source's with its id.""",
)

UNRESOLVABLE = Code(
    name="schemas.unresolvable",
    title="Records of {topic}[ and {other_topics:more topic}] cannot be decoded: "
    "the schema registries of {source} and {target} lack {schema} for "
    "{seconds:duration}",
    meaning="""\
The schema was deleted, or the producer registers in a third registry. Consumers
fail on both sides.""",
    steps="""\
1. Restore the schema with its id.
2. Check which registry the producer of the topic uses.""",
)

INCOMPARABLE = Code(
    name="schemas.incomparable",
    title="Cannot compare {schema} of {topic} at {source} and {target}: the texts "
    "differ in a format that is not understood",
    meaning="""\
Avro and JSON are compared by their meaning, Protobuf only without comments and
white space, and references by their names.""",
    steps="1. Compare them, and register the same text on both sides.",
)

LATE = Code(
    name="schemas.late",
    title="{schemas:schema} arrived late at {target}, that of {topic} up to "
    "{delay_seconds:duration} after its first record, {seconds:duration} ago",
    meaning="""\
Consumers failed meanwhile, and some stop for good. Ends an hour later
(`limits.schemas.late_window`).""",
    steps="1. Check consumers and sink tasks of the topic at the target.",
)

REGISTRY_TOPIC = Code(
    name="schemas.registry-topic",
    title="Schema registry of {target} reads {wanted}, but {mirror} does not copy "
    "{topic} there[, but to {copied_to}]",
    meaning="New schemas will not arrive.",
    steps="""\
1. Correct `kafkastore.topic` of that registry, or the filter of the mirror.
2. If the registry reads another topic, correct
   `clusters.….schema_registry.topic`.""",
)

MODE = Code(
    name="schemas.mode",
    title="Schema registry of {cluster} rejects new schemas[ of {subject}]"
    "[ and {other_subjects:more subject}]: mode {mode}",
    meaning="""\
`IMPORT` at the source: producers cannot register, as after a copy. `READONLY`
of a subject at the target: its schemas cannot be copied there.""",
    steps="""\
1. Source: `PUT /mode` with `READWRITE`.
2. One subject: `DELETE /mode/SUBJECT` gives it the registry's mode again. At the
   target set `IMPORT` for what copies schemas.""",
)

MISSING_SUBJECTS = Code(
    name="schemas.missing-subjects",
    title="Schema registry of {target} lacks subject {subject}"
    "[ and {other_subjects:more subject}]",
    meaning="""\
Consumers resolve ids without it. After a failover, producers, sink connectors
and SQL engines that look schemas up by topic fail.""",
    steps="""\
1. Copy the subjects of the source, under the names that the topics have at the
   target.
2. If nobody looks them up, set `limits.schemas.subjects: false`.""",
)
