"""A Kafka Connect worker that runs MirrorMaker 2, with its REST API."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import httpx

from .exceptions import LabError
from .link import LOOPBACK
from .mirror import (
    DIGEST,
    IDENTITY,
    ORDERLY,
    Bookmark,
    LabMirror,
    PartitionBookmark,
)
from .process import write_properties
from .settings import SOURCE, TARGET, LabSettings
from .waiting import wait_until

__all__ = [
    "GROUP",
    "NEIGHBOUR",
    "PLACE",
    "LabConnect",
    "connectors",
    "without_prefix",
    "worker",
    "worker_of",
]


GROUP = "lab-connect"
"""The worker's ``group.id``, and begin of the names of its topics."""

PLACE = PartitionBookmark(
    connector="mirror-source",
    status=f"{GROUP}-status",
    configs=f"{GROUP}-configs",
)
"""Connector and internal topics that hold its state."""

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
        Settings of the lab.
    target
        Address of the target, where it writes.
    port
        Port of its REST API.
    more
        Properties as a dedicated mirror takes them; those with the target's
        prefix are for the worker.
    """
    return worker_of(GROUP, settings, target=target, port=port) | {
        "plugin.discovery": "service_load",
        **without_prefix(f"{TARGET}.", settings, more),
    }


def worker_of(
    group: str, settings: LabSettings, *, target: str, port: int
) -> dict[str, str]:
    """Return what all workers of a lab have.

    Parameters
    ----------
    group
        Its ``group.id``, and begin of the names of its topics.
    settings
        Settings of the lab.
    target
        Address of the target, where it writes.
    port
        Port of its REST API.
    """
    return {
        "bootstrap.servers": target,
        "group.id": group,
        "listeners": f"http://{LOOPBACK}:{port}",
        "rest.advertised.host.name": LOOPBACK,
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": _BYTES,
        **ORDERLY,
        "offset.storage.topic": f"{group}-offsets",
        "config.storage.topic": f"{group}-configs",
        "status.storage.topic": f"{group}-status",
        # Clusters of one broker.
        "offset.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        **(_FAST_WORKER if settings.intervals == "fast" else {}),
    }


def without_prefix(
    prefix: str, settings: LabSettings, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the lab's properties that begin with a prefix, without it.

    Parameters
    ----------
    prefix
        The prefix.
    settings
        Settings of the lab.
    more
        Properties that go over those of the settings.
    """
    return {
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
        Settings of the lab.
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
    found = {}
    for name, value in properties.items():
        if name.startswith(f"{TARGET}."):
            continue
        short = name.removeprefix(_FLOW)
        if short.startswith(f"{SOURCE}."):
            short = f"source.{short.removeprefix(f'{SOURCE}.')}"
        found[short] = value
    return found


_REST_LIMIT = timedelta(seconds=300)
"""Longest until the worker serves: it loads, joins its group, and waits for
rebalances."""

_TIMEOUT_SECONDS = 120
"""Longest wait for one answer; a worker that rebalances makes one wait, up to
90 s of its own."""

Configs = Mapping[str, Mapping[str, str]]


class LabConnect(LabMirror):
    """Connect worker that runs MirrorMaker 2's connectors.

    Parameters
    ----------
    rest_port
        Port of the REST API.
    connectors
        Gives their configuration by name, from those properties that one
        start adds, and a digest.
    others
        As of `Mirror`; ``configure`` gives the worker's properties.
    """

    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    program = "connect"
    place: PartitionBookmark = PLACE

    def __init__(
        self,
        *arguments: Any,
        rest_port: int,
        connectors: Callable[[Mapping[str, str], str], Configs],
        **others: Any,
    ) -> None:
        super().__init__(*arguments, **others)
        self._http = httpx.Client(
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            # One that is killed leaves no connection to be closed.
            limits=httpx.Limits(max_keepalive_connections=0),
        )
        self.rest_url = f"http://{LOOPBACK}:{rest_port}"
        self._connectors = connectors
        self._wanted: Configs = {}

    @property
    def agent_config(self) -> dict[str, Any]:
        """Agent configuration of this mirror: ``mirror`` of a flow."""
        return {
            "mode": "connect",
            "topics": {
                "offsets": f"{GROUP}-offsets",
                "configs": self.place.configs,
                "status": self.place.status,
            },
        }

    def launch(self, properties: Mapping[str, str] | None = None) -> None:
        if self.running:
            return
        more = properties or {}
        worker = self._configure(more)
        said = json.dumps([dict(worker), self._connectors(more, "")])
        self._digest = hashlib.sha256(said.encode()).hexdigest()
        self._wanted = self._connectors(more, self._digest)
        write_properties(self._config, dict(worker))
        self._process.start()

    def wait(self, since: Bookmark | None = None) -> None:
        wait_until(
            self._serves,
            limit=_REST_LIMIT,
            what=lambda: (
                "the Connect worker does not serve. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )
        for name, config in self._wanted.items():
            wait_until(
                partial(self._put, name, config),
                limit=_REST_LIMIT,
                what=f"the connector {name} was not taken",
            )
        super().wait(since)

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Ask the REST API, as an operator would.

        Raises
        ------
        LabError
            Raised if it does not answer.
        """
        try:
            return self._http.request(
                method, f"{self.rest_url}{path}", json=body
            )
        except httpx.HTTPError as e:
            raise LabError(f"The Connect worker does not answer: {e}") from e

    def _put(self, name: str, config: Mapping[str, str]) -> bool:
        # 409 while it rebalances.
        answer = self.ask("PUT", f"/connectors/{name}/config", dict(config))
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise LabError(f"Connector {name} is refused: {answer.text}")
        return answer.is_success

    def _serves(self) -> bool:
        self._process.check()
        try:
            return self.ask("GET", "/connectors").is_success
        except LabError:
            return False
