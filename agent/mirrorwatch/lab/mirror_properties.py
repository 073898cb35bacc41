"""What the lab tells MirrorMaker 2."""

from collections.abc import Mapping

from .settings import SOURCE, TARGET, LabSettings

__all__ = ["IDENTITY", "ORDERLY", "mirror_properties"]

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
"""Policy under which topics keep their names."""

ORDERLY = {
    "task.shutdown.graceful.timeout.ms": "30000",
    "offset.flush.timeout.ms": "30000",
}
"""Of a worker. Five seconds, the default, are little on a machine that does
other things: a stop in good order would be none, and copy again after it."""

_FAST = {
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "sync.topic.acls.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    f"{TARGET}.offset.flush.interval.ms": "1000",
    # A mirror that was killed is missed at once, not for five minutes.
    f"{TARGET}.scheduled.rebalance.max.delay.ms": "0",
    f"{TARGET}.session.timeout.ms": "6000",
    f"{TARGET}.heartbeat.interval.ms": "2000",
}


def mirror_properties(
    settings: LabSettings,
    *,
    source: str,
    target: str,
    more: Mapping[str, str],
) -> dict[str, str]:
    """Return the properties of a dedicated MirrorMaker 2.

    Parameters
    ----------
    settings
        What kind of lab it is.
    source
        Address of the source, as the mirror sees it.
    target
        Address of the target.
    more
        Properties that go over all others.

    Notes
    -----
    With default intervals nothing is set that MirrorMaker 2 does not need
    to run at all, or to stop in good order, so a lab shows what an
    unconfigured mirror does.
    """
    properties = {
        "clusters": f"{SOURCE}, {TARGET}",
        f"{SOURCE}.bootstrap.servers": source,
        f"{TARGET}.bootstrap.servers": target,
        f"{SOURCE}->{TARGET}.enabled": "true",
        f"{SOURCE}->{TARGET}.topics": ".*",
        f"{TARGET}->{SOURCE}.enabled": "false",
        # Plugins by their service files: without it every start of a worker
        # scans all classes of all jars, seconds on a small machine.
        # Once for the program, and once for each of its two workers.
        "plugin.discovery": "service_load",
        f"{SOURCE}.plugin.discovery": "service_load",
        f"{TARGET}.plugin.discovery": "service_load",
        # Clusters of one broker.
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
        # Without the target's prefix these have no effect.
        **{f"{TARGET}.{key}": value for key, value in ORDERLY.items()},
    }
    if settings.naming == "identity":
        properties["replication.policy.class"] = IDENTITY
    if settings.intervals == "fast":
        properties |= _FAST
    return properties | settings.mirror_properties | dict(more)
