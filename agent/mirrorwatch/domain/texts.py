"""Front page of the runbook: first look, words, actions by platform."""

__all__ = ["AGENT", "FRONT"]

FRONT = """\
# Runbook

For the person on call. Every finding has a code, such as `skips.dropped`, and
an entry here, to which the page, notices and alerts link: what it means for the
data, then first steps. `…` is a name or number.

## First look

1. The **headline** of the page, or `mirrorwatch status`, names the
   [cause](#cause) if one part is at fault. Start there: other findings are its
   symptoms.
2. One flow, or all? All at once: a cluster, mirrorwatch, or its network.
3. Is anything **lost** already? The red block above all others, for a day.
   Proved losses: [`skips.dropped`](#skipsdropped),
   [`position.expired-unread`](#positionexpired-unread),
   [`canary.lost`](#canarylost). They are critical until acknowledged
   (`mirrorwatch ack ID`; numbers: the red block, or `mirrorwatch events`) or
   `limits.losses.critical` (1 h).
4. How long is left? [`retention`](#retention) says when the first records
   expire uncopied. [Raise the retention](#raise-retention) early: it costs only
   disk.
5. `RUNNING` proves nothing: a task that hangs reports it too.

**Health.** `critical`: act now. `warning`: look at it today. `unknown`: cannot
be verified; as urgent as the fault that it may hide. `off`: not configured.
`ok`: within limits.

**Words.** *Flow*: replication from a source to a target cluster by one mirror.
*Probe*: a canary record. *Position*: next source offset that the mirror will
copy; *committed*: as in Connect's offsets topic. *Offset sync*: source and
target offset of one record, written by MirrorMaker. *Lost*: gone for good at
the target. *Unverifiable*: neither copied nor lost is proved; the next audit
decides.

## Actions

In commands, `NAME` is the KafkaMirrorMaker2 resource, `CONNECTOR` the
connector (with Strimzi `SOURCE->TARGET.MirrorSourceConnector`), `CONNECT` the
URL of Connect's REST API, `SOURCE` and `TARGET` the `host:port` of a broker.
Kafka's tools take `--command-config FILE` for TLS and logins. With Strimzi
change the resource: the operator reverts changes by REST.

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

The mirror copies again from the offset that is set, or from the beginning if
it is deleted. [Stop](#stop-and-resume) the connector first, resume it
afterwards.

- Strimzi: [list the offsets](#list-committed-offsets), change the ConfigMap (an
  offset of `null` deletes it), set
  `sourceConnector.alterOffsets.fromConfigMap.name`, annotate with
  `strimzi.io/connector-offsets=alter` as for listing.
- Connect: `curl -X PATCH CONNECT/connectors/CONNECTOR/offsets -H 'Content-Type: application/json' -d '{"offsets": [{"partition": {"cluster": "SOURCEALIAS", "topic": "TOPIC", "partition": 0}, "offset": null}]}'`
- dedicated: produce a tombstone with the key of the partition to the offsets
  topic.

### Raise retention

Note the old value, and check that the disks hold it. It takes effect at once;
1209600000 is 14 days. A topic limited by size needs a larger `retention.bytes`.

- any: `kafka-configs.sh --bootstrap-server SOURCE --alter --entity-type topics --entity-name TOPIC --add-config retention.ms=1209600000`
- Strimzi, topics with a KafkaTopic: change `spec.config` of the resource.

### Look at a topic

- `kafka-topics.sh --bootstrap-server SOURCE --describe --topic TOPIC`
- `kafka-topics.sh --bootstrap-server SOURCE --describe --unavailable-partitions`
- `kafka-get-offsets.sh --bootstrap-server SOURCE --topic TOPIC` (add
  `--time earliest` for log start offsets)
- `kafka-configs.sh --bootstrap-server SOURCE --describe --all --entity-type topics --entity-name TOPIC`

### Settle an unverifiable range

Wait for the nightly audit, or audit those hours now:
`mirrorwatch audit run --from TIME --to TIME`.

## Conditions of every check

### `ok`

Within limits. The title says what was compared.

### `off`

Not configured, or nothing to check: the title says why.

### `no-data`

mirrorwatch was just started. Wait a minute, or as long as the title says.

### `stale`

The newest reading is too old: the cluster or server does not respond, or
mirrorwatch hangs.

1. See the [cause](#cause), then mirrorwatch's log: `Source unavailable` has the
   error.

### `unreadable`

Something could not be read: the title has the error. What depends on it is
unknown; the rest is judged.

1. Run `mirrorwatch doctor`: it names each missing permission and wrong address.
   Grant or fix that; the check recovers by itself.

### `hidden-topics`

mirrorwatch lacks DESCRIBE on topics. The cluster leaves them out of its
answers, as if they did not exist.

1. Grant mirrorwatch's user DESCRIBE on all topics of the flow.

### `denied`

mirrorwatch lacks DESCRIBE on consumer groups: their offsets are unknown.

1. If these groups matter, grant mirrorwatch DESCRIBE on them.

### `unknown-partitions`

No leader: records may wait uncounted. A position or committed offset beyond the
log end: the topic was truncated or recreated, and consumers restart by their
`auto.offset.reset`.

1. [Look for partitions without leader](#look-at-a-topic).
2. See [`position`](#position) for truncated or recreated topics.

### `crashed`

A bug of mirrorwatch. The other checks go on.

1. Report it with the log, which has the stack under `Work crashed`. Check that
   part by hand meanwhile.
"""

AGENT = """\
## The agent itself

If mirrorwatch is down, nothing watches replication. Watch it from outside, by
the [alert rules](alerts.md) for Prometheus and Kapacitor, or by:

- `GET /healthz`: 200 while the last tick is younger than three intervals,
  otherwise 503 (`starting` or `stale`). `problems` tells of its state file.
- `mirrorwatch_last_tick_timestamp_seconds`: older than three minutes, or
  absent. In InfluxDB: a deadman on the measurement `agent`.

| alert, log or metric | meaning, and what to do |
| --- | --- |
| `MirrorwatchAgentSilent` | `GET /healthz`. No response: start it; its log says why it ended. A response: check Prometheus' target, or InfluxDB and its subscription, and both clocks. Watch the mirror by hand meanwhile |
| `MirrorwatchAgentStuck` | Ticks hang or crash: keep the log, then restart it |
| `MirrorwatchFlowUnwatched` | Flow removed or renamed: ends after a day. Otherwise its agent is down |
| `MirrorwatchSinkDown`, `…Behind`, `…LosesPoints`; `Sink unavailable`, `mirrorwatch_sink_up` 0 | The server is down, or refuses points: no permission, no bucket. Fix it. Points are queued on disk; none is lost until `mirrorwatch_sink_lost_points_total` grows |
| `Spool full`, `Points lost at the end` | The same, with the queue of 256 MiB full |
| `Points refused for good` | A field changed its type, points are older than the retention, or series are limited. The error names the first point: fix its field, or the limit |
| `MirrorwatchStateDown`; `State unavailable`, `Spool unavailable`, `mirrorwatch_state_up` 0 | The disk is full, read-only or broken: no probes are sent. Free space, or fix `state.path` and its owner |
| `… was set aside as …, and a fresh one is used` | The state file was damaged, or of another version: its counters and outstanding probes are gone. Keep the file; check the disk. Reported until the next restart |
| `… was deleted or replaced while the agent runs` | Its state is lost when it ends. Restart it |
| `Another mirrorwatch uses the state file` | Stop one of the two agents |
| `Work crashed`; `mirrorwatch_internal_errors_total` | A bug in one part: its checks are `unknown`. Report it with the log |
| `Segmentation fault` | librdkafka crashed; the supervisor restarts the agent. If it recurs, report it |
| `Source unavailable`; `mirrorwatch_source_up` 0 | Readings of one source are old. See the finding of its check |
| `Receiver unavailable`, `Notification rejected` | A receiver of notices is down, or rejects them. Fix it, then `mirrorwatch notify --test`. Up to 100 notices are queued |
| `Wall clock was stepped` | Times on the page and of points are wrong, verdicts are not. Set up NTP |
| `Record of the mirror cannot be read`, `Connect's answer cannot be read` | Unknown format; other sources are used. Report it with the versions of MirrorMaker and Connect |

mirrorwatch may be killed at any time: the state file has what was sent and
read, and probes that arrived meanwhile are counted.
"""
