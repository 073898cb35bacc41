"""A dedicated MirrorMaker 2, with Jolokia in it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from .jmx import JmxDoors
from .lifeline import Lifeline
from .link import LOOPBACK
from .process import JvmSettings, LabProcess, Part, to_text, write_properties
from .settings import SOURCE, TARGET, LabSettings
from .topics import LabTopics
from .waiting import wait_until

__all__ = [
    "DIGEST",
    "IDENTITY",
    "ORDERLY",
    "Bookmark",
    "LabMirror",
    "PartitionBookmark",
    "mirror_properties",
]


CONNECTOR = "MirrorSourceConnector"

DIGEST = "mirrorwatch.lab.digest"
"""Property, unknown to MirrorMaker 2, that travels with the others into the
configuration of each task: so one can see which properties a task runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionBookmark:
    """Connector and internal topics of a mirror's state at the target."""

    connector: str
    status: str
    configs: str


DEDICATED = PartitionBookmark(
    connector=CONNECTOR,
    status=f"mm2-status.{SOURCE}.internal",
    configs=f"mm2-configs.{SOURCE}.internal",
)
"""Places of a dedicated MirrorMaker 2."""

Bookmark = Mapping[str, Mapping[int, int]]
"""Ends of the internal topics at one moment: later records are newer."""


def bookmark(
    target: LabTopics, place: PartitionBookmark = DEDICATED
) -> Bookmark:
    """Return where the internal topics end now."""
    return {
        topic: {p: high for p, (_, high) in target.ends(topic).items()}
        for topic in (place.status, place.configs)
    }


def is_settled(
    target: LabTopics,
    since: Bookmark,
    digest: str,
    place: PartitionBookmark = DEDICATED,
) -> bool:
    """Tell whether the connector runs what the mirror was started with.

    Parameters
    ----------
    target
        Topics of the target.
    since
        Bookmark from before the mirror was started.
    digest
        Digest of the properties it was started with.
    place
        Connector and internal topics of the mirror.

    Notes
    -----
    A mirror that comes back first runs the task configurations that it finds
    stored; it stores those of its properties, and starts the tasks again,
    only later and only if they differ. So every task must have the digest,
    and must have said that it runs after it was given it.
    """
    given_at: dict[int, int] = {}
    count = 0
    for message in target.read(place.configs):
        key, value = _decode(message)
        if value is None:
            continue
        if key == f"commit-{place.connector}":
            count = value["tasks"]
        elif key.startswith(f"task-{place.connector}-"):
            task = int(key.rpartition("-")[2])
            if value["properties"].get(DIGEST) != digest:
                given_at.pop(task, None)
            else:
                # The same again does not start the task again.
                given_at.setdefault(task, message.timestamp()[1])
    wanted = set(range(count))
    if not wanted or not wanted <= given_at.keys():
        return False
    return wanted <= _running(target, since, given_at, place)


def _running(
    target: LabTopics,
    since: Bookmark,
    given_at: Mapping[int, int],
    place: PartitionBookmark,
) -> set[int]:
    states: dict[int, bool] = {}
    for message in target.read(
        place.status, start=since.get(place.status, {})
    ):
        key, value = _decode(message)
        if key.startswith(f"status-task-{place.connector}-") and value:
            task = int(key.rpartition("-")[2])
            new = message.timestamp()[1] >= given_at.get(task, 0)
            states[task] = value["state"] == "RUNNING" and new
    return {task for task, running in states.items() if running}


def _decode(message: Any) -> tuple[str, dict[str, Any] | None]:
    key, value = message.key().decode(), message.value()
    return key, json.loads(value) if value else None


START_LIMIT = timedelta(seconds=300)
"""Longest start of the mirror: it waits for group joins and rebalances, on a
machine that does other things too."""

LOOK = timedelta(milliseconds=200)
"""Between two looks at the internal topics: each one reads them whole."""


class LabMirror(Part):
    """A dedicated MirrorMaker 2.

    Parameters
    ----------
    name
        Name of the mirror in the lab.
    configure
        Gives all of its properties, from those that one start adds.
    target
        Topics of the target, where the mirror writes how it is.
    jolokia_port
        Port for its MBeans over HTTP.
    jmx
        More ways to its MBeans.
    heap_mib
        Memory that it may use.
    runtime
        Java and jars.
    folder
        Folder for its configuration.
    log
        File for its log.
    lifeline
        Lifeline that starts it.
    """

    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    program = "mirror"
    place: PartitionBookmark = DEDICATED

    def __init__(
        self,
        name: str,
        *,
        configure: Callable[[Mapping[str, str]], Mapping[str, str]],
        target: LabTopics,
        jolokia_port: int,
        jmx: JmxDoors,
        heap_mib: int,
        runtime: JvmSettings,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
    ) -> None:
        folder.mkdir(mode=0o700)
        self.jolokia_url = f"http://{LOOPBACK}:{jolokia_port}/jolokia"
        self._configure = configure
        self._target = target
        self._config = folder / "mm2.properties"
        self._digest = ""
        self.jmx = jmx
        doors = jmx.options(folder)
        runtime = replace(runtime, jars=runtime.jars + jmx.jars())
        agent = f"{runtime.jolokia}=host={LOOPBACK},port={jolokia_port}"
        # Another agent is another class path.
        program = f"{self.program}-doors" if doors else self.program
        archive = runtime.archive(program, folder, beside_agent=True)
        command = runtime.command(
            self.main,
            *self.arguments(folder),
            folder=folder,
            heap_mib=heap_mib,
            options=[*archive.options(), f"-javaagent:{agent}", *doors],
        )
        super().__init__(
            LabProcess(
                name, command, folder=folder, log=log, lifeline=lifeline
            ),
            archive,
        )

    def arguments(self, folder: Path) -> tuple[str, ...]:
        """Return the arguments of the program."""
        del folder
        return (str(self._config),)

    @property
    def agent_config(self) -> dict[str, Any]:
        """Agent configuration of this mirror: ``mirror`` of a flow."""
        return {}

    def start(self, properties: Mapping[str, str] | None = None) -> None:
        """Start it, and wait until it copies under these properties.

        Parameters
        ----------
        properties
            More properties, for this start only.

        Raises
        ------
        LabError
            Raised with the end of its log if it does not come up.
        """
        if self.running:
            return
        # What is written from here on is of this start.
        since = bookmark(self._target, self.place)
        self.launch(properties)
        self.wait(since)

    def launch(self, properties: Mapping[str, str] | None = None) -> None:
        """Start it without waiting; the sites need not be up."""
        if self.running:
            return
        wanted = dict(self._configure(properties or {}))
        self._digest = hashlib.sha256(to_text(wanted).encode()).hexdigest()
        wanted[f"{SOURCE}->{TARGET}.{DIGEST}"] = self._digest
        write_properties(self._config, wanted)
        self._process.start()

    def wait(self, since: Bookmark | None = None) -> None:
        """Wait until every task runs what the properties say.

        Parameters
        ----------
        since
            End offsets of the mirror's internal topics before it was started,
            by `bookmark`; nothing if it is the first start.
        """
        wait_until(
            lambda: self._settled(since or {}),
            limit=START_LIMIT,
            pause=LOOK,
            what=lambda: (
                "the mirror does not copy. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )

    def _settled(self, since: Bookmark) -> bool:
        self._process.check()
        return is_settled(self._target, since, self._digest, self.place)


IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"

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
        Settings of the lab.
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
