"""One file of a Maven repository, pinned with its checksum."""

from dataclasses import dataclass

__all__ = ["Artifact", "parse_artifacts"]


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


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """Return the artifacts of a list.

    Parameters
    ----------
    text
        A line for each: ``group:name:version``, maybe ``:classifier``, then
        the checksum.
    """
    return tuple(_parse(line) for line in text.splitlines())


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
