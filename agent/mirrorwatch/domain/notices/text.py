"""A notice in words, for a person who was just woken."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..report import Cause, Evidence, Health, counted, seconds
from ..runbook import runbook_link
from .model import CheckChange, Line, Notice, NoticeKind, NoticeMessage

__all__ = ["SCHEMA_VERSION", "Links", "to_document", "to_message"]


SCHEMA_VERSION = 1
"""Of the documents of notices. Changes when a reader of the version before
could misunderstand something; new keys may come at any time."""

MOST_LINES = 12
"""Checks that are named. There are not many more, and one screen of a phone
does not hold them."""

LONGEST_REASON = 400
"""Characters of a reason; the page has all of it."""

WORDS = {
    Health.OFF: "is off",
    Health.OK: "is ok",
    Health.UNKNOWN: "cannot be verified",
    Health.WARNING: "has a warning",
    Health.CRITICAL: "is critical",
}

STILL = {
    Health.UNKNOWN: "still cannot be verified",
    Health.WARNING: "still has a warning",
    Health.CRITICAL: "is still critical",
}


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses in a message."""

    page: str
    """Address of the status page, without a slash at the end."""

    def cause(self, cause: Cause) -> str:
        """Return the address of a cause's entry in the runbook."""
        return self.page + runbook_link(cause.code, "cause")

    def runbook(self, change: CheckChange) -> str:
        """Return the address of a check's worst finding in the runbook."""
        verdict = change.verdict
        return self.page + runbook_link(verdict.code, verdict.check)


def to_message(notice: Notice, links: Links) -> NoticeMessage:
    """Return a notice in words."""
    return NoticeMessage(
        id=notice.id,
        at=notice.at,
        title=_title(notice),
        lines=tuple(_lines(notice, links)),
        document=to_document(notice, links),
    )


def _title(notice: Notice) -> str:
    flow, lasted = notice.flow, seconds(notice.lasted)
    words = WORDS[notice.health]
    actual = notice.health if notice.actual is None else notice.actual
    if notice.kind is NoticeKind.CAUSE and notice.cause is not None:
        words += f": {notice.cause.headline}"
    match notice.kind:
        case NoticeKind.RECOVERED if actual is not notice.health:
            return f"{flow} has improved after {lasted}, but {WORDS[actual]}"
        case NoticeKind.RECOVERED:
            return f"{flow} is ok again, after {lasted}"
        case NoticeKind.REMINDER:
            return f"{flow} {STILL[notice.health]}, for {lasted}"
        case NoticeKind.CHANGED:
            return f"{flow} {words}, with more checks failing than before"
        case NoticeKind.BETTER:
            return f"{flow} has improved, but {words}"
        case _:
            return f"{flow} {words}"


def _lines(notice: Notice, links: Links) -> Iterator[Line]:
    cause = notice.cause
    if cause is not None:
        yield Line(
            text=f"Cause: {cause.part}. {cause.reason}",
            link=links.cause(cause),
        )
        yield Line(text=f"Symptoms: {', '.join(cause.symptoms)}")
    for change in notice.changes[:MOST_LINES]:
        verdict = change.verdict
        reason = verdict.reason
        if len(reason) > LONGEST_REASON:
            reason = reason[:LONGEST_REASON] + "..."
        if verdict.others:
            reason += f" (and {verdict.others} more)"
        text = f"{verdict.health.label}: {verdict.check}: {reason}"
        bad = verdict.health > Health.OK
        yield Line(text=text, link=links.runbook(change) if bad else None)
    more = len(notice.changes) - MOST_LINES
    if more > 0:
        yield Line(text=f"and {counted(more, 'check')} more")
    if notice.kind is not NoticeKind.RECOVERED:
        yield Line(text=f"Not ok since {_minute(notice.since)}")
    if notice.untold:
        changes = counted(notice.untold, "change")
        yield Line(text=f"{changes} of this or other flows not notified")
    if notice.is_last:
        yield Line(
            text="No further notifications for up to an hour. Check the page"
        )
    yield Line(text=f"{_minute(notice.at)}, {links.page}", link=links.page)


def to_document(notice: Notice, links: Links) -> dict[str, Any]:
    """Return a notice as JSON, as in docs/notifications.md."""
    return {
        "version": SCHEMA_VERSION,
        "id": notice.id,
        "kind": notice.kind.value,
        "at": notice.at.isoformat(),
        "flow": notice.flow,
        "health": notice.health.label,
        "before": notice.before.label,
        "since": notice.since.isoformat(),
        "lasted_seconds": notice.lasted.total_seconds(),
        "cause": None
        if notice.cause is None
        else {
            "code": notice.cause.code,
            "part": notice.cause.part,
            "reason": notice.cause.reason,
            "since": notice.cause.since.isoformat(),
            "evidence": list(notice.cause.evidence),
            "symptoms": list(notice.cause.symptoms),
        },
        "checks": [
            {
                "check": change.verdict.check,
                "code": change.verdict.code,
                "health": change.verdict.health.label,
                "before": change.before.label,
                "reason": change.verdict.reason,
                "since": change.verdict.since.isoformat(),
                "evidence": _finite(change.verdict.evidence),
                "runbook": links.runbook(change),
            }
            for change in notice.changes
        ],
        "untold_changes": notice.untold,
        "page": links.page,
    }


def _finite(evidence: Evidence) -> dict[str, Any]:
    """Return evidence, with the numbers that JSON does not have as words."""
    return {
        name: str(value)
        if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in evidence.items()
    }


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
