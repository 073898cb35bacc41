"""Putting the parts of a lab together, before any of them starts."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..exceptions import LabError
from . import connect_properties
from .addresses import LOOPBACK, Ports
from .connect import ConnectMirror
from .jmx import JmxDoors
from .lifeline import Lifeline
from .link import Link
from .mirror import Mirror
from .mirror_properties import mirror_properties
from .registry import SchemaRegistry
from .runtime import Runtime
from .security import SiteSecurity, secure
from .settings import SOURCE, TARGET, LabSettings
from .site import Site

__all__ = ["Assembly"]


class Assembly:
    """Makes the parts of one lab.

    Parameters
    ----------
    settings
        What kind of lab is wanted.
    folder
        The lab's folder.
    logs
        Folder for the logs of the parts.
    lifeline
        What starts the parts.
    resources
        What gives back links and ports in the end.

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
        self._runtime = Runtime.prepare(settings.kafka)
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
    ) -> Site:
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

    def target(self) -> Site:
        """Return the target; mirror and agent are beside it, without links."""
        listeners = {
            name: (port, port)
            for name in ("DIRECT", "MIRROR", "AGENT")
            for port in [self._ports.take()]
        }
        return self._site(
            TARGET, listeners, more=self._settings.target_properties
        )

    def mirror(self, source: Site, target: Site, name: str) -> Mirror:
        """Return a mirror between the sites."""
        logins = {
            key: value
            for security in self._security.values()
            for key, value in security.mirror().items()
        }
        common: dict[str, Any] = {
            "target": target.topics,
            "jolokia_port": self._ports.take(),
            "jmx": JmxDoors(self._settings.jmx, self._ports),
            "heap_mib": self._settings.mirror_heap_mib,
            "runtime": self._runtime,
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
        return Mirror(
            name,
            configure=lambda more: mirror_properties(
                self._settings, **sites, more={**logins, **more}
            ),
            **common,
        )

    def _connect_mirror(
        self, name: str, common: Mapping[str, Any], *, source: str, target: str
    ) -> ConnectMirror:
        port = self._ports.take()
        return ConnectMirror(
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
    ) -> Site:
        auto_create = "true" if self._settings.auto_create else "false"
        return Site(
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
