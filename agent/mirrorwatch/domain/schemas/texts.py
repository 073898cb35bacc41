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
Whether consumers at the target can decode what arrives. Each schema id in a
topic's newest records (Confluent's or Apicurio's format) must be known to the
target's registry, with the same schema as at the source but for documentation,
aliases and defaults. Findings end with the schema's arrival, or the records'
expiry."""

OK = Code(
    name="schemas.ok",
    title="Schema ids in records of {topics:topic} resolve alike at {source} and "
    "{target} ({schemas:schema id} compared)",
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
1. Wait a minute, then [look for partitions without leader](#look-at-a-topic).""",
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
Consumers fail at these records until the schema is there. No record is lost.
Warning for the first 30 s (`limits.schemas.patience`), as schemas often arrive
later.""",
    steps="""\
1. Compare `GET /schemas/ids/ID` of both registries.
2. The flow copies the registry's topic (see the evidence): check its
   [`lag`](#lag), and in the target registry's log that it reads the copy
   (`kafkastore.topic`).
3. It does not: add that topic to the mirror's `topics`, or register the schema
   at the target with its id, in mode `IMPORT`.""",
)

NOT_COPIED = Code(
    name="schemas.not-copied",
    title="Records of {topic}[ and {other_topics:more topic}] at {source}, not "
    "copied yet, cannot be decoded at {target}: its schema registry lacks "
    "{schema} for {seconds:duration}",
    meaning="""\
Consumers at the target will fail once the records arrive. While the mirror is
down, schemas that it copies wait, too.""",
    steps="""\
1. As for [`schemas.missing`](#schemasmissing), before the mirror resumes.""",
)

DIFFERENT = Code(
    name="schemas.different",
    title="Records of {topic}[ and {other_topics:more topic}] are decoded by a "
    "wrong schema at {target}: {schema} differs from {source} for "
    "{seconds:duration}",
    meaning="""\
Both registries assigned the same id: consumers fail, or read wrong values
without an error.""",
    steps="""\
1. Stop consumers that act on wrong values.
2. Find who registered the schema at the target. Set its registry to
   `READONLY`, or `IMPORT` for what copies schemas.
3. Delete the wrong schema, import the source's with its id.""",
)

UNRESOLVABLE = Code(
    name="schemas.unresolvable",
    title="Records of {topic}[ and {other_topics:more topic}] cannot be decoded: "
    "the schema registries of {source} and {target} lack {schema} for "
    "{seconds:duration}",
    meaning="""\
Consumers fail on both sides: the schema was deleted, or the producer uses a
third registry.""",
    steps="""\
1. Restore the schema with its id, or correct the producer's registry.""",
)

INCOMPARABLE = Code(
    name="schemas.incomparable",
    title="Cannot compare {schema} of {topic} at {source} and {target}: the "
    "texts differ in an unknown format",
    meaning="""\
Avro and JSON are compared by meaning, Protobuf without comments and white
space, references by name.""",
    steps="1. Compare them, and register the same text on both sides.",
)

LATE = Code(
    name="schemas.late",
    title="{schemas:schema} arrived late at {target}, that of {topic} up to "
    "{delay_seconds:duration} after its first record, {seconds:duration} ago",
    meaning="""\
Consumers failed meanwhile, and some stop for good. Ends after an hour
(`limits.schemas.late_window`).""",
    steps="1. Check the topic's consumers and sink tasks at the target.",
)

REGISTRY_TOPIC = Code(
    name="schemas.registry-topic",
    title="Schema registry of {target} reads {wanted}, but {mirror} does not copy "
    "{topic} there[, but to {copied_to}]",
    meaning="New schemas will not arrive.",
    steps="""\
1. Correct `kafkastore.topic` of that registry, the mirror's filter, or
   `clusters.….schema_registry.topic` if the registry reads another topic.""",
)

MODE = Code(
    name="schemas.mode",
    title="Schema registry of {cluster} rejects new schemas[ of {subject}]"
    "[ and {other_subjects:more subject}]: mode {mode}",
    meaning="""\
`IMPORT` at the source, as after a copy: producers cannot register. `READONLY`
of a subject at the target: its schemas cannot be copied.""",
    steps="""\
1. Source: `PUT /mode` with `READWRITE`.
2. Subject: `DELETE /mode/SUBJECT` restores the registry's mode. At the target
   set `IMPORT` for what copies schemas.""",
)

MISSING_SUBJECTS = Code(
    name="schemas.missing-subjects",
    title="Schema registry of {target} lacks subject {subject}"
    "[ and {other_subjects:more subject}]",
    meaning="""\
Consumers do without it. After a failover, producers, sink connectors and SQL
engines that look schemas up by topic fail.""",
    steps="""\
1. Copy the source's subjects, under the topics' names at the target. Nobody
   looks them up: set `limits.schemas.subjects: false`.""",
)
