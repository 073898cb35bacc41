"""Answer of ``/api/events``."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..domain.events.model import Event
from .history import parse_time
from .status import finite, time_text

__all__ = ["MOST_EVENTS", "events_document", "parse_since"]

DEFAULT_SPAN = timedelta(days=1)

MOST_EVENTS = 1000
"""Events in one answer, the newest."""


def parse_since(given: Mapping[str, str], now: datetime) -> datetime:
    """Read the parameter ``since`` of a request; a day by default.

    Raises
    ------
    WebError
        Raised with the allowed forms if it is no time.
    """
    if "since" not in given:
        return now - DEFAULT_SPAN
    return parse_time("since", given["since"])


def events_document(events: Iterable[Event]) -> dict[str, Any]:
    """Return events as JSON, in their order."""
    return {"events": [_document(event) for event in events]}


def _document(event: Event) -> dict[str, Any]:
    times = {"times": event.times} if event.times > 1 else {}
    return {
        "id": event.id,
        "at": time_text(event.at),
        "until": time_text(event.until),
        "flow": event.flow,
        "code": event.code,
        "health": event.health.label,
        "title": event.title,
        "subject": dict(event.subject),
        "numbers": finite({**event.numbers, **times}),
    }
