"""One site: a single broker that is its own controller (KRaft)."""

import base64
import socket
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from .addresses import LOOPBACK
from .broker_properties import broker_properties
from .grants import Grants
from .lifeline import Lifeline
from .part import Part
from .process import Process
from .properties import write_properties
from .runtime import Runtime
from .security import AGENT_USER, SiteSecurity
from .topics import Topics
from .waiting import wait_until

__all__ = ["Site"]

_START_LIMIT = timedelta(seconds=240)
"""Longest start of a broker, on a machine that does other things too."""


class Site(Part):
    """One site: a single broker with its data.

    Parameters
    ----------
    alias
        What the site is called.
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
        What starts it.
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
        runtime: Runtime,
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
                data=folder / "data",
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
        self._format: Process | None = None
        administrator = security.administrator() if security else {}
        self.topics = Topics(
            {"bootstrap.servers": self.bootstrap, **administrator}
        )

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
            Who comes; of no account where everybody may do everything.
        """
        return {
            "bootstrap.servers": self.agent_bootstrap,
            **(self.security.client(user) if self.security else {}),
        }

    @property
    def grants(self) -> Grants:
        """What the agent may do here, if this site is secured."""
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
    ) -> Process:
        command = self._runtime.command(
            main,
            *arguments,
            folder=self._folder,
            heap_mib=self._heap_mib,
            options=options,
        )
        return Process(
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
