"""Topics of which a transform drops records on purpose."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .patterns import TopicPattern
from .report import counted
from .topics import compile_pattern

__all__ = ["FilteredRule", "FilteredTopics", "filtered_note", "is_beyond"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FilteredRule:
    """Which topics a transform filters, and how much of them."""

    pattern: str
    """Regex of the source topics' whole names."""

    at_most: float | None = None
    """Share of a topic's records that may be missing; `None` for all."""


@dataclass(frozen=True, kw_only=True)
class FilteredTopics:
    """The filtered topics of one flow.

    Notes
    -----
    What is missing there is counted and no alarm, within what is allowed. A
    loss that no transform causes is one as anywhere else: records that
    expired, that were never read, or that MirrorMaker failed to write.
    """

    rules: tuple[FilteredRule, ...] = ()
    """The first one that matches a topic holds."""

    def rule(self, topic: str) -> FilteredRule | None:
        """Return the rule of a source topic; `None` if it is not filtered."""
        for pattern, rule in self._compiled:
            if pattern.fullmatch(topic):
                return rule
        return None

    def matches(self, topic: str) -> bool:
        """Return whether a source topic is filtered."""
        return self.rule(topic) is not None

    @cached_property
    def is_limited(self) -> bool:
        """Whether any of them says how much may be missing."""
        return any(rule.at_most is not None for rule in self.rules)

    @cached_property
    def _compiled(self) -> tuple[tuple[TopicPattern, FilteredRule], ...]:
        return tuple((compile_pattern(r.pattern), r) for r in self.rules)


_JUDGED_FROM = 100
"""Records from which a share is judged: of a few, any share can be missing by
chance."""


def is_beyond(missing: int, records: int, at_most: float | None) -> bool:
    """Return whether more records are missing than a filter may drop.

    Parameters
    ----------
    missing
        Records that are missing at the target.
    records
        Records of which they are.
    at_most
        Share that may be missing; `None` for all.
    """
    return (
        at_most is not None
        and records >= _JUDGED_FROM
        and missing > at_most * records
    )


def filtered_note(missing: Iterable[int]) -> str:
    """Return what a verdict says of filtered topics.

    Parameters
    ----------
    missing
        Missing records of each filtered topic.
    """
    numbers = [number for number in missing if number]
    if not numbers:
        return ""
    records = sum(numbers)
    return (
        f"{counted(records, 'record')} missing on "
        f"{counted(len(numbers), 'filtered topic')}, as configured"
    )
