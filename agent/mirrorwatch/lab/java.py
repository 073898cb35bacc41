"""The Java that runs the lab."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..exceptions import LabError

__all__ = ["Java", "find_java"]

OLDEST_JAVA = 17
"""Oldest Java that Kafka 4 brokers run on."""

_REMEDY = (
    f"Install Java {OLDEST_JAVA} or newer (Debian: apt-get install "
    "openjdk-17-jre-headless) and put it on PATH, or set JAVA_HOME"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Java:
    """A Java that is new enough."""

    path: Path
    """The ``java`` program."""

    version: str
    """What it says of itself, as ``17.0.15``."""


def find_java() -> Java:
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
    return Java(path=path, version=found[1])


def _path() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        path = Path(home) / "bin" / "java"
        if not path.exists():
            raise LabError(f"JAVA_HOME is {home}, without bin/java. {_REMEDY}")
        return path
    if on_path := shutil.which("java"):
        return Path(on_path)
    raise LabError(f"No Java found. {_REMEDY}")
