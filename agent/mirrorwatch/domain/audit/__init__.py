"""The nightly audit: what is compared, and what was found."""

from .ends import End, Ends, ends_after
from .finished import Crossing, FinishedAudit, HourCount, Hours, Speed
from .plan import (
    Lane,
    Plan,
    Side,
    SourceRange,
    Span,
    Stated,
    StatedKind,
    Unverifiable,
    Window,
)
from .request import Request
from .result import AuditResult, Finding, FindingKind, TopicCount

__all__ = [
    "AuditResult",
    "Crossing",
    "Finding",
    "FindingKind",
    "FinishedAudit",
]
__all__ += ["HourCount", "Hours", "Lane", "Plan", "Side"]
__all__ += [
    "SourceRange",
    "Span",
    "Speed",
    "Stated",
    "StatedKind",
    "TopicCount",
]
__all__ += ["Unverifiable", "Window"]
__all__ += ["End", "Ends", "Request", "ends_after"]
