"""What the lab tells a Kafka Connect worker that runs MirrorMaker 2."""

from collections.abc import Mapping

from .addresses import LOOPBACK
from .mirror_properties import IDENTITY, ORDERLY
from .mirror_state import DIGEST, Place
from .settings import SOURCE, TARGET, LabSettings

__all__ = ["GROUP", "NEIGHBOUR", "PLACE", "connectors", "worker"]

GROUP = "lab-connect"
"""The worker's ``group.id``, and begin of the names of its topics."""

PLACE = Place(
    connector="mirror-source",
    status=f"{GROUP}-status",
    configs=f"{GROUP}-configs",
)
"""Where it keeps what it knows."""

NEIGHBOUR = "neighbour"
"""A connector on the same workers that is of no concern to the flow."""

_PACKAGE = "org.apache.kafka.connect.mirror"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_FLOW = f"{SOURCE}->{TARGET}."

_FAST_WORKER = {
    "offset.flush.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "0",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
}

_FAST_CONNECTORS = dict.fromkeys(
    (
        "refresh.topics.interval.seconds",
        "refresh.groups.interval.seconds",
        "sync.topic.configs.interval.seconds",
        "sync.topic.acls.interval.seconds",
        "emit.checkpoints.interval.seconds",
        "sync.group.offsets.interval.seconds",
    ),
    "1",
)


def worker(
    settings: LabSettings, *, target: str, port: int, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties of the worker.

    Parameters
    ----------
    settings
        What kind of lab it is.
    target
        Address of the target, where it writes.
    port
        Port of its REST API.
    more
        Properties as a dedicated mirror takes them; those with the target's
        prefix are for the worker.
    """
    own = {
        "bootstrap.servers": target,
        "group.id": GROUP,
        "listeners": f"http://{LOOPBACK}:{port}",
        "rest.advertised.host.name": LOOPBACK,
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
        "plugin.discovery": "service_load",
        **ORDERLY,
        "offset.storage.topic": f"{GROUP}-offsets",
        "config.storage.topic": PLACE.configs,
        "status.storage.topic": PLACE.status,
        # Clusters of one broker.
        "offset.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
    }
    if settings.intervals == "fast":
        own |= _FAST_WORKER
    prefix = f"{TARGET}."
    return own | {
        name.removeprefix(prefix): value
        for name, value in (settings.mirror_properties | dict(more)).items()
        if name.startswith(prefix)
    }


def connectors(
    settings: LabSettings,
    *,
    source: str,
    target: str,
    digest: str,
    more: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Return the configuration of each connector, by its name.

    Parameters
    ----------
    settings
        What kind of lab it is.
    source, target
        Addresses of the sites.
    digest
        Tells this configuration from others.
    more
        Properties as a dedicated mirror takes them.
    """
    aliases = {
        "source.cluster.alias": settings.aliases[0],
        "target.cluster.alias": settings.aliases[1],
    }
    shared = {
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": target,
        "topics": ".*",
        "tasks.max": "2",
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "replication.policy.separator": settings.separator,
        DIGEST: digest,
    }
    if settings.naming == "identity":
        shared["replication.policy.class"] = IDENTITY
    if settings.intervals == "fast":
        shared |= _FAST_CONNECTORS
    shared |= _for_connectors(settings.mirror_properties | dict(more))
    heartbeats = {
        **shared,
        "connector.class": f"{_PACKAGE}.MirrorHeartbeatConnector",
    }
    return {
        PLACE.connector: {
            **shared,
            **aliases,
            "connector.class": f"{_PACKAGE}.MirrorSourceConnector",
        },
        "mirror-checkpoints": {
            **shared,
            **aliases,
            "connector.class": f"{_PACKAGE}.MirrorCheckpointConnector",
        },
        "mirror-heartbeats": {**heartbeats, **aliases},
        NEIGHBOUR: {
            **heartbeats,
            "source.cluster.alias": "elsewhere",
            "target.cluster.alias": TARGET,
        },
    }


def _for_connectors(properties: Mapping[str, str]) -> dict[str, str]:
    """Return what a dedicated mirror would hand on to its connectors."""
    found = {}
    for name, value in properties.items():
        if name.startswith(f"{TARGET}."):
            continue
        short = name.removeprefix(_FLOW)
        if short.startswith(f"{SOURCE}."):
            short = f"source.{short.removeprefix(f'{SOURCE}.')}"
        found[short] = value
    return found
