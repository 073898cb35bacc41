"""What people are told of changes, and when: pure."""

from .books import Books, Told
from .message import Line, Message
from .notice import Change, Kind, Notice
from .notifier import Notifier
from .policy import Policy
from .words import Links, to_message

__all__ = [
    "Books",
    "Change",
    "Kind",
    "Line",
    "Links",
    "Message",
    "Notice",
    "Notifier",
    "Policy",
    "Told",
    "to_message",
]
