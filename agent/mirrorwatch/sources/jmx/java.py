"""The JVM in the agent that speaks remote JMX, started when it is wanted."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from threading import Lock
from types import ModuleType
from typing import Any

from ...domain.mbeans import unquote
from ...exceptions import ConfigError

__all__ = ["Java", "start_java"]

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
    "'mirrorwatch[rmi]', or take format jolokia or prometheus"
)

_JVM = (
    "mirror.jmx.format rmi needs a Java 11 or newer in the agent: install "
    "one (Debian: openjdk-17-jre-headless) or set JAVA_HOME, or take format "
    "jolokia or prometheus"
)

_DENIED = (
    "it refuses the login: set mirror.jmx.user and mirror.jmx.password to "
    "those of its password file"
)


class Java:
    """What is used of a JVM.

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
            f"no usable answer ({self._root(error)}): is that process "
            "running, and does java.rmi.server.hostname name an address "
            "that can be reached from here?"
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


def start_java(timeout: timedelta) -> Java:
    """Return the JVM of this process; the first caller starts it.

    Parameters
    ----------
    timeout
        How long a remote call may take.

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
    return Java(jpype)


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
