"""MBeans by remote JMX: Java's own protocol, spoken by a JVM in the agent."""

from collections.abc import Iterator, Sequence
from typing import Any

from ...domain.mbeans import MBean, Wanted
from .java import start_java
from .reader import JmxAddress

__all__ = ["RmiReader"]


class RmiReader:
    """Reads MBeans from a JMX port, over one connection that is kept.

    Parameters
    ----------
    address
        Where it is, as ``service:jmx:rmi:///jndi/rmi://host:9010/jmxrmi``.

    Raises
    ------
    ConfigError
        Raised with the remedy if JPype or a JVM is missing.

    Notes
    -----
    The protocol has no request for many MBeans, so each costs a round trip.
    A call that gets no answer blocks one thread of the agent until Java gives
    up; each address has a thread of its own.
    """

    def __init__(self, address: JmxAddress) -> None:
        self._address = address
        self._java = start_java(address.timeout)
        self._connector: Any = None

    def read(self, wanted: Sequence[Wanted]) -> Sequence[MBean]:
        try:
            connection = self._connect().getMBeanServerConnection()
            return [
                mbean
                for want in wanted
                for mbean in self._read(connection, want)
            ]
        except self._java.failures as e:
            self.close()
            raise self._address.unavailable(self._java.explain(e)) from None

    def close(self) -> None:
        connector, self._connector = self._connector, None
        if connector is not None:
            self._java.close(connector)

    def _connect(self) -> Any:
        if self._connector is None:
            address = self._address
            self._connector = self._java.connect(
                address.url, address.user, address.password
            )
        return self._connector

    def _read(self, connection: Any, want: Wanted) -> Iterator[MBean]:
        java = self._java
        attributes = java.strings(want.attributes)
        for name in connection.queryNames(java.name(want.pattern), None):
            try:
                values = connection.getAttributes(name, attributes)
            except java.gone:
                continue  # the task that had it has just ended
            yield MBean(
                domain=str(name.getDomain()),
                properties=java.properties(name),
                attributes=want.take(java.attributes(values)),
            )
