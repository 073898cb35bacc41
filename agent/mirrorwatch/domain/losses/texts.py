"""Texts of the records that are lost for good."""

from collections.abc import Sequence

from ..finding import Scalar, render
from .model import LossesObservation, LostRecords, TopicLosses

__all__ = ["acknowledge", "describe", "exception", "title"]

LOST = "{records:record} lost for good in 24 hours[, at most {at_most:,} more]"
RECOVERED = (
    "{records:record} lost in 24 hours[, at most {at_most:,} more], "
    "{recovered:,} of them copied later"
)
EXCEPTION = "except {missing:lost record}"
UNCERTAIN = "At most {at_most:record} lost for good in 24 hours"
DETAIL = (
    "{topics}[ and {others:other topic}]. {hour:,} in the last hour, "
    "{total:,} since installation ({since})"
)
TOPIC = "{topic} {records:,}"
TOPIC_AT_MOST = "{topic} at most {at_most:,}"
REST = "other topics"
ACKNOWLEDGE = "mirrorwatch ack {events}"

NAMED = 5
"""Topics that are named, the newest."""


def title(lost: LostRecords) -> str | None:
    """Return the losses of a day in words; `None` if there is none."""
    numbers = {
        "records": lost.records,
        "at_most": lost.at_most or None,
        "recovered": lost.records - lost.missing,
    }
    if not lost.records:
        return render(UNCERTAIN, numbers) if lost.at_most else None
    return render(RECOVERED if numbers["recovered"] else LOST, numbers)


def exception(lost: LostRecords) -> str | None:
    """Return the lost records beside which copies are complete; `None` if
    there are none.
    """
    if not lost.missing:
        return None
    return render(EXCEPTION, {"missing": lost.missing})


def describe(seen: LossesObservation) -> str | None:
    """Return the topics of the losses of a day, and the sums of other times;
    `None` if there is none.
    """
    if not seen.topics:
        return None
    numbers: dict[str, Scalar] = {
        "topics": ", ".join(map(_name, seen.topics[:NAMED])),
        "others": len(seen.topics[NAMED:]) or None,
        "hour": seen.hour.records,
        "total": seen.total.records,
        "since": f"{seen.since:%Y-%m-%d}",
    }
    return render(DETAIL, numbers)


def acknowledge(events: Sequence[int]) -> str | None:
    """Return the command that acknowledges losses by the numbers of their
    events; `None` if there is none.
    """
    if not events:
        return None
    return render(ACKNOWLEDGE, {"events": " ".join(map(str, sorted(events)))})


def _name(each: TopicLosses) -> str:
    numbers: dict[str, Scalar] = {
        "topic": each.topic or REST,
        "records": each.lost.records,
        "at_most": each.lost.at_most,
    }
    return render(TOPIC if each.lost.records else TOPIC_AT_MOST, numbers)
