"""The jars that a lab runs: pinned, with their checksums."""

from dataclasses import dataclass
from importlib import resources

from ..exceptions import LabError

__all__ = ["KAFKA_VERSIONS", "Artifact", "manifest"]

KAFKA_VERSIONS = ("4.3.1", "3.9.2")
"""Versions with a manifest; the first one is the default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """One file of a Maven repository, nearly always a jar."""

    group: str
    """Group, as ``org.apache.kafka``."""

    name: str
    """Artifact id."""

    version: str
    """Version, never a range."""

    classifier: str = ""
    """Classifier, where the jar has one."""

    extension: str = "jar"
    """How the file's name ends."""

    sha256: str
    """What the downloaded bytes must hash to."""

    @property
    def file_name(self) -> str:
        """Name of the jar, unique within the cache.

        The group is part of it, because two groups may have an artifact of
        one name and version.
        """
        return f"{self.group}.{self._jar}"

    @property
    def path(self) -> str:
        """Where it is in a Maven repository, relative to its address."""
        group = self.group.replace(".", "/")
        return f"{group}/{self.name}/{self.version}/{self._jar}"

    @property
    def _jar(self) -> str:
        tail = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{tail}.{self.extension}"


def manifest(kafka: str) -> tuple[Artifact, ...]:
    """Return every jar that brokers, Connect and MirrorMaker 2 need.

    Parameters
    ----------
    kafka
        Version of Kafka.

    Raises
    ------
    LabError
        Raised if there is no manifest for this version.
    """
    if kafka not in KAFKA_VERSIONS:
        known = ", ".join(KAFKA_VERSIONS)
        raise LabError(f"No lab for Kafka {kafka}; there is one for {known}")
    file = resources.files(__package__) / "jars" / f"kafka-{kafka}.txt"
    return tuple(
        _parse(line) for line in file.read_text(encoding="utf-8").splitlines()
    )


def _parse(line: str) -> Artifact:
    coordinates, sha256 = line.split()
    group, name, version, *rest = coordinates.split(":")
    return Artifact(
        group=group,
        name=name,
        version=version,
        classifier=rest[0] if rest else "",
        sha256=sha256,
    )
