"""What maintenance changed: a flow before it and after it."""

from .outcome import Outcome
from .snapshot import Latency, Snapshot, take_snapshot
from .words import to_document, to_lines, to_message

__all__ = [
    "Latency",
    "Outcome",
    "Snapshot",
    "take_snapshot",
    "to_document",
    "to_lines",
    "to_message",
]
