"""Texts of causes, and of the signs that they rest on."""

from .finding import Code

__all__ = [
    "ABOUT",
    "CLUSTER_NOT_STORING",
    "CLUSTER_SILENT",
    "CLUSTER_SLOW",
    "EVIDENCE",
    "LINK_BROKEN",
    "LINK_SLOW",
    "MIRROR_NOT_COPYING",
    "MIRROR_STOPPED",
    "MIRROR_TASKS_FAILED",
    "MIRROR_TASKS_STOPPED",
    "MONITOR_CUT_OFF",
    "MONITOR_ISOLATED",
    "MONITOR_LATE",
]

ABOUT = """\
One fault makes many checks bad. The part at fault is named if exactly one
explains them: `source`, `link`, `mirror`, `target`, `source or link`, or
`monitor` (mirrorwatch itself, or its network). Several faults at once: none is
named. Lost records, topics that differ and findings of the audit are not its
symptoms. `link` and `target` need MirrorMaker's JMX (`mirror.jmx`) while both
clusters respond."""

MONITOR_CUT_OFF = Code(
    name="monitor.cut-off",
    title="State of replication unknown[ for {lasted:duration}]: mirrorwatch "
    "can reach neither {source} nor {target}",
    meaning="""\
Replication may be running. Both clusters rarely fail in the same minute;
mirrorwatch's own network, DNS or credentials often do.""",
    steps="""\
1. From mirrorwatch's machine or pod, run `mirrorwatch doctor`. Check DNS,
   network policy or firewall, and expired credentials.
2. Meanwhile check [connectors and tasks](#see-connectors-and-tasks) by hand.""",
)

MONITOR_ISOLATED = Code(
    name="monitor.isolated",
    title="Replication {source} to {target} is running, but mirrorwatch cannot "
    "reach {cluster}",
    meaning="""\
Records arrive at the target, or MirrorMaker's fetches are answered. Checks
that need the cluster are `unknown`.""",
    steps="""\
1. From mirrorwatch's machine or pod, run `mirrorwatch doctor`: it names the
   step that fails. MirrorMaker may use another listener.""",
)

MONITOR_LATE = Code(
    name="monitor.late",
    title="mirrorwatch itself is delayed: its findings may be old",
    meaning="Latencies and ages may be its own delay.",
    steps="""\
1. Check CPU (throttling of the container) and disk of its machine, and its log
   for `Work crashed` and slow ticks.""",
)

CLUSTER_SILENT = Code(
    name="cluster.silent",
    title="No response from {cluster}[ for {lasted:duration}]",
    meaning="""\
The other cluster responds. At the source, its network may be at fault, too;
the evidence says if records still arrive.""",
    steps="""\
1. Are its brokers up, and does it have a controller?
2. Is it reachable from MirrorMaker's machines? If so, only mirrorwatch is
   isolated.
3. Source: [`retention`](#retention) says how long is left.""",
)

CLUSTER_NOT_STORING = Code(
    name="cluster.not-storing",
    title="{cluster} responds, but has stored no records[ for {lasted:duration}]",
    meaning="""\
Produce requests are not acknowledged: at the source those of probes (and
probably of your producers), at the target those of the mirror.""",
    steps="""\
1. Check the brokers' disks, and [partitions without leader](#look-at-a-topic).
2. Compare `min.insync.replicas` with the brokers that are up.
3. Look for quotas, and `NotEnoughReplicas` in the producer's log.""",
)

CLUSTER_SLOW = Code(
    name="cluster.slow",
    title="{cluster} responds far more slowly than usual",
    meaning="""\
At least three times as long as usual and 0.2 s more; most of an hour becomes
the usual.""",
    steps="""\
1. Check load and disks of its brokers, then packet loss and round trip of the
   link.""",
)

LINK_BROKEN = Code(
    name="link.broken",
    title="Replication {source} to {target} has stopped"
    "[ for {lasted:duration}]: {mirror} cannot reach {cluster}, which "
    "responds to mirrorwatch",
    meaning="""\
Records wait at the source until they expire: see [`retention`](#retention).""",
    steps="""\
1. From a worker, test DNS and the port of every broker of that cluster. Its
   log has `Connection to node` or authentication errors.""",
)

LINK_SLOW = Code(
    name="link.slow",
    title="{mirror} fetches slowly from {cluster}, which responds to "
    "mirrorwatch as fast as usual",
    meaning="Network between mirror and source slow or lossy.",
    steps="""\
1. Check packet loss, round trip and load of the link. See
   [`bottleneck.link`](#bottlenecklink).""",
)

MIRROR_STOPPED = Code(
    name="mirror.stopped",
    title="Replication {source} to {target} has stopped"
    "[ for {lasted:duration}]: {mirror} does not respond",
    meaning="""\
Both clusters respond and records wait, but the mirror shows no sign of life:
no heartbeat, no JMX.""",
    steps="""\
1. Is its process or pod up? If it hangs, keep a thread dump.
2. [Restart the worker](#restart-a-worker).
3. Look in its log for out-of-memory errors and rebalances.""",
)

MIRROR_TASKS_STOPPED = Code(
    name="mirror.tasks-stopped",
    title="Replication {source} to {target} has stopped"
    "[ for {lasted:duration}]: {mirror} runs none of its tasks",
    meaning="Both clusters respond. Tasks failed, or were paused or stopped.",
    steps="1. See [`tasks`](#tasks) for states, errors and steps.",
)

MIRROR_TASKS_FAILED = Code(
    name="mirror.tasks-failed",
    title="{mirror} runs only some of its tasks: partitions of the "
    "others are not copied",
    meaning="Connect restarts no failed task by itself.",
    steps="1. See [`tasks.failed`](#tasksfailed).",
)

MIRROR_NOT_COPYING = Code(
    name="mirror.not-copying",
    title="Replication {source} to {target} has stopped"
    "[ for {lasted:duration}]: {mirror} hangs, or cannot reach {source}",
    meaning="""\
Both clusters respond to mirrorwatch and records wait. Hang and network fault
look alike without the mirror's JMX and heartbeats.""",
    steps="""\
1. Check its process or pod, its log, and from there the network to every
   source broker.
2. [Restart the worker](#restart-a-worker).
3. Configure `mirror.jmx` to tell them apart next time.""",
)

EVIDENCE = {
    "tick-late": "a tick of mirrorwatch began {seconds:duration} late",
    "canary-late": "the canary of mirrorwatch has not run for "
    "{seconds:duration}",
    "silent": "{cluster} has not responded to mirrorwatch for "
    "{seconds:duration}",
    "answers": "{cluster} responds to mirrorwatch",
    "pace": "{cluster} responds to mirrorwatch in {took:.2g} s, usually in "
    "{usual:.2g} s",
    "unacked": "{cluster} has not acknowledged probes for {seconds:duration}",
    "copied": "records arrive at {cluster}",
    "not-copied": "no record has arrived at {cluster}[ for "
    "{seconds:duration}]",
    "stopped": "{records:record} waiting at {cluster}, none copied for "
    "{seconds:duration}",
    "copies-unknown": "arrivals at {cluster} were not observed before",
    "task": "{task} is {state}",
    "heartbeat-late": "{mirror}'s last heartbeat is {seconds:duration} old",
    "worker-silent": "{mirror} shows no sign of life[, its last heartbeat is "
    "{seconds:duration} old][, {jmx}]",
    "fetched": "{cluster} answers {mirror}'s fetches",
    "unconnected": "no consumer of {mirror} is connected to {cluster}",
    "unfetched": "{cluster} has answered no fetch of {mirror} for "
    "{seconds:duration}",
    "fetches-slow": "fetches of {mirror} take {took:.2g} s",
    "unsent": "{records:record} of {mirror} not written to {cluster} yet",
    "sends-slow": "requests of {mirror}'s producer take {took:.2g} s",
    "throttled": "a quota delays requests by {took:.2g} s",
}
"""Evidence of each sign, by its kind."""
