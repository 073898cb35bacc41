"""Site of the lab: a single broker that is its own controller (KRaft)."""

import base64
import socket
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from .lifeline import Lifeline
from .link import LOOPBACK
from .process import JvmSettings, LabProcess, Part, write_properties
from .security import AGENT_USER, Grants, SiteSecurity
from .topics import LabTopics
from .waiting import wait_until

__all__ = ["LabSite"]


_SMALL = {
    # A cluster of one: everything exists once, and is served at once.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "4",
    # A killed broker comes back only when its own controller has given up
    # on its former self. Nine seconds (the default) are longer than a
    # Connect worker keeps faith: one crash would be two faults.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    # The controller writes no record while nothing happens (two a second by
    # default): an eighth of what an idle lab costs.
    "metadata.max.idle.interval.ms": "0",
    # Retention is looked at every second, so that a test can overrun it;
    # what is retained for how long stays Kafka's default.
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
}


def broker_properties(
    *,
    listeners: Mapping[str, tuple[int, int]],
    controller_port: int,
    data: Path,
    security: SiteSecurity | None,
    more: Mapping[str, str],
) -> dict[str, str]:
    """Return the properties of a broker that is its own controller.

    Parameters
    ----------
    listeners
        Port and advertised port of each listener.
    controller_port
        Port of the controller's listener.
    data
        Folder for its data.
    security
        Certificates and users; `None` if everybody may do everything.
    more
        Properties that go over all others.
    """
    ports = {name: port for name, (port, _) in listeners.items()}
    everywhere = {**ports, "CONTROLLER": controller_port}
    return {
        **_SMALL,
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": next(iter(ports)),
        "listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}" for name, port in everywhere.items()
        ),
        "advertised.listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}"
            for name, (_, port) in listeners.items()
        ),
        "listener.security.protocol.map": ",".join(
            f"{name}:PLAINTEXT" for name in everywhere
        ),
        "log.dirs": str(data),
        **(security.broker(ports) if security else {}),
        **more,
    }


_START_LIMIT = timedelta(seconds=240)
"""Longest start of a broker, on a machine that does other things too."""


class LabSite(Part):
    """Site of the lab: a single broker with its data.

    Parameters
    ----------
    alias
        Alias of the site.
    listeners
        Port and advertised port of each listener; the first one is for the
        tests, and the broker itself.
    controller_port
        Port of the controller's listener.
    runtime
        Java and jars.
    folder
        Folder for the broker's configuration and data.
    log
        File for its log.
    lifeline
        Lifeline that starts it.
    properties
        More properties for the broker, over those of the lab.
    heap_mib
        Memory of the broker.
    security
        Its certificates and users; `None` if everybody may do everything.

    Notes
    -----
    Started again, it has the same ports, data and cluster id.
    """

    def __init__(
        self,
        alias: str,
        *,
        listeners: Mapping[str, tuple[int, int]],
        controller_port: int,
        runtime: JvmSettings,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
        properties: Mapping[str, str],
        heap_mib: int,
        security: SiteSecurity | None = None,
    ) -> None:
        self.alias = alias
        self.security = security
        self.cluster_id = _cluster_id()
        self._listeners = dict(listeners)
        self._heap_mib = heap_mib
        self._runtime = runtime
        self._folder = folder
        self._log = log
        self._lifeline = lifeline
        folder.mkdir(mode=0o700)
        self._config = folder / "server.properties"
        write_properties(
            self._config,
            broker_properties(
                listeners=listeners,
                controller_port=controller_port,
                data=self.data,
                security=security,
                more=properties,
            ),
        )
        archive = runtime.archive("broker", folder)
        super().__init__(
            self._java(
                alias,
                archive.options(),
                "kafka.Kafka",
                str(self._config),
            ),
            archive,
        )
        self._format: LabProcess | None = None
        administrator = security.administrator() if security else {}
        self.topics = LabTopics(
            {"bootstrap.servers": self.bootstrap, **administrator}
        )

    @property
    def data(self) -> Path:
        """Folder of the broker's logs."""
        return self._folder / "data"

    @property
    def bootstrap(self) -> str:
        """Address of the listener that no link stands before."""
        return self._address(next(iter(self._listeners)))

    @property
    def agent_bootstrap(self) -> str:
        """Address for the agent: behind its link, if this site has one."""
        return self._address("AGENT")

    @property
    def mirror_bootstrap(self) -> str:
        """Address for the mirror: behind its link, if this site has one."""
        return self._address("MIRROR")

    def client_properties(self, user: str = AGENT_USER) -> dict[str, Any]:
        """Return properties of librdkafka, from where the agent is.

        Parameters
        ----------
        user
            User to log in; ignored where everybody may do everything.
        """
        return {
            "bootstrap.servers": self.agent_bootstrap,
            **(self.security.client(user) if self.security else {}),
        }

    @property
    def grants(self) -> Grants:
        """Grants of the agent at this site, if it is secured."""
        return Grants(self.topics.admin, AGENT_USER)

    def launch(self) -> None:
        """Start the broker without waiting for it; it may run."""
        self._finish_format()
        self._process.start()

    def start(self) -> None:
        """Start the broker and wait until it serves; it may run.

        Raises
        ------
        LabError
            Raised with the end of its log if it does not come up.
        """
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Wait until the broker serves."""
        wait_until(
            self._serves,
            limit=_START_LIMIT,
            what=lambda: (
                f"{self.alias} does not serve. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )
        if self.security:
            self.security.create_users(self.topics.admin)

    def format(self) -> None:
        """Start to lay out the broker's storage, once in its life."""
        self._format = self._java(
            f"{self.alias} (storage)",
            self._archive.read_options(),
            "kafka.tools.StorageTool",
            *("format", "-t", self.cluster_id, "-c", str(self._config)),
        )
        self._format.start()

    def kill(self) -> None:
        if self._format:
            self._format.kill()
        super().kill()

    def stop(self) -> None:
        if self._format:
            self._format.kill()
        super().stop()

    def _finish_format(self) -> None:
        if self._format is None:
            return
        if self._format.wait_until_ended(_START_LIMIT):
            self._format.check()
        self._format = None

    def _serves(self) -> bool:
        self._process.check()
        for port, _ in self._listeners.values():
            try:
                socket.create_connection((LOOPBACK, port), timeout=1).close()
            except OSError:
                return False
        return self.topics.served()

    def _java(
        self, name: str, options: list[str], main: str, *arguments: str
    ) -> LabProcess:
        command = self._runtime.command(
            main,
            *arguments,
            folder=self._folder,
            heap_mib=self._heap_mib,
            options=options,
        )
        return LabProcess(
            name,
            command,
            folder=self._folder,
            log=self._log,
            lifeline=self._lifeline,
        )

    def _address(self, listener: str) -> str:
        _, advertised = self._listeners[listener]
        return f"{LOOPBACK}:{advertised}"


def _cluster_id() -> str:
    # As Kafka's own tool makes them: a random UUID in URL-safe base 64, but
    # none that a command would take for an option.
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()
        if not text.startswith("-"):
            return text.rstrip("=")
