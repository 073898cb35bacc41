"""The jars that a lab runs: pinned, with their checksums."""

from importlib import resources

from ..exceptions import LabError
from ..maven import Artifact, parse_artifacts

__all__ = ["KAFKA_VERSIONS", "manifest"]

KAFKA_VERSIONS = ("4.3.1", "3.9.2")
"""Versions with a manifest; the first one is the default."""


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
    return parse_artifacts(file.read_text(encoding="utf-8"))
