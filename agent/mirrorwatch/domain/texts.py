"""Front page of the runbook: first look, words, actions by platform."""

__all__ = ["AGENT", "FRONT"]

FRONT = """\
# Runbook

For the person on call. Every finding of mirrorwatch has a code, such as
`skips.dropped`, and an entry here: meaning first, then steps. The page,
notices and alerts link to the entry. `…` stands for names and numbers.

## First look

1. The **headline** of the page, or `mirrorwatch status`: it names the
   [cause](#cause) if one part is at fault. Start there: the other findings
   are its symptoms.
2. One flow, all flows of one cluster, or all flows? All flows at once is a
   cluster, the network of mirrorwatch, or mirrorwatch itself.
3. Is anything **lost** already? `skips.dropped`, `position.expired-unread`,
   `canary.lost` are proved losses. They stay critical for an hour.
4. How long is left? `retention` says when the first records expire uncopied.
   [Raise the retention](#raise-retention) early: it costs disk only.
5. `RUNNING` proves nothing: a task that hangs reports it too.

**Health.** `critical`: act now. `warning`: look at it today. `unknown`:
cannot be verified; as urgent as the fault that it may hide. `off`: not
configured, outside the flow's health. `ok`: within limits.

**Words.** *Flow*: replication from a source to a target cluster by one
mirror. *Probe*: a canary record. *Position*: next source offset that the
mirror will copy. *Committed position*: the position in Connect's offsets
topic. *Offset sync*: pair of source and target offset of one record, written
by MirrorMaker. *Lost*: gone for good at the target. *Unverifiable*: neither
copied nor lost is proved; the next audit decides.

## Actions

In commands, `NAME` is the KafkaMirrorMaker2 resource, `CONNECTOR` the
connector (with Strimzi `SOURCE->TARGET.MirrorSourceConnector`), `CONNECT` the
URL of Connect's REST API, `SOURCE` and `TARGET` the `host:port` of a broker.
Kafka's tools take `--command-config FILE` for TLS and logins. With Strimzi
change the resource: the operator takes back what is changed by REST.

### See connectors and tasks

- Strimzi: `kubectl get kafkamirrormaker2 NAME -o jsonpath='{.status.connectors}'`
- Connect: `curl 'CONNECT/connectors?expand=status'`
- dedicated: the log of each MirrorMaker process.

### Restart a task

- Strimzi: `kubectl annotate kafkamirrormaker2 NAME strimzi.io/restart-connector-task='CONNECTOR:0'`,
  or the whole connector with `strimzi.io/restart-connector=CONNECTOR`
- Connect: `curl -X POST 'CONNECT/connectors/CONNECTOR/restart?includeTasks=true&onlyFailed=true'`
- dedicated: restart the process.

### Restart a worker

- Strimzi: `kubectl delete pod NAME-mirrormaker2-0`
- Connect, dedicated: restart the process or its unit.

### Stop and resume

- Strimzi: `spec.mirrors[].sourceConnector.state: stopped`, later `running`
- Connect (3.5 or later): `curl -X PUT CONNECT/connectors/CONNECTOR/stop`,
  later `/resume`
- dedicated: stop all processes of the cluster, later start them.

### List committed offsets

- Strimzi (0.44 or later): set `sourceConnector.listOffsets.toConfigMap.name`,
  then `kubectl annotate kafkamirrormaker2 NAME strimzi.io/connector-offsets=list strimzi.io/mirrormaker-connector='CONNECTOR'`
- Connect (3.6 or later): `curl CONNECT/connectors/CONNECTOR/offsets`
- dedicated: consume the offsets topic,
  `kafka-console-consumer.sh --bootstrap-server TARGET --topic mm2-offsets.SOURCEALIAS.internal --from-beginning --property print.key=true`

### Delete or set committed offsets

MirrorMaker starts a partition without committed offset from its beginning.
[Stop](#stop-and-resume) the connector first, resume it afterwards.

- Strimzi: list the offsets, change the ConfigMap (an offset of `null` deletes
  it), set `sourceConnector.alterOffsets.fromConfigMap.name`, annotate with
  `strimzi.io/connector-offsets=alter` as for listing.
- Connect: `curl -X PATCH CONNECT/connectors/CONNECTOR/offsets -H 'Content-Type: application/json' -d '{"offsets": [{"partition": {"cluster": "SOURCEALIAS", "topic": "TOPIC", "partition": 0}, "offset": null}]}'`
- dedicated: produce a tombstone with the key of the partition to the offsets
  topic.

### Raise retention

Note the old value first. 1209600000 is 14 days; it takes effect at once. A
topic limited by size needs a larger `retention.bytes`; the disks must hold it.

- any: `kafka-configs.sh --bootstrap-server SOURCE --alter --entity-type topics --entity-name TOPIC --add-config retention.ms=1209600000`
- Strimzi, topics with a KafkaTopic: change `spec.config` of the resource.

### Look at a topic

- `kafka-topics.sh --bootstrap-server SOURCE --describe --topic TOPIC`
- `kafka-topics.sh --bootstrap-server SOURCE --describe --unavailable-partitions`
- `kafka-get-offsets.sh --bootstrap-server SOURCE --topic TOPIC` (add
  `--time earliest` for log start offsets)
- `kafka-configs.sh --bootstrap-server SOURCE --describe --all --entity-type topics --entity-name TOPIC`

### Settle an unverifiable range

Wait for the nightly audit, or run it now for the hours concerned:
`mirrorwatch audit run --from TIME --to TIME`.

## Conditions of every check

### `ok`

Within limits. The title says what was compared.

### `off`

Not configured, or nothing to check there: the title says why. It is no part
of the flow's health.

### `no-data`

mirrorwatch was just started. Wait as long as the title says, or a minute.

### `stale`

The newest reading is too old to judge: the cluster or server does not answer,
or mirrorwatch hangs.

1. See the [cause](#cause), then mirrorwatch's log: `Source unavailable` has
   the error.

### `unreadable`

Something could not be read: the title has the error. What depends on it is
unknown; the rest is judged.

1. Run `mirrorwatch doctor`: it names each missing permission and wrong
   address.
2. Grant what it names, or fix the address. The check recovers by itself.

### `hidden-topics`

The cluster leaves topics out of its answers for which mirrorwatch lacks
DESCRIBE: they look the same as topics that do not exist.

1. Grant mirrorwatch's user DESCRIBE on all topics of the flow.

### `crashed`

A bug of mirrorwatch. The other checks go on.

1. Report it with the log, which has the stack under `Work crashed`. Monitor
   that part by hand meanwhile.
"""

AGENT = """\
## The agent itself

If mirrorwatch is down, nothing watches replication. Watch it from outside, by
the [alert rules](alerts.md) for Prometheus and Kapacitor, or by:

- `GET /healthz`: 200 while the last tick is younger than three intervals,
  otherwise 503 (`starting` or `stale`). `problems` has what is wrong with its
  state file.
- `mirrorwatch_last_tick_timestamp_seconds`: older than three minutes, or
  absent. In InfluxDB: a deadman on the measurement `agent`.

| alert | what to do |
| --- | --- |
| `MirrorwatchAgentSilent` | `GET /healthz`. No response: start it; its log says why it ended. A response: check Prometheus' target, or InfluxDB and its subscription, and the clocks of both machines. Watch the mirror by hand meanwhile |
| `MirrorwatchAgentStuck` | Ticks hang or crash: keep the log (`Work crashed` has the stack), then restart |
| `MirrorwatchFlowUnwatched` | Removed from the configuration, or renamed: it ends after a day. Otherwise the agent that watched it is down |
| `MirrorwatchSinkDown`, `…Behind`, `…LosesPoints` | See `Sink unavailable` below |
| `MirrorwatchStateDown` | See the state file below |

| log, or symptom | meaning | what to do |
| --- | --- | --- |
| `Work crashed`; `mirrorwatch_internal_errors_total` | A bug in one part. Its checks are `unknown`, the others go on | Report it with the log |
| `Segmentation fault` in the log | librdkafka crashed; the supervisor restarts the agent, which continues | If it comes again, report it |
| `Source unavailable`; `mirrorwatch_source_up` 0 | Readings of one source are old | See the finding of its check |
| `Sink unavailable`; `mirrorwatch_sink_up` 0 | The server refuses points: down, no permission, no bucket. Points are queued on disk | Fix the server. Nothing is lost until `mirrorwatch_sink_lost_points_total` grows |
| `Spool full`, `Points lost at the end` | The server was down for longer than the queue of 256 MiB holds | As above |
| `Points refused for good` | A field of another type than before, points older than the retention, or a limit on series | The error names the first point: fix what wrote the field, or the limit |
| `Receiver unavailable`, `Notification rejected` | A receiver of notices is down, or rejects the message | Fix it, then `mirrorwatch notify --test`. Up to 100 notices are queued |
| `State unavailable`, `Spool unavailable`; `mirrorwatch_state_up` 0 | The disk is full, read-only or broken. Without state no probes are sent | Free space, or fix `state.path` and its owner |
| `… was set aside as …, and a fresh one is used` | The state file was damaged, or of another version. Counters and outstanding probes in it are gone | Keep the file; check the disk. It is reported until the next restart |
| `… was deleted or replaced while the agent runs` | Its state is lost at its end | Restart it |
| `Another mirrorwatch uses the state file` | Two agents with one state file | Stop one |
| `Wall clock was stepped` | Verdicts do not follow it; times on the page and of points do | Set up NTP |
| `Record of the mirror cannot be read`, `Connect's answer cannot be read` | An unknown format of MirrorMaker or Connect | Other sources are used. Report it with their versions |

mirrorwatch may be stopped or killed at any time: what was sent and read is in
the state file, and probes that arrived meanwhile are counted.
"""
