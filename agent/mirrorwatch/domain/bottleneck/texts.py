"""Texts of the check `bottleneck`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "BLANK",
    "COMMITS",
    "CONSUMER",
    "DROPPED",
    "LINK",
    "NO_DATA",
    "OFF",
    "OK",
    "PRODUCER",
    "REFUSED",
    "SILENT",
    "THROTTLED",
    "TOO_LARGE",
    "UNREADABLE",
]

ABOUT = """\
What limits replication, and what the mirror dropped, by its own JMX metrics of
the last minute. They explain, but prove no problem. Unless [`lag`](#lag) grows
or records were dropped, nothing needs to be done at night."""

OK = Code(
    name="bottleneck.ok",
    title="No bottleneck: {mirror} copies {records_per_second:.1f} records/s",
)

OFF = Code(
    name="bottleneck.off",
    title="JMX metrics are not configured (mirror.jmx)",
)

NO_DATA = Code(
    name="bottleneck.no-data",
    title="JMX metrics were not read yet",
)

UNREADABLE = Code(
    name="bottleneck.unreadable",
    title="No JMX metrics from {mirror}: {problem}",
    meaning="One process of the mirror; replication need not be affected.",
    steps="""\
1. No response: check garbage collection and heap of the process, and
   firewalls.
2. JMX port (`rmi`): set `java.rmi.server.hostname` and
   `com.sun.management.jmxremote.rmi.port` to what mirrorwatch reaches. Jolokia
   is at `/jolokia`, the exporter at `/metrics`.
3. Gone for good: remove it from `mirror.jmx.urls`.""",
)

BLANK = Code(
    name="bottleneck.blank",
    title="JMX metrics of this flow missing: {mirror} responds without them",
    meaning="""\
Strimzi's older exporter rules with Kafka before 4.0, or newer ones with 4.0,
export no metrics of MirrorMaker.""",
    steps="""\
1. Does a task of the flow run ([`tasks`](#tasks))? Compare aliases and
   connectors under `mirror` with the mirror's configuration.
2. Do the exporter's rules export the MBeans of `kafka.connect.mirror`?""",
)

DROPPED = Code(
    name="bottleneck.dropped",
    title="{mirror} dropped {records:record} because of errors "
    "({not_produced_records} not produced, {skipped_records} skipped), last "
    "{seconds:duration} ago",
    meaning="""\
Lost at the target, as counted by the mirror: with `errors.tolerance=all`, what
it cannot write (mostly above `max.message.bytes` of the target), and what a
transform or converter fails at (skipped). `lag` does not show it. Ends an hour
after the last.""",
    steps="""\
1. Its log names them if `errors.log.enable` is on; see also
   [`skips.dropped`](#skipsdropped).
2. Raise that limit, or fix the transform, then copy the records again while
   the source retains them.""",
)

THROTTLED = Code(
    name="bottleneck.throttled",
    title="A quota throttles {mirror}:"
    "[ fetches at the source wait up to {fetch_throttle_seconds:.2g} s]"
    "[ requests at the target wait up to {produce_throttle_seconds:.2g} s]",
    meaning="""\
May be intended, but the quota must exceed what the source writes.""",
    steps="""\
1. Raise `consumer_byte_rate` of the mirror's user at the source, or
   `producer_byte_rate` at the target.""",
)

REFUSED = Code(
    name="bottleneck.refused",
    title="{mirror}'s producer[ fails to write {failed_records_per_second:.2g} "
    "records/s][ retries {retried_records_per_second:.2g} records/s]",
    meaning="""\
Failed: the task fails, or drops records with `errors.tolerance=all`. Retries:
the target does not respond, or its leaders change.""",
    steps="""\
1. Do brokers at the target restart, or does the link drop packets? See
   [`tasks`](#tasks) and the mirror's log.""",
)

TOO_LARGE = Code(
    name="bottleneck.too-large",
    title="{mirror}'s producer splits {split_batches_per_second:.2g} batches/s "
    "that are too large for the target",
    meaning="""\
One batch may be split forever, and stop the producer while the task says
`RUNNING`.""",
    steps="1. Raise `max.message.bytes` at the target to that of the source.",
)

COMMITS = Code(
    name="bottleneck.commits",
    title="{mirror}[ fails {failed_ratio:.0%} of its offset commits]"
    "[ takes {commit_seconds:.2g} s to commit offsets]",
    meaning="""\
Commits fail beyond `offset.flush.timeout.ms` (5 s). After a restart,
uncommitted records are copied again.""",
    steps="""\
1. Look for slow leaders of the offsets topic. Too many records in flight:
   lower `producer.buffer.memory`, or raise that timeout.""",
)

SILENT = Code(
    name="bottleneck.silent",
    title="{mirror} has fetched nothing for a minute ({clients:consumer}, such as "
    "{client}), {in_flight_records:record} in flight to the target",
    meaning="""\
Records in flight: the target does not accept them. None: the source answers no
fetch.""",
    steps="""\
1. Check that cluster's brokers, and the mirror's link to them. Slow link: a
   fetch must arrive within `request.timeout.ms` (30 s); lower
   `fetch.max.bytes` of the mirror's consumer.""",
)

PRODUCER = Code(
    name="bottleneck.producer",
    title="{mirror}'s producer is the bottleneck: batches[ "
    "({batch_bytes:,.0f} of at most {batch_limit_bytes:,} bytes)] wait "
    "{queue_seconds:.2g} s[, requests to the target take "
    "{request_seconds:.2g} s]",
    meaning="""\
Batches near the limit are full; smaller ones wait for a slow target or link.""",
    steps="""\
1. Full: raise `producer.override.batch.size` (and
   `limits.bottleneck.batch_size`), or enable compression. Slow: check the
   target brokers and the link.""",
)

LINK = Code(
    name="bottleneck.link",
    title="Link from the source is the bottleneck: a fetch of "
    "{fetch_bytes:,.0f} bytes takes {fetch_seconds:.2g} s, lag is "
    "{lag_records:,.0f} records on a partition",
    meaning="Bytes by seconds is the bandwidth of a fetch.",
    steps="""\
1. Raise `tasks.max` to fetch in parallel, add bandwidth, or compress at the
   source's producers.""",
)

CONSUMER = Code(
    name="bottleneck.consumer",
    title="{mirror}'s consumer is the bottleneck: lag is {lag_records:,.0f} "
    "records on a partition",
    meaning="No quota, link or producer limits it: too few tasks.",
    steps="1. Raise `tasks.max`.",
)
