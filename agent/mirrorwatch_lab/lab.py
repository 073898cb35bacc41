"""Two real sites and a real mirror between them, on this machine."""

import shutil
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import Message

from . import connect as connect_properties
from .connect import LabConnect
from .exceptions import LabError
from .jmx import JmxDoors
from .lifeline import Lifeline
from .link import LOOPBACK, Link, Ports
from .mirror import LabMirror, mirror_properties
from .mirrormaker1 import LabMirrorMaker1, mirrormaker1_properties
from .mirus import LabMirus, mirus_connector, mirus_worker
from .process import JvmSettings
from .registry import SchemaRegistry
from .security import SiteSecurity, secure
from .settings import SOURCE, TARGET, LabSettings
from .site import LabSite
from .start_stop import StartStop

__all__ = ["Lab"]


class Assembly:
    """Makes the parts of one lab.

    Parameters
    ----------
    settings
        Settings of the lab.
    folder
        The lab's folder.
    logs
        Folder for the logs of the parts.
    lifeline
        Lifeline that starts the parts.
    resources
        Exit stack that gives back links and ports in the end.

    Raises
    ------
    LabError
        Raised if Java or the jars are not to be had.
    """

    def __init__(
        self,
        settings: LabSettings,
        *,
        folder: Path,
        logs: Path,
        lifeline: Lifeline,
        resources: ExitStack,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._logs = logs
        self._lifeline = lifeline
        self._resources = resources
        self._runtime = JvmSettings.prepare(settings.kafka)
        self._mirror_runtime = (
            JvmSettings.prepare_mirus()
            if settings.mirror == "mirus"
            else JvmSettings.prepare(settings.mirror_kafka or settings.kafka)
        )
        self._ports = Ports()
        resources.callback(self._ports.close)
        self._security: dict[str, SiteSecurity] = (
            secure((SOURCE, TARGET), folder / "security")
            if settings.secured
            else {}
        )

    def link(self) -> tuple[int, Link]:
        """Return a port for a listener, and the link that leads to it."""
        port = self._ports.take()
        link = Link(listen_port=self._ports.take(), upstream=(LOOPBACK, port))
        link.start()
        self._resources.callback(link.stop)
        return port, link

    def source(
        self, *, mirror: tuple[int, Link], agent: tuple[int, Link]
    ) -> LabSite:
        """Return the source, behind its links."""
        direct = self._ports.take()
        listeners = {
            "DIRECT": (direct, direct),
            "MIRROR": (mirror[0], mirror[1].port),
            "AGENT": (agent[0], agent[1].port),
        }
        return self._site(
            SOURCE, listeners, more=self._settings.source_properties
        )

    def target(self, links: Mapping[str, tuple[int, Link]]) -> LabSite:
        """Return the target; who has no link to it is beside it."""
        listeners = {
            name: (port, port)
            for name in ("DIRECT", "MIRROR", "AGENT")
            for port in [self._ports.take()]
        }
        listeners |= {
            name: (port, link.port) for name, (port, link) in links.items()
        }
        return self._site(
            TARGET, listeners, more=self._settings.target_properties
        )

    def mirror(self, source: LabSite, target: LabSite, name: str) -> LabMirror:
        """Return a mirror between the sites."""
        logins = {
            key: value
            for security in self._security.values()
            for key, value in security.mirror().items()
        }
        jmx = JmxDoors(self._settings.jmx, self._ports)
        common: dict[str, Any] = {
            "target": target.topics,
            "jolokia_port": self._ports.take(),
            "jmx": jmx,
            "heap_mib": self._settings.mirror_heap_mib,
            "runtime": self._mirror_runtime,
            "folder": self._folder / name,
            "log": self._logs / f"{name}.log",
            "lifeline": self._lifeline,
        }
        sites = {
            "source": source.mirror_bootstrap,
            "target": target.mirror_bootstrap,
        }
        if self._settings.mirror == "connect":
            if logins:
                raise LabError("A Connect worker has no secured lab")
            return self._connect_mirror(name, common, **sites)
        if self._settings.mirror == "mirus":
            port = self._ports.take()
            return LabMirus(
                name,
                configure=lambda more: mirus_worker(
                    self._settings, sites["target"], port, more
                ),
                connectors=lambda more, digest: mirus_connector(
                    self._settings, **sites, digest=digest, more=more
                ),
                rest_port=port,
                **common,
            )
        if self._settings.mirror == "mirrormaker1":
            return LabMirrorMaker1(
                name,
                configure=lambda more: mirrormaker1_properties(
                    self._settings, **sites, more={**logins, **more}
                ),
                **common,
            )
        given = {**jmx.properties(SOURCE, TARGET), **logins}
        return LabMirror(
            name,
            configure=lambda more: mirror_properties(
                self._settings, **sites, more={**given, **more}
            ),
            **common,
        )

    def _connect_mirror(
        self, name: str, common: Mapping[str, Any], *, source: str, target: str
    ) -> LabConnect:
        port = self._ports.take()
        return LabConnect(
            name,
            configure=lambda more: connect_properties.worker(
                self._settings, target=target, port=port, more=more
            ),
            connectors=lambda more, digest: connect_properties.connectors(
                self._settings,
                source=source,
                target=target,
                digest=digest,
                more=more,
            ),
            rest_port=port,
            **common,
        )

    def registries(self) -> dict[str, SchemaRegistry]:
        """Return the schema registries of the sites, if they are wanted."""
        if not self._settings.registries:
            return {}
        return {alias: self._registry(alias) for alias in (SOURCE, TARGET)}

    def _registry(self, alias: str) -> SchemaRegistry:
        name = f"{alias}-registry"
        return SchemaRegistry(
            name,
            port=self._ports.take(),
            runtime=self._runtime,
            folder=self._folder / name,
            log=self._logs / f"{name}.log",
            lifeline=self._lifeline,
        )

    def _site(
        self,
        alias: str,
        listeners: Mapping[str, tuple[int, int]],
        *,
        more: Mapping[str, str],
    ) -> LabSite:
        auto_create = "true" if self._settings.auto_create else "false"
        return LabSite(
            alias,
            listeners=listeners,
            controller_port=self._ports.take(),
            runtime=self._runtime,
            folder=self._folder / alias,
            log=self._logs / f"{alias}.log",
            lifeline=self._lifeline,
            properties={"auto.create.topics.enable": auto_create, **more},
            heap_mib=self._settings.broker_heap_mib,
            security=self._security.get(alias),
        )


class Lab(StartStop):
    """Two sites, the links before the source, and the mirror.

    Parameters
    ----------
    settings
        Settings of the lab.
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
        self.folder = folder or _temporary_folder()
        self.logs = self.folder / "logs"
        self.parts: dict[str, LabSite | LabMirror | SchemaRegistry] = {}
        self._open = ExitStack()
        self._came_up = False

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
            self._came_up = True
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

    def add_mirror(self) -> LabMirror:
        """Return a second node of the mirror, not started.

        It takes over what a frozen first one no longer does; thawed again,
        that one is a zombie for a while, and both write.
        """
        mirrors = [p for p in self.parts.values() if isinstance(p, LabMirror)]
        name = f"mirror-{len(mirrors) + 1}"
        mirror = self._assembly.mirror(self.source, self.target, name)
        self.parts[name] = mirror
        return mirror

    def target_name(self, topic: str) -> str:
        """Return what a source topic is called at the target."""
        if self.settings.naming == "identity":
            return topic
        return f"{self.settings.aliases[0]}{self.settings.separator}{topic}"

    def _start_parts(self) -> None:
        sites = (self.source, self.target)
        for site in sites:
            site.format()
        for site in sites:
            site.launch()
        for registry in self.registries.values():
            registry.launch()
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
        for registry in self.registries.values():
            registry.wait()

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.logs.mkdir(mode=0o700)
        lifeline = Lifeline(self.folder if self._temporary else None)
        self._open.callback(lifeline.close)
        self._assembly = Assembly(
            self.settings,
            folder=self.folder,
            logs=self.logs,
            lifeline=lifeline,
            resources=self._open,
        )
        mirror, agent = self._assembly.link(), self._assembly.link()
        self.link_mirror, self.link_agent = mirror[1], agent[1]
        wanted = ("MIRROR", "AGENT") if self.settings.target_links else ()
        links = {name: self._assembly.link() for name in wanted}
        self.links_target = tuple(link for _, link in links.values())
        # After the links, so that these are still there when parts stop.
        self._open.callback(self._stop_parts)
        self.source = self._assembly.source(mirror=mirror, agent=agent)
        self.target = self._assembly.target(links)
        self.mirror = self._assembly.mirror(self.source, self.target, "mirror")
        self.registries = self._assembly.registries()
        self.parts = {
            SOURCE: self.source,
            TARGET: self.target,
            **{part.name: part for part in self.registries.values()},
            "mirror": self.mirror,
        }

    def _stop_parts(self) -> None:
        # The mirrors first: they commit their positions at the target.
        for part in reversed(self.parts.values()):
            # Where nothing is kept, nothing needs to be put in order.
            if not self._came_up:
                part.kill()
            elif self._temporary:
                part.end()
            else:
                part.stop()


def _temporary_folder() -> Path:
    # Short, for the path of the control socket must fit into 100 bytes.
    name = f"mirrorwatch-{uuid.uuid4().hex[:8]}"
    return Path(tempfile.gettempdir()) / name
