"""Texts of findings beside those of the runbook, which is their snapshot."""

from collections.abc import Mapping

from mirrorwatch.domain.cause_texts import EVIDENCE
from mirrorwatch.domain.checks import CODES

__all__ = ["texts"]


def texts() -> dict[str, Mapping[str, str]]:
    """Return titles of codes without an entry, and evidence of causes."""
    titles = {c.name: c.title for c in CODES.values() if not c.meaning}
    return {"titles": titles, "evidence": EVIDENCE}
