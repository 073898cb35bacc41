"""Texts of the records that are lost for good."""

from ..finding import render
from .model import LostRecords

__all__ = ["title"]

LOST = "{records:record} lost for good[, at most {at_most:,} more]"
RECOVERED = (
    "{records:record} lost[, at most {at_most:,} more], {recovered:,} of them "
    "copied later"
)
UNCERTAIN = "At most {at_most:record} lost for good"


def title(lost: LostRecords) -> str | None:
    """Return the number of lost records in words; `None` if none is lost."""
    numbers = {
        "records": lost.records,
        "at_most": lost.at_most or None,
        "recovered": lost.records - lost.missing,
    }
    if not lost.records:
        return render(UNCERTAIN, numbers) if lost.at_most else None
    return render(RECOVERED if numbers["recovered"] else LOST, numbers)
