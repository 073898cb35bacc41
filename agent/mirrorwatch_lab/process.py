"""Process of a lab part: a JVM with its log."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path

from mirrorwatch.maven import Artifact, cache_folder, fetch, parse_artifacts

from .exceptions import LabError
from .lifeline import Lifeline

__all__ = [
    "FAST_START",
    "KAFKA_VERSIONS",
    "MIRROR_VERSIONS",
    "Archive",
    "JvmSettings",
    "LabProcess",
    "Part",
    "find_java",
    "manifest",
    "to_text",
    "write_private",
    "write_properties",
]


_GRACE = timedelta(seconds=8)
"""Grace period of a part that was asked to stop, before it is killed."""

_TAIL_LINES = 25
"""Lines of the log that go into an error: a Java stack trace and what led
to it."""


class LabProcess:
    """A program that can be started again and again.

    Parameters
    ----------
    name
        Name of the program in the lab.
    command
        Program and arguments.
    folder
        Its working directory, where its configuration is.
    log
        File to which its output is appended.
    lifeline
        Lifeline that starts it, so that it cannot outlive the lab.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
    ) -> None:
        self.name = name
        self.log = log
        self.frozen = False
        self._command = list(command)
        self._folder = folder
        self._lifeline = lifeline
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        """Process is alive, frozen or not."""
        return self._process is not None and self._process.poll() is None

    def start(self, *arguments: str) -> None:
        """Start it; does nothing when it runs.

        Parameters
        ----------
        arguments
            More arguments, for this start only.
        """
        if self.running:
            return
        self._forget()
        with self.log.open("ab") as log:
            self._process = self._lifeline.start(
                [*self._command, *arguments],
                output=log,
                folder=self._folder,
                environment={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            )

    def stop(self, grace: timedelta = _GRACE) -> None:
        """Ask it to end, and insist after a while."""
        if self._process is None:
            return
        self.thaw()
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(grace.total_seconds())
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
        self._forget()

    def kill(self) -> None:
        """End it at once, as a crash of the machine would."""
        self._signal(signal.SIGKILL)
        self._forget()

    def freeze(self) -> None:
        """Stop its clock: connections stay open, nothing is answered."""
        self._signal(signal.SIGSTOP)
        self.frozen = self.running

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._signal(signal.SIGCONT)
        self.frozen = False

    def check(self) -> None:
        """Raise if it has ended.

        Raises
        ------
        LabError
            Raised with the end of its log.
        """
        if self.running:
            return
        code = self._process.returncode if self._process else None
        raise LabError(
            f"{self.name} ended with status {code}. The end of its log "
            f"({self.log}):\n{self.tail()}"
        )

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """Return the end of its log."""
        if not self.log.exists():
            return "(empty)"
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:]) or "(empty)"

    def wait_until_ended(self, limit: timedelta) -> int:
        """Wait for it to end by itself and return its exit status."""
        if self._process is None:
            raise LabError(f"{self.name} was not started")
        try:
            code = self._process.wait(limit.total_seconds())
        except subprocess.TimeoutExpired as e:
            raise LabError(
                f"{self.name} did not end within {limit}. The end of its "
                f"log:\n{self.tail()}"
            ) from e
        self._lifeline.ended(self._process)
        return code

    def _signal(self, number: signal.Signals) -> None:
        if self._process and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _forget(self) -> None:
        if self._process is None:
            return
        self._process.wait()
        self._lifeline.ended(self._process)
        self._process = None
        self.frozen = False


OLDEST_JAVA = 17
"""Oldest Java that Kafka 4 brokers run on."""

_REMEDY = (
    f"Install Java {OLDEST_JAVA} or newer (Debian: apt-get install "
    "openjdk-17-jre-headless) and put it on PATH, or set JAVA_HOME"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class JavaRuntime:
    """A Java that is new enough."""

    path: Path
    version: str
    """Version that Java reports, as ``17.0.15``."""


def find_java() -> JavaRuntime:
    """Return the Java of JAVA_HOME, else that on PATH.

    Raises
    ------
    LabError
        Raised with the remedy if there is none, or if it is too old.
    """
    path = _path()
    try:
        said = subprocess.run(
            [path, "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError) as e:
        raise LabError(f"{path} does not run: {e}. {_REMEDY}") from e
    found = re.search(r'version "((\d+)[^"]*)"', said)
    # Java 8 and older call themselves 1.8: too old under either reading.
    if not found or int(found[2]) < OLDEST_JAVA:
        says = found[1] if found else said.strip() or "no version"
        raise LabError(f"{path} is Java {says}. {_REMEDY}")
    return JavaRuntime(path=path, version=found[1])


def _path() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        if not path.exists():
            raise LabError(f"JAVA_HOME is {home}, without bin/java. {_REMEDY}")
        return path
    if on_path := shutil.which("java"):
        return Path(on_path)
    raise LabError(f"No Java found. {_REMEDY}")


_BESIDE_AGENT = (
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+AllowArchivingWithJavaAgent",
)
"""Java would not archive what runs beside an agent otherwise; Jolokia does
not change classes, which is what that is about."""


class Archive:
    """A class data archive of one program, made by its first orderly stop.

    Parameters
    ----------
    cache
        Folder that keeps archives, for all labs of this user.
    made_of
        Everything that it depends on: version of Java, class path, program.
    folder
        Folder of the program, where a new archive is written first.
    beside_agent
        The program runs with Jolokia in it.

    Notes
    -----
    On two cores, a broker that starts with one needs 1.1 s instead of 2.1 s,
    and a whole lab a third less work.
    Java checks that it fits, and goes on without it if it does not.
    """

    def __init__(
        self,
        *,
        cache: Path,
        made_of: Sequence[str],
        folder: Path,
        beside_agent: bool = False,
    ) -> None:
        self._options = _BESIDE_AGENT if beside_agent else ()
        digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()
        self._kept = cache / f"{digest[:24]}.jsa"
        self._made = folder / "classes.jsa"
        self.wanted = not self._kept.exists()

    def options(self) -> list[str]:
        """Return the options for Java: to use it, or to make it."""
        if self.wanted:
            return [*self._options, f"-XX:ArchiveClassesAtExit={self._made}"]
        return self.read_options()

    def read_options(self) -> list[str]:
        """Return the options for Java to use it, if it is there."""
        if self.wanted:
            return []
        return [*self._options, f"-XX:SharedArchiveFile={self._kept}"]

    def keep(self) -> None:
        """Put what was made where the next lab finds it."""
        if not self._made.exists():
            return
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        # Complete under its name or not there: labs may start meanwhile.
        with tempfile.NamedTemporaryFile(
            dir=self._kept.parent, prefix=".keeping-", delete=False
        ) as file:
            pass
        copy = Path(file.name)
        try:
            shutil.copyfile(self._made, copy)
            copy.rename(self._kept)
        finally:
            copy.unlink(missing_ok=True)
        self._made.unlink()


KAFKA_VERSIONS = ("4.3.1", "3.9.2")
"""Versions of brokers and MirrorMaker 2; the first one is the default."""

MIRROR_VERSIONS = ("4.1.2", "3.4.1", "2.8.2")
"""Versions of MirrorMaker 2 alone, which copies between brokers of another."""

MIRUS = "0.6.9"
"""Version of Mirus, the last one that is published."""

MIRUS_KAFKA = "2.6.2"


def manifest(kafka: str) -> tuple[Artifact, ...]:
    """Return every jar that brokers, Connect and MirrorMaker 2 need.

    For some versions that is MirrorMaker 2 alone.

    Parameters
    ----------
    kafka
        Version of Kafka.

    Raises
    ------
    LabError
        Raised if there is no manifest for this version.
    """
    if kafka not in KAFKA_VERSIONS + MIRROR_VERSIONS:
        known = ", ".join(KAFKA_VERSIONS)
        raise LabError(
            f"No lab for Kafka {kafka}; there is one for {known}, and for "
            f"MirrorMaker 2 alone of {', '.join(MIRROR_VERSIONS)}"
        )
    program = "kafka" if kafka in KAFKA_VERSIONS else "mirrormaker"
    return read_manifest(f"{program}-{kafka}")


def read_manifest(name: str) -> tuple[Artifact, ...]:
    """Return the jars that a list of this package names."""
    file = resources.files(__package__) / "jars" / f"{name}.txt"
    return parse_artifacts(file.read_text(encoding="utf-8"))


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


@dataclass(frozen=True, kw_only=True, slots=True)
class JvmSettings:
    """A Java and the jars of one version of Kafka."""

    java: JavaRuntime
    kafka: str
    jars: tuple[Path, ...]
    jolokia: Path

    @classmethod
    def prepare(cls, kafka: str) -> "JvmSettings":
        """Find a Java, and fetch the jars unless they are cached.

        Raises
        ------
        LabError
            Raised if one or the other is not to be had.
        """
        return cls._prepare(kafka, manifest(kafka))

    @classmethod
    def prepare_mirus(cls) -> "JvmSettings":
        """Do the same for Mirus, which brings a Kafka Connect of its own.

        Raises
        ------
        LabError
            Raised if one or the other is not to be had.
        """
        return cls._prepare(MIRUS_KAFKA, read_manifest(f"mirus-{MIRUS}"))

    @classmethod
    def _prepare(
        cls, kafka: str, artifacts: Sequence[Artifact]
    ) -> "JvmSettings":
        java = find_java()
        jars = fetch(artifacts, cache_folder() / "jars")
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
            The program runs with Jolokia in it.
        """
        made_of = [name, str(self.java.path), self.java.version]
        return Archive(
            cache=cache_folder() / "classes",
            made_of=[*made_of, *map(str, self.jars)],
            folder=folder,
            beside_agent=beside_agent,
        )

    def _logging(self, folder: Path, level: str = "INFO") -> str:
        # Kafka 4 logs through Log4j 2, those before through Log4j 1.
        if self.kafka.startswith(("2.", "3.")):
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


_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
)

_KEY_ESCAPES = str.maketrans(
    {" ": "\\ ", ":": "\\:", "=": "\\=", "#": "\\#", "!": "\\!"}
)


def to_text(properties: Mapping[str, str]) -> str:
    """Return properties in the format of ``java.util.Properties``."""
    lines = []
    for key, value in sorted(properties.items()):
        name = key.translate(_ESCAPES).translate(_KEY_ESCAPES)
        text = value.translate(_ESCAPES)
        if text.startswith(" "):
            text = "\\" + text
        lines.append(f"{name}={text}")
    return "\n".join(lines) + "\n"


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a file of properties that only this user can read."""
    write_private(path, to_text(properties))


_STOP_LIMIT = timedelta(seconds=90)
"""Longest orderly stop: shorter, and what a mirror copied last would not be
committed, which is another fault than the one that was asked for."""


class Part(ABC):
    """A part of a lab that runs as one process.

    Parameters
    ----------
    process
        The process.
    archive
        Its classes, so that it starts faster.
    """

    def __init__(self, process: LabProcess, archive: Archive) -> None:
        self._process = process
        self._archive = archive

    @property
    def name(self) -> str:
        """Name of the part in the lab."""
        return self._process.name

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Process is alive, frozen or not."""
        return self._process.running

    @property
    def frozen(self) -> bool:
        """Process is suspended: its clock is stopped."""
        return self._process.frozen

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it works; it may run.

        Raises
        ------
        LabError
            Raised with the end of its log if it does not come up.
        """

    def stop(self) -> None:
        """Stop it in good order: a mirror commits what it copied first."""
        self._process.stop(_STOP_LIMIT)
        self._archive.keep()

    def kill(self) -> None:
        """Crash it: what a mirror did not commit will be copied again."""
        self._process.kill()

    def freeze(self) -> None:
        """Stop its clock: it neither answers nor hangs up."""
        self._process.freeze()

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._process.thaw()

    def end(self) -> None:
        """End it for good, at once unless its classes are still wanted."""
        if self._archive.wanted and self.running:
            self.stop()
        else:
            self.kill()
