"""What comparing both sides gave."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from mirrorwatch.domain.audit import (
    Finding,
    Stated,
    TopicCount,
    Unverifiable,
)

__all__ = ["Comparison"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What comparing both sides gave."""

    topics: tuple[TopicCount, ...]
    """Every topic that was compared."""

    findings: tuple[Finding, ...]
    """What is proved to be wrong."""

    stated: tuple[Stated, ...]
    """What differs and is not wrong."""

    unverifiable: tuple[Unverifiable, ...]
    """What is missing, and may be lost or on its way."""

    carry: DataFrame
    """Records that the next night compares in place of this one (columns as
    in `CARRY`). Store it before the session ends; an ad hoc audit has no use
    for it."""

    source: DataFrame
    """Digest of the source (columns as in `DIGEST`)."""

    target: DataFrame
    """Digest of the target."""
