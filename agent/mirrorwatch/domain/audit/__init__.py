"""The nightly audit: what is compared, and what was found."""

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
from .result import AuditResult, Finding, FindingKind, TopicCount

__all__ = ["AuditResult", "Finding", "FindingKind", "Lane", "Plan", "Side"]
__all__ += ["SourceRange", "Span", "Stated", "StatedKind", "TopicCount"]
__all__ += ["Unverifiable", "Window"]
