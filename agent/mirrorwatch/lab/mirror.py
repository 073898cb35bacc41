"""A dedicated MirrorMaker 2, with Jolokia in it."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from .addresses import LOOPBACK
from .jmx import JmxDoors
from .lifeline import Lifeline
from .mirror_state import (
    DEDICATED,
    DIGEST,
    Bookmark,
    Place,
    bookmark,
    is_settled,
)
from .part import Part
from .process import Process
from .properties import to_text, write_properties
from .runtime import Runtime
from .settings import SOURCE, TARGET
from .topics import Topics
from .waiting import wait_until

__all__ = ["Mirror"]

_START_LIMIT = timedelta(seconds=300)
"""Longest start of the mirror: it waits for group joins and rebalances, on a
machine that does other things too."""

_LOOK = timedelta(milliseconds=200)
"""Between two looks at the internal topics: each one reads them whole."""


class Mirror(Part):
    """A dedicated MirrorMaker 2.

    Parameters
    ----------
    name
        What the lab calls it.
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
        What starts it.
    """

    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    program = "mirror"
    place: Place = DEDICATED

    def __init__(
        self,
        name: str,
        *,
        configure: Callable[[Mapping[str, str]], Mapping[str, str]],
        target: Topics,
        jolokia_port: int,
        jmx: JmxDoors,
        heap_mib: int,
        runtime: Runtime,
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
        agent = f"{runtime.jolokia}=host={LOOPBACK},port={jolokia_port}"
        # Another agent is another class path.
        program = f"{self.program}-doors" if doors else self.program
        archive = runtime.archive(program, folder, beside_agent=True)
        command = runtime.command(
            self.main,
            str(self._config),
            folder=folder,
            heap_mib=heap_mib,
            options=[*archive.options(), f"-javaagent:{agent}", *doors],
        )
        super().__init__(
            Process(name, command, folder=folder, log=log, lifeline=lifeline),
            archive,
        )

    @property
    def agent_config(self) -> dict[str, Any]:
        """What an agent must be told of it: ``mirror`` of a flow."""
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
            Where the mirror's internal topics ended before it was started,
            by `bookmark`; nothing if it is the first start.
        """
        wait_until(
            lambda: self._settled(since or {}),
            limit=_START_LIMIT,
            pause=_LOOK,
            what=lambda: (
                "the mirror does not copy. The end of its log:\n"
                f"{self._process.tail()}"
            ),
        )

    def _settled(self, since: Bookmark) -> bool:
        self._process.check()
        return is_settled(self._target, since, self._digest, self.place)
