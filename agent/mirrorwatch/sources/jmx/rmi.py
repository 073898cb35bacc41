"""MBeans by remote JMX: Java's own protocol, spoken by a JVM in the agent."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from threading import Lock
from types import ModuleType
from typing import Any

from ...domain.bottleneck.model import MBean, MBeanQuery, unquote
from ...exceptions import ConfigError
from .readers import JmxAddress

__all__ = ["RmiReader"]


_START = Lock()

_OPTIONS = (
    # Signals are the agent's.
    "-Xrs",
    # It holds a few thousand small objects at a time.
    "-Xmx48m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
)

_EXTRA = (
    "mirror.jmx.format rmi needs JPype, which is not installed: pip install "
    "'.[rmi]' in a checkout, or use format jolokia or prometheus"
)

_JVM = (
    "mirror.jmx.format rmi needs Java 11 or newer on mirrorwatch's machine: "
    "install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME, or use "
    "format jolokia or prometheus"
)

_DENIED = (
    "login rejected. Set mirror.jmx.user and mirror.jmx.password to those "
    "of its password file"
)


class JmxJvm:
    """Facade of the JVM functions that remote JMX needs.

    Parameters
    ----------
    jpype
        The bridge to it, started.
    """

    def __init__(self, jpype: ModuleType) -> None:
        find, self._jpype = jpype.JClass, jpype
        remote = "javax.management.remote"
        self._factory = find(f"{remote}.JMXConnectorFactory")
        self._url = find(f"{remote}.JMXServiceURL")
        self._object_name = find("javax.management.ObjectName")
        self._map = find("java.util.HashMap")
        self._denied = find("java.lang.SecurityException")
        self.gone = find("javax.management.InstanceNotFoundException")
        self.failures = (
            find("java.io.IOException"),
            find("java.lang.RuntimeException"),
            find("javax.management.JMException"),
        )

    def connect(self, url: str, user: str | None, password: str | None) -> Any:
        """Return a connector to a JMX port."""
        environment = self._map()
        # A look at a connection that nobody uses is a thread for nothing, and
        # it complains on stderr.
        environment.put("jmx.remote.x.client.connection.check.period", "0")
        if user is not None:
            login = self.strings((user, password or ""))
            environment.put("jmx.remote.credentials", login)
        return self._factory.connect(self._url(url), environment)

    def close(self, connector: Any) -> None:
        """Let go of a connector; one that is broken already stays so."""
        try:
            connector.close()
        except self.failures:
            return

    def strings(self, values: Sequence[str]) -> Any:
        """Return an array of Java's strings."""
        return self._jpype.JArray(self._jpype.JString)(list(values))

    def name(self, pattern: str) -> Any:
        """Return a pattern of names."""
        return self._object_name(pattern)

    def properties(self, name: Any) -> dict[str, str]:
        """Return the properties of a name, without quotes."""
        found = name.getKeyPropertyList()
        return {str(key): unquote(str(found[key])) for key in found}

    def attributes(self, values: Any) -> Mapping[str, object]:
        """Return what an MBean said, as Python's own values."""
        return {str(a.getName()): self._plain(a.getValue()) for a in values}

    def explain(self, error: Any) -> str:
        """Say in words what went wrong."""
        if isinstance(error, self._denied):
            return _DENIED
        return (
            f"no usable response ({self._root(error)}). Check that the "
            "process runs and that java.rmi.server.hostname names an "
            "address reachable from here"
        )

    def _plain(self, value: Any) -> object:
        if isinstance(value, self._jpype.JString):
            return str(value)
        # Numbers of JPype are numbers of Python too, all others are unknown.
        return value

    def _root(self, error: Any) -> str:
        while error.getCause() is not None:
            error = error.getCause()
        return str(error.toString())


def start_java(timeout: timedelta) -> JmxJvm:
    """Return the JVM of this process; the first caller starts it.

    Parameters
    ----------
    timeout
        Timeout of a remote call.

    Raises
    ------
    ConfigError
        Raised with the remedy if JPype or a JVM is missing.
    """
    try:
        # An extra, and 60 MB of memory: only who wants it pays.
        import jpype.config  # noqa: PLC0415
    except ImportError as e:
        raise ConfigError(_EXTRA) from e
    with _START:
        if not jpype.isJVMStarted():
            _start(jpype, timeout)
    return JmxJvm(jpype)


def _start(jpype: ModuleType, timeout: timedelta) -> None:
    milliseconds = timeout // timedelta(milliseconds=1)
    limits = {
        "sun.rmi.transport.tcp.responseTimeout": milliseconds,
        "sun.rmi.transport.tcp.handshakeTimeout": milliseconds,
    }
    # Java is not waited for when the agent ends.
    jpype.config.destroy_jvm = False
    try:
        jpype.startJVM(
            *_OPTIONS,
            *(f"-D{name}={value}" for name, value in limits.items()),
            classpath=[],
            convertStrings=False,
        )
    except (jpype.JVMNotFoundException, OSError, ValueError) as e:
        raise ConfigError(_JVM) from e


class RmiReader:
    """Reads MBeans from a JMX port, over one connection that is kept.

    Parameters
    ----------
    address
        Address, as ``service:jmx:rmi:///jndi/rmi://host:9010/jmxrmi``.

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

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
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

    def _read(self, connection: Any, want: MBeanQuery) -> Iterator[MBean]:
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
