"""Which MBeans of a worker belong to one flow, where flows share it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..domain.mbeans import MBean
from ..domain.naming import Naming
from ..domain.selection import Selection
from .mirrormaker2_mbeans import CONSUMER_ROLE, OLD_CONSUMER

__all__ = ["Ownership"]

_DEDICATED = tuple(
    f"Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat")
)
"""Names of the connectors of every flow of a dedicated MirrorMaker 2."""

_NO_COPIES = re.compile("checkpoint|heartbeat", re.IGNORECASE)
"""In the usual names of the connectors that copy no records."""

_OF_MIRROR = re.compile(r"Mirror\w+Connector|plugins")


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """What is of one flow."""

    source_alias: str
    """``source.cluster.alias``."""

    target_alias: str
    """``target.cluster.alias``."""

    naming: Naming
    """The mirror's replication policy."""

    selection: Selection
    """Source topics that the flow carries."""

    connectors: tuple[str, ...] = ()
    """The flow's connectors, where they are configured."""

    dedicated: bool = True
    """Whether the mirror runs on its own."""

    def of_mirror(self, mbeans: Iterable[MBean]) -> Iterator[MBean]:
        """Yield the mirror's own MBeans of this flow."""
        for mbean in mbeans:
            if _OF_MIRROR.fullmatch(mbean.type) and self._is_own(mbean):
                yield mbean

    def origin(self, mbean: MBean) -> str | None:
        """Return the source topic of one of the mirror's own MBeans."""
        topic = self.naming.origin(mbean.properties.get("topic", ""))
        return topic if topic and self.selection.matches(topic) else None

    def consumers(self, mbeans: Iterable[MBean]) -> tuple[MBean, ...]:
        """Return MBeans of the flow's consumers."""
        mbeans = list(mbeans)
        clients = [m for m in mbeans if m.domain == "kafka.consumer"]
        # Before Kafka 3.5 their names say nothing: they are this flow's if
        # the worker has no other flow.
        old = all(_client(m).startswith(OLD_CONSUMER) for m in clients) and (
            all(map(self._is_own, filter(_is_mirrors, mbeans)))
        )
        return tuple(m for m in clients if old or self._task(m) is not None)

    def producers(
        self, mbeans: Iterable[MBean], copying: Iterable[str]
    ) -> tuple[MBean, ...]:
        """Return MBeans of the producers of these connectors."""
        names = "|".join(map(re.escape, copying))
        own = re.compile(rf"connector-producer-({names})-\d+")
        return tuple(
            mbean
            for mbean in mbeans
            if mbean.domain == "kafka.producer"
            and own.fullmatch(_client(mbean))
        )

    def copying(self, mbeans: Iterable[MBean]) -> set[str]:
        """Return the names of the connectors that copy this flow."""
        named = {
            task[0]
            for mbean in mbeans
            if mbean.domain == "kafka.consumer"
            and (task := self._task(mbean)) is not None
        }
        known = self.connectors or (_DEDICATED if self.dedicated else ())
        return named or {n for n in known if not _NO_COPIES.search(n)}

    def tasks(
        self, mbeans: Iterable[MBean], copying: Iterable[str]
    ) -> Iterator[MBean]:
        """Yield MBeans of the flow's connectors and tasks in Connect."""
        known = {*copying, *self.connectors}
        if self.dedicated and not self.connectors:
            known |= set(_DEDICATED)
        # As Strimzi calls them.
        prefix = f"{self.source_alias}->{self.target_alias}."
        for mbean in mbeans:
            name = mbean.properties.get("connector")
            if (
                name is not None
                and mbean.type != "plugins"
                and (name in known or self._may_be(name, prefix))
            ):
                yield mbean

    def _may_be(self, name: str, prefix: str) -> bool:
        return not self.connectors and name.startswith(prefix)

    def _is_own(self, mbean: MBean) -> bool:
        has = mbean.properties
        if has.get("target") != self.target_alias:
            return False
        if has.get("source", self.source_alias) != self.source_alias:
            return False
        name = has.get("connector")
        listed = not self.connectors or name is None
        return (listed or name in self.connectors) and (
            self.origin(mbean) is not None
        )

    def _task(self, mbean: MBean) -> tuple[str, int] | None:
        """Return connector and task of a consumer of this flow."""
        match = self._client_id.fullmatch(_client(mbean))
        if match is None:
            return None
        if self.connectors and match[1] not in self.connectors:
            return None
        return match[1], int(match[2])

    @cached_property
    def _client_id(self) -> re.Pattern[str]:
        flow = re.escape(f"{self.source_alias}->{self.target_alias}")
        # A client id that a user configured stands before it.
        return re.compile(rf"(?:.*\|)?{flow}\|(.+)-(\d+)\|{CONSUMER_ROLE}")


def _is_mirrors(mbean: MBean) -> bool:
    return _OF_MIRROR.fullmatch(mbean.type) is not None


def _client(mbean: MBean) -> str:
    return mbean.properties.get("client-id", "")
