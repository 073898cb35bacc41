"""How every JVM of a lab is started."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..maven import cache_folder, fetch
from .archive import Archive
from .artifacts import manifest
from .java import Java, find_java

__all__ = ["FAST_START", "Runtime", "write_private"]

_LOG4J2 = """\
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
"""

_RELOAD4J = """\
log4j.rootLogger={level}, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c)%n
"""

FAST_START = (
    # The first compiler only: these JVMs live for minutes, and the second
    # one would take a core away from what is being tested.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    # No files in /tmp that a killed JVM would leave behind.
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
)
"""Options of every JVM of a lab."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """A Java and the jars of one version of Kafka."""

    java: Java
    """The Java that runs them."""

    kafka: str
    """Version of Kafka."""

    jars: tuple[Path, ...]
    """The class path."""

    jolokia: Path
    """The agent that serves MBeans over HTTP."""

    @classmethod
    def prepare(cls, kafka: str) -> "Runtime":
        """Find a Java, and fetch the jars unless they are cached.

        Raises
        ------
        LabError
            Raised if one or the other is not to be had.
        """
        java = find_java()
        jars = fetch(manifest(kafka), cache_folder() / "jars")
        (agent,) = [jar for jar in jars if "jolokia" in jar.name]
        return cls(
            java=java,
            kafka=kafka,
            jars=tuple(jar for jar in jars if jar != agent),
            jolokia=agent,
        )

    def command(
        self,
        main: str,
        *arguments: str,
        folder: Path,
        heap_mib: int,
        options: Sequence[str] = (),
    ) -> list[str]:
        """Return the command line of a Java program.

        Parameters
        ----------
        main
            Class to run.
        arguments
            Its arguments; no secrets, everyone can read them.
        folder
            Its folder; the class path and the log's format are written to
            it.
        heap_mib
            Most memory for its objects.
        options
            More options for Java, as those of its archive.
        """
        jars = os.pathsep.join(str(jar) for jar in self.jars)
        # In a file, because a hundred paths drown a process list.
        path = folder / "classpath"
        write_private(path, f'-cp "{jars}"\n')
        return [
            str(self.java.path),
            f"-Xmx{heap_mib}m",
            *FAST_START,
            self._logging(folder),
            *options,
            f"@{path}",
            main,
            *arguments,
        ]

    def archive(
        self, name: str, folder: Path, *, beside_agent: bool = False
    ) -> Archive:
        """Return the archive of a program's classes.

        Parameters
        ----------
        name
            Name of the program; those of one name share an archive.
        folder
            Its folder.
        beside_agent
            Whether it runs with Jolokia in it.
        """
        made_of = [name, str(self.java.path), self.java.version]
        return Archive(
            cache=cache_folder() / "classes",
            made_of=[*made_of, *map(str, self.jars)],
            folder=folder,
            beside_agent=beside_agent,
        )

    def _logging(self, folder: Path, level: str = "INFO") -> str:
        # Kafka 4 logs through Log4j 2, Kafka 3 through reload4j.
        if self.kafka.startswith("3."):
            path = folder / "log4j.properties"
            write_private(path, _RELOAD4J.format(level=level))
            return f"-Dlog4j.configuration=file:{path}"
        path = folder / "log4j2.properties"
        write_private(path, _LOG4J2.format(level=level))
        return f"-Dlog4j2.configurationFile={path}"


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, secrets and all."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
