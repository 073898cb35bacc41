"""What the reference says around the tables."""

__all__ = ["AFTER", "BEFORE", "KINDS"]

KINDS = {
    "bool": "true or false",
    "ByteSize": "size (`100000`, `512KiB`)",
    "float": "number",
    "int": "whole number",
    "KafkaProperties": "mapping of librdkafka properties",
    "Path": "path",
    "SecretStr": "secret",
    "str": "text",
    "timedelta": "duration",
}
"""Types as people call them."""

BEFORE = """
# Configuration

<!-- Made by `python -m mirrorwatch.config.reference`; a test holds it so. -->

One YAML file, named by `--config FILE` or `MIRRORWATCH_CONFIG`. An example is
`agent/config.example.yaml`. `mirrorwatch check-config` says what a file means,
or everything that is wrong with it, without connecting to anything. Only
`clusters` and `flows` are required.

**Durations** have a unit: `250ms`, `5s`, `15m`, `2h`, `1d`. A bare number is
refused. **A key without a value** is the same as no key. **Unknown keys** are
refused, and so are keys that stand there twice.

**Secrets** do not belong in the file. `${env:NAME}` stands for an environment
variable and `${file:/path}` for the content of a file (without the line feed
at its end), in any value, also inside a longer text. `$${env:NAME}` stands for
the text itself. What came from a reference is never shown: not in an error,
a log, the page or the output of `check-config`. The same goes for every value
whose key speaks of a password, token, key, secret, credential, PEM or JAAS.
"""

AFTER = r"""
## Rules between keys

Refused, each with the file, the line, the key and what is allowed:

- a flow whose source or target is no cluster, or whose target is its source;
- two flows with one name;
- two flows from one cluster to one other whose topics overlap, or that have
  one canary topic, or where one carries the other's canary topic;
- a ring of flows that keep names (`identity`, or an empty prefix), such as two
  opposite ones, with a topic that all of them carry, or with one canary topic:
  records would go round for ever;
- flows from different clusters that write to one topic of their target, unless
  both list it under `topics.merged`;
- `canary.format: avro` where the source has no `schema_registry`;
- sized probes above 512 KiB, or above `mirror.max_request_size` where that is
  configured: a record that the mirror cannot produce kills its task;
- a `separator` of the naming that is not the mirror's: MirrorMaker 2 has one;
- `mirror.jmx` with an address that its format cannot use, a password without a
  user, or `ca` for RMI;
- keys of InfluxDB 2.x and 1.x together.

## Topic regexes

They match the whole name, as in MirrorMaker 2, which uses Java's regexes;
here they are Python's. For topic names the two agree, but for these, which are
refused: `\Q...\E`, `\p{...}`, `\h`, `(?<name>...)` (Java only),
`[a-z&&[^b]]` and `[a[bc]]` (read differently), `(?P<name>...)` (Python only).
`include` and `exclude` also take the mirror's own comma separated text, which
is split at every comma, as Kafka does.

Whether two filters overlap is decided exactly: each regex becomes a finite
automaton, and all are walked together until a common name is found or none is
left. A refusal names such a topic, and is never wrong. Not decided, and noted
by `check-config`, are regexes beyond automata (look-behind, back-references,
`\b`, anchors in the middle, atomic groups), an unbounded repeat followed by
a counted one above 10 (`.*x.{12}`), whose automaton would be huge, and filters
that together have more than 200,000 states.

## Kafka properties that the agent owns

Everything else is passed through to every client of the cluster. Refused:

@OWNED@
"""
