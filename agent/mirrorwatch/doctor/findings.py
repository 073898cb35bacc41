"""Findings of doctor about one subject, and the clusters that it reached."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.doctor import DoctorFinding, FindingSeverity
from ..kafka.admin import Cluster

__all__ = ["Connectors", "Findings", "ReachedCluster", "to_texts"]


@dataclass(frozen=True, slots=True)
class Connectors:
    """The connectors of a Connect cluster, or of a dedicated mirror."""

    properties: Mapping[str, Mapping[str, str]]
    version: tuple[int, ...] | None = None
    """Version of Kafka that runs them, if that is known."""


@dataclass(frozen=True, slots=True)
class ReachedCluster:
    """A cluster that answers."""

    cluster: Cluster
    topics: Mapping[str, int]
    brokers: int
    id: str


class Findings:
    """Findings about one subject."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.all: list[DoctorFinding] = []

    def add(
        self,
        check: str,
        cause: str,
        remedy: str = "",
        *,
        severity: FindingSeverity = FindingSeverity.ERROR,
        reference: str = "",
    ) -> None:
        self.all.append(
            DoctorFinding(
                severity=severity,
                subject=self.subject,
                check=check,
                cause=cause,
                remedy=remedy,
                reference=reference,
            )
        )

    def add_error(
        self,
        check: str,
        error: Exception,
        severity: FindingSeverity = FindingSeverity.ERROR,
        *,
        key: str | None = None,
    ) -> None:
        """Take the words of an error, which end in the remedy.

        Parameters
        ----------
        check
            Subject of the check.
        error
            The error.
        severity
            Severity of the finding.
        key
            Key of the configuration to check as well, where the remedy does
            not name it.
        """
        cause, _, remedy = str(error).rpartition(". ")
        if cause and key is not None and key not in remedy:
            remedy += f", and {key}"
        self.add(
            check, cause or remedy, remedy if cause else "", severity=severity
        )


def to_texts(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties of a connector as texts."""
    return {
        str(name): str(value)
        for name, value in properties.items()
        if value is not None
    }
