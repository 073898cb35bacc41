"""Two real sites and a real mirror between them, on this machine."""

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from confluent_kafka import Message

from .addresses import LOOPBACK, Ports
from .lifeline import Lifeline
from .link import Link
from .mirror import Mirror
from .mirror_properties import mirror_properties
from .runtime import Runtime
from .security import SiteSecurity, secure
from .settings import SOURCE, TARGET, LabSettings
from .site import Site

__all__ = ["Lab"]


class Lab:
    """Two sites, the links before the source, and the mirror.

    Parameters
    ----------
    settings
        What kind of lab is wanted.
    folder
        Folder for configuration, data and logs, which must be new or empty
        and is kept; by default a temporary one, which is not.

    Notes
    -----
    Everything that the lab starts dies with the process that started it, in
    whatever way that one ends.
    """

    def __init__(
        self, settings: LabSettings | None = None, folder: Path | None = None
    ) -> None:
        self.settings = settings or LabSettings()
        self._temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="mirrorwatch-"))
        self.logs = self.folder / "logs"
        self._open = ExitStack()
        self._ports = Ports()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start both sites, make the topics, start the mirror.

        Raises
        ------
        LabError
            Raised with the end of a log if a part does not come up; by then
            everything is stopped again.
        """
        try:
            self._prepare()
            self._start_parts()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything, and remove the folder if it is temporary.

        Every part stops in good order if the folder is kept; else at once.
        """
        self._open.close()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic at the source."""
        self.source.topics.create(name, partitions, configs or {})

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic of the source, up to this many."""
        self.source.topics.grow(topic, partitions)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the source's records before an offset of partitions."""
        self.source.topics.delete_records(topic, before)

    def read(
        self,
        side: Literal["source", "target"],
        topic: str,
        *,
        isolation_level: str = "read_uncommitted",
    ) -> list[Message]:
        """Return every record that a topic holds now, by a plain reader."""
        site = self.source if side == "source" else self.target
        return site.topics.read(topic, isolation_level=isolation_level)

    def target_name(self, topic: str) -> str:
        """Return what a source topic is called at the target."""
        if self.settings.naming == "identity":
            return topic
        return f"{SOURCE}.{topic}"

    def _start_parts(self) -> None:
        sites = (self.source, self.target)
        for site in sites:
            site.format()
        for site in sites:
            site.launch()
        if self.settings.start_mirror:
            # It loads while the brokers do. But it looks for topics once and
            # then not for ten minutes, so it must not see the source before
            # its topics are there.
            self.link_mirror.cut()
            # A secured site knows the mirror only once it is up.
            if not self.settings.secured:
                self.mirror.launch()
        for site in sites:
            site.wait()
        self.source.topics.create_all(
            self.settings.topics, self.settings.topic_configs
        )
        if self.settings.start_mirror:
            self.link_mirror.restore()
            if self.settings.secured:
                self.mirror.launch()
            self.mirror.wait()

    def _prepare(self) -> None:
        runtime = Runtime.prepare(self.settings.kafka)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.logs.mkdir(mode=0o700)
        self._open.callback(self._ports.close)
        lifeline = Lifeline(self.folder if self._temporary else None)
        self._open.callback(lifeline.close)
        security = self._secure()
        logins = {
            k: v for s in security.values() for k, v in s.mirror().items()
        }
        direct, agent, mirror = (self._ports.take() for _ in range(3))
        self.link_agent = self._link(agent)
        self.link_mirror = self._link(mirror)
        # After the links, so that these are still there when parts stop.
        self._open.callback(self._stop_parts)
        self.source = Site(
            SOURCE,
            listeners={
                "DIRECT": (direct, direct),
                "MIRROR": (mirror, self.link_mirror.port),
                "AGENT": (agent, self.link_agent.port),
            },
            controller_port=self._ports.take(),
            runtime=runtime,
            folder=self.folder / SOURCE,
            log=self.logs / f"{SOURCE}.log",
            lifeline=lifeline,
            properties=self._broker(self.settings.source_properties),
            security=security.get(SOURCE),
        )
        direct, agent, mirror = (self._ports.take() for _ in range(3))
        self.target = Site(
            TARGET,
            listeners={
                "DIRECT": (direct, direct),
                "MIRROR": (mirror, mirror),
                "AGENT": (agent, agent),
            },
            controller_port=self._ports.take(),
            runtime=runtime,
            folder=self.folder / TARGET,
            log=self.logs / f"{TARGET}.log",
            lifeline=lifeline,
            properties=self._broker(self.settings.target_properties),
            security=security.get(TARGET),
        )
        self.mirror = Mirror(
            configure=lambda more: mirror_properties(
                self.settings,
                source=self.source.mirror_bootstrap,
                target=self.target.mirror_bootstrap,
                more={**logins, **more},
            ),
            target=self.target.topics,
            jolokia_port=self._ports.take(),
            runtime=runtime,
            folder=self.folder / "mirror",
            log=self.logs / "mirror.log",
            lifeline=lifeline,
        )

    def _link(self, port: int) -> Link:
        link = Link(listen_port=self._ports.take(), upstream=(LOOPBACK, port))
        link.start()
        self._open.callback(link.stop)
        return link

    def _secure(self) -> dict[str, SiteSecurity]:
        if not self.settings.secured:
            return {}
        return secure((SOURCE, TARGET), self.folder / "security")

    def _broker(self, more: Mapping[str, str]) -> dict[str, str]:
        auto = "true" if self.settings.auto_create else "false"
        return {"auto.create.topics.enable": auto, **more}

    def _stop_parts(self) -> None:
        parts = [
            getattr(self, name)
            for name in ("mirror", "source", "target")
            if hasattr(self, name)
        ]
        for part in parts:
            # Where nothing is kept, nothing needs to be put in order.
            if self._temporary:
                part.end()
            else:
                part.stop()
