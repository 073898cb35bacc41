"""A ZooKeeper, for mirrors that keep their positions in one."""

import socket
from datetime import timedelta
from pathlib import Path

from .lifeline import Lifeline
from .link import LOOPBACK
from .process import JvmSettings, LabProcess, Part, write_properties
from .waiting import wait_until

__all__ = ["ZooKeeper"]


KAFKA = "3.9.2"
"""The last Kafka that brings a ZooKeeper: 3.8.4."""

MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

_HEAP_MIB = 128

_START_LIMIT = timedelta(seconds=240)
"""Longest start, on a machine that starts two Kafka sites too."""


class ZooKeeper(Part):
    """ZooKeeper server, with its data in a folder.

    Parameters
    ----------
    port
        Its port.
    folder
        Folder for its data.
    log
        File for its log.
    lifeline
        Lifeline that starts it.

    Raises
    ------
    LabError
        Raised if its jars or a Java are not to be had.

    Notes
    -----
    Started again, it has the same port and the same znodes. Sessions are
    short, so that one that expires is seen within seconds.
    """

    def __init__(
        self,
        *,
        port: int,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
    ) -> None:
        self.port = port
        folder.mkdir(mode=0o700, parents=True)
        config = folder / "zoo.properties"
        write_properties(
            config,
            {
                "dataDir": str(folder / "data"),
                "clientPort": str(port),
                "clientPortAddress": LOOPBACK,
                "admin.enableServer": "false",
                "tickTime": "500",
                "maxSessionTimeout": "4000",
                "4lw.commands.whitelist": "ruok",
            },
        )
        runtime = JvmSettings.prepare(KAFKA)
        archive = runtime.archive("zookeeper", folder)
        command = runtime.command(
            MAIN,
            str(config),
            folder=folder,
            heap_mib=_HEAP_MIB,
            options=archive.options(),
        )
        super().__init__(
            LabProcess(
                "zookeeper", command, folder=folder, log=log, lifeline=lifeline
            ),
            archive,
        )

    @property
    def servers(self) -> str:
        """Its address."""
        return f"{LOOPBACK}:{self.port}"

    def start(self) -> None:
        self._process.start()
        wait_until(
            self._serves,
            limit=_START_LIMIT,
            what=lambda: (
                "ZooKeeper does not answer. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )

    def _serves(self) -> bool:
        self._process.check()
        try:
            with socket.create_connection((LOOPBACK, self.port), 5) as open_:
                open_.sendall(b"ruok")
                return open_.recv(4) == b"imok"
        except OSError:
            return False
