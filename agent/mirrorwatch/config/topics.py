"""The `topics` block of a flow, and the regexes in it."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ..domain.selection import MM2_EXCLUDED, compile_pattern, split_patterns
from .base import Model

__all__ = ["Pattern", "Patterns", "TopicsConfig"]


def _check_pattern(pattern: str) -> str:
    compile_pattern(pattern)
    return pattern


def _split(value: Any) -> Any:
    return split_patterns(value) if isinstance(value, str) else value


Pattern = Annotated[str, AfterValidator(_check_pattern)]
"""A regex of topic names, as MirrorMaker 2 takes it."""

Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(_split)]
"""A list of regexes, or MirrorMaker 2's comma separated form."""


class TopicsConfig(Model):
    """Which source topics a flow carries. Regexes match the whole name."""

    include: Patterns = Field((".*",), title="Included topics", min_length=1)
    """As the mirror's `topics`: a list, or its comma separated form."""

    exclude: Patterns = Field(MM2_EXCLUDED, title="Excluded topics")
    """As the mirror's `topics.exclude`; they win. The default is MirrorMaker
    2's own."""

    merged: Patterns = Field((), title="Merged topics")
    """Source topics whose target topic other flows write to as well. Their
    counts cannot be told apart by flow, so this must be said."""
