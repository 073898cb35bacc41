"""What is sent: the same for every kind of receiver."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Line", "Message"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of text that may lead somewhere."""

    text: str
    """Plain text, without a line break."""

    link: str | None = None
    """Where it leads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What is sent to people, ready to be put into any receiver's form."""

    id: str
    """The same however often it is delivered."""

    at: datetime
    """When it was made (UTC)."""

    title: str
    """What it is about, understood without the rest."""

    lines: tuple[Line, ...]
    """What more there is to know."""

    document: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs: JSON."""

    @property
    def text(self) -> str:
        """All of it as plain text."""
        return "\n".join([self.title, *(line.text for line in self.lines)])
