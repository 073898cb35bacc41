"""A schema registry of a site: Apicurio's, which speaks Confluent's API."""

import shutil
import tempfile
import zipfile
from datetime import timedelta
from pathlib import Path

import httpx

from mirrorwatch.maven import Artifact, cache_folder, fetch

from .lifeline import Lifeline
from .link import LOOPBACK
from .process import FAST_START, Archive, JvmSettings, LabProcess, Part
from .waiting import wait_until

__all__ = ["SchemaRegistry"]


ARTIFACT = Artifact(
    group="io.apicurio",
    name="apicurio-registry-app",
    version="3.0.9",
    classifier="all",
    extension="zip",
    sha256="8fc13160eaaafeec930a9a93b7e82da1ee8caef3eae29c9ce4b403d80a1523ea",
)

_PROGRAM = "apicurio-registry-app-3.0.9-runner.jar"

_HEAP_MIB = 192

_START_LIMIT = timedelta(seconds=240)
"""Longest start, on a machine that starts two Kafka sites too."""


class SchemaRegistry(Part):
    """A schema registry, with its schemas in a file.

    Parameters
    ----------
    name
        Name of the registry in the lab.
    port
        Its port.
    runtime
        Java.
    folder
        Folder for its schemas.
    log
        File for its log.
    lifeline
        Lifeline that starts it.

    Raises
    ------
    LabError
        Raised if the program is not to be had.

    Notes
    -----
    Started again, it has the same port, and the same schemas with their ids.
    """

    def __init__(
        self,
        name: str,
        *,
        port: int,
        runtime: JvmSettings,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
    ) -> None:
        (folder / "tmp").mkdir(mode=0o700, parents=True)
        self.url = f"http://{LOOPBACK}:{port}/apis/ccompat/v7"
        program = _unpack() / _PROGRAM
        archive = Archive(
            cache=cache_folder() / "classes",
            made_of=[runtime.java.version, str(runtime.java.path), _PROGRAM],
            folder=folder,
        )
        settings = {
            "java.io.tmpdir": folder / "tmp",
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": port,
            "quarkus.http.access-log.enabled": "false",
            # Schemas outlive a crash, as they do where a site keeps them.
            "apicurio.storage.sql.kind": "h2",
            "apicurio.datasource.url": f"jdbc:h2:file:{folder / 'schemas'}"
            # H2 would lose what it was told in the last half second.
            ";WRITE_DELAY=0",
        }
        command = [
            str(runtime.java.path),
            f"-Xmx{_HEAP_MIB}m",
            *FAST_START,
            *archive.options(),
            *(f"-D{key}={value}" for key, value in settings.items()),
            "-jar",
            str(program),
        ]
        super().__init__(
            LabProcess(
                name, command, folder=folder, log=log, lifeline=lifeline
            ),
            archive,
        )

    def launch(self) -> None:
        """Start it without waiting; it may run."""
        self._process.start()

    def start(self) -> None:
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Wait until it answers.

        Raises
        ------
        LabError
            Raised with the end of its log if it does not.
        """
        wait_until(
            self._answers,
            limit=_START_LIMIT,
            what=lambda: (
                f"{self.name} does not answer. The end of its log:\n"
                f"{self._process.tail()}"
            ),
            pause=timedelta(milliseconds=200),
        )

    def _answers(self) -> bool:
        self._process.check()
        try:
            answer = httpx.get(f"{self.url}/subjects", timeout=5)
        except httpx.TransportError:
            return False
        return answer.is_success


def _unpack() -> Path:
    """Return the folder of the program, once for all labs of this user."""
    programs = cache_folder() / "programs"
    folder = programs / Path(ARTIFACT.file_name).stem
    if folder.exists():
        return folder
    (packed,) = fetch([ARTIFACT], cache_folder() / "jars")
    programs.mkdir(parents=True, exist_ok=True)
    # Complete under its name or not there: labs may start meanwhile.
    fresh = Path(tempfile.mkdtemp(dir=programs, prefix=".unpacking-"))
    try:
        with zipfile.ZipFile(packed) as archive:
            archive.extractall(fresh)
        fresh.rename(folder)
    except OSError:
        # Another lab was faster, or the disk is full.
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder
