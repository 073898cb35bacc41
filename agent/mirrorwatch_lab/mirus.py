"""Mirus, a mirror of Salesforce's on a Kafka Connect of its own."""

from collections.abc import Mapping
from typing import Any

from .connect import LabConnect, without_prefix, worker_of
from .mirror import Bookmark, PartitionBookmark
from .settings import SOURCE, TARGET, LabSettings

__all__ = ["LabMirus", "mirus_connector", "mirus_worker"]


GROUP = "lab-mirus"
"""The worker's ``group.id``, and begin of the names of its topics."""

CONNECTOR = "mirus"

PLACE = PartitionBookmark(
    connector=CONNECTOR,
    status=f"{GROUP}-status",
    configs=f"{GROUP}-configs",
)
"""Connector and internal topics that hold its state."""

WORKER = "worker."
"""Prefix of properties of the worker; all others are its connector's."""

_RAW = "org.apache.kafka.common.serialization.ByteArrayDeserializer"

_FAST_MONITOR = {"mirus.task.monitor.polling.interval.ms": "5000"}


class LabMirus(LabConnect):
    """Mirus: one worker with one connector."""

    main = "com.salesforce.mirus.Mirus"
    program = "mirus"
    place = PLACE

    @property
    def agent_config(self) -> dict[str, Any]:
        return {
            "kind": "mirus",
            "connectors": [CONNECTOR],
            "topics": {
                "offsets": f"{GROUP}-offsets",
                "configs": PLACE.configs,
                "status": PLACE.status,
            },
        }

    def _settled(self, since: Bookmark) -> bool:
        # Mirus hands no property on to its tasks that it does not know, but
        # the client id of their consumers.
        del since
        self._process.check()
        tasks = self.ask("GET", f"/connectors/{CONNECTOR}/tasks")
        state = self.ask("GET", f"/connectors/{CONNECTOR}/status")
        if not (tasks.is_success and state.is_success):
            return False
        given, running = tasks.json(), state.json()["tasks"]
        return (
            bool(given)
            and len(given) == len(running)
            and all(
                task["config"]["consumer.client.id"].startswith(
                    _client_id(self._digest)
                )
                for task in given
            )
            and all(task["state"] == "RUNNING" for task in running)
        )


def _client_id(digest: str) -> str:
    return f"{GROUP}-{digest[:12]}-"


def mirus_worker(
    settings: LabSettings, target: str, port: int, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties of the worker.

    Parameters
    ----------
    settings
        Settings of the lab.
    target
        Address of the target, where it writes.
    port
        Port of its REST API.
    more
        Properties that go over all others; those with `WORKER` before their
        names are meant here.
    """
    return {
        **worker_of(GROUP, settings, target=target, port=port),
        # Mirus 0.6.9 adds to it what each of its clients does.
        "client.id": f"{GROUP}-",
        **(_FAST_MONITOR if settings.intervals == "fast" else {}),
        **without_prefix(WORKER, settings, more),
    }


def mirus_connector(
    settings: LabSettings,
    *,
    source: str,
    target: str,
    digest: str,
    more: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Return the configuration of its connector, by name.

    Parameters
    ----------
    settings
        Settings of the lab.
    source, target
        Addresses of the sites.
    digest
        Tells this configuration from others.
    more
        Properties that go over all others.
    """
    own = {
        "connector.class": "com.salesforce.mirus.MirusSourceConnector",
        "tasks.max": "2",
        "topics.regex": r"(?!__|lab-mirus-).*",
        "consumer.bootstrap.servers": source,
        "consumer.client.id": _client_id(digest),
        "consumer.key.deserializer": _RAW,
        "consumer.value.deserializer": _RAW,
        "destination.consumer.bootstrap.servers": target,
    }
    if settings.intervals == "fast":
        own["monitor.poll.wait.ms"] = "1000"
    flow = f"{SOURCE}->{TARGET}."
    own |= {
        name.removeprefix(flow): value
        for name, value in (settings.mirror_properties | dict(more)).items()
        if not name.startswith(WORKER)
    }
    return {CONNECTOR: own}
