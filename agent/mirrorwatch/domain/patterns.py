"""Topic patterns as small automata, so that none can run for ever.

Notes
-----
Python's `re`, as Java's, tries all ways to match: ``([a-z]+)+x`` takes
minutes for one long name, and holds every thread of the agent. What may do so
is matched by its automaton instead, in steps that grow with the length of
the name. The automaton is made of what Python's own parser reads.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

__all__ = [
    "END",
    "LONGEST_NAME",
    "NAME_CHARACTERS",
    "Automaton",
    "AutomatonPattern",
    "Step",
    "TopicPattern",
    "UnsupportedError",
    "add_pattern",
    "match_backwards",
    "prefer_automaton",
]

NAME_CHARACTERS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)
"""All that Kafka allows in a topic name; in this order, so that examples
look like names."""

ALL = frozenset(NAME_CHARACTERS)

LONGEST_NAME = 249
"""Characters of a topic name, at most."""

MOST_STEPS = 5000
"""Steps of one pattern that is matched by its automaton: at worst half a
second for the longest name."""

LEAST_WAYS = 3
"""Repeats and choices in a row that `re` may try in every combination: at
worst 30 ms for the longest name."""


class UnsupportedError(ValueError):
    """A pattern is no automaton, or too large a one."""


@dataclass(slots=True)
class Step:
    """One step of an automaton."""

    kind: str
    """``char``, ``split``, ``begin``, ``end`` (of the name), ``look`` or
    ``any``: whatever follows."""

    follow: tuple[int, ...] = ()
    """Steps that come next; any of them."""

    characters: frozenset[str] = frozenset()
    """What a ``char`` takes."""

    body: int = 0
    """What ``look`` looks for."""

    negated: bool = False
    """Whether ``look`` must not find it."""


@dataclass(slots=True)
class Automaton:
    """Steps of one or several patterns; the first two end all of them."""

    steps: list[Step] = field(
        default_factory=lambda: [Step("end"), Step("any")]
    )

    def add(self, step: Step) -> int:
        """Add a step, and return its number."""
        self.steps.append(step)
        return len(self.steps) - 1


END, ANY = 0, 1
"""The first two steps of each automaton."""


def add_pattern(pattern: str, automaton: Automaton, most: int) -> int:
    """Add a pattern to an automaton, and return its first step.

    Parameters
    ----------
    pattern
        The pattern.
    automaton
        Where to add it.
    most
        How many steps it may have.

    Raises
    ------
    UnsupportedError
        Raised for look-behind, back-references and the like, and where the
        automaton would be too large.
    """
    try:
        tree = parser.parse(pattern, re.ASCII)
        builder = _Builder(automaton, len(automaton.steps) + most)
        return builder.build(tree, END, tree.state.flags)
    except RecursionError as e:
        raise UnsupportedError("nested too deeply") from e


class _Builder:
    """Adds the steps of a tree, from its end to its start."""

    def __init__(self, automaton: Automaton, most: int) -> None:
        self._automaton = automaton
        self._most = most

    def build(self, tree: Iterable[Any], follow: int, flags: int) -> int:
        for kind, value in reversed(list(tree)):
            follow = self._build_one(kind, value, follow, flags)
        return follow

    def _add(self, step: Step) -> int:
        if len(self._automaton.steps) >= self._most:
            raise UnsupportedError("too large")
        return self._automaton.add(step)

    def _build_one(  # noqa: PLR0911 - one for each kind
        self, kind: Any, value: Any, follow: int, flags: int
    ) -> int:
        match kind:
            case op.LITERAL | op.NOT_LITERAL | op.ANY | op.IN:
                characters = _characters(kind, value, flags)
                return self._add(Step("char", (follow,), characters))
            case op.BRANCH:
                ways = [self.build(b, follow, flags) for b in value[1]]
                return self._add(Step("split", tuple(ways)))
            case op.SUBPATTERN:
                _, added, removed, inner = value
                return self.build(inner, follow, (flags | added) & ~removed)
            case op.MAX_REPEAT | op.MIN_REPEAT:
                return self._build_repeat(value, follow, flags)
            case op.ASSERT | op.ASSERT_NOT if value[0] > 0:
                body = self.build(value[1], ANY, flags)
                negated = kind is op.ASSERT_NOT
                step = Step("look", (follow,), body=body, negated=negated)
                return self._add(step)
            case op.AT if value in {op.AT_BEGINNING, op.AT_BEGINNING_STRING}:
                return self._add(Step("begin", (follow,)))
            case op.AT if value in {op.AT_END, op.AT_END_STRING}:
                # A name has no line feed, so only its end is meant.
                return self._add(Step("look", (follow,), body=END))
            case _:
                raise UnsupportedError(f"{str(kind).lower()} is no automaton")

    def _build_repeat(
        self, repeat: tuple[int, Any, Any], follow: int, flags: int
    ) -> int:
        least, most, inner = repeat
        # A name is no longer, and what takes no character changes nothing.
        least = min(least, LONGEST_NAME + 1)
        if most is op.MAXREPEAT or most > LONGEST_NAME:
            if follow == END and _takes_all(inner, flags):
                follow = ANY
            else:
                loop = self._add(Step("split"))
                again = self.build(inner, loop, flags)
                self._automaton.steps[loop].follow = (again, follow)
                follow = loop
            most = least
        for _ in range(most - least):
            once = self.build(inner, follow, flags)
            # Skipping one of several is skipping the last of them.
            follow = self._add(Step("split", (once, follow)))
        for _ in range(least):
            follow = self.build(inner, follow, flags)
        return follow


def _takes_all(inner: Any, flags: int) -> bool:
    """Return whether a part is one character, and any."""
    if len(inner) != 1:
        return False
    kind, value = inner[0]
    return (
        kind in {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN}
        and _characters(kind, value, flags) == ALL
    )


def _characters(kind: Any, value: Any, flags: int) -> frozenset[str]:
    """Return the characters of names that an element takes."""
    match kind:
        case op.ANY:
            return ALL
        case op.LITERAL:
            return frozenset(_in_cases(chr(value), flags))
        case op.NOT_LITERAL:
            return ALL - frozenset(_in_cases(chr(value), flags))
        case _:
            pass
    negated = value[0][0] is op.NEGATE
    found: set[str] = set()
    for part, what in value:
        match part:
            case op.LITERAL:
                found.update(_in_cases(chr(what), flags))
            case op.RANGE:
                for each in NAME_CHARACTERS:
                    if what[0] <= ord(each) <= what[1]:
                        found.update(_in_cases(each, flags))
            case op.CATEGORY:
                found.update(CATEGORIES[what])
            case _:
                pass
    return ALL - found if negated else frozenset(found & ALL)


def _in_cases(character: str, flags: int) -> Iterator[str]:
    yield character
    if flags & re.IGNORECASE:
        yield character.swapcase()


DIGITS = frozenset("0123456789")
WORD = ALL - {".", "-"}
CATEGORIES = {
    op.CATEGORY_DIGIT: DIGITS,
    op.CATEGORY_NOT_DIGIT: ALL - DIGITS,
    op.CATEGORY_WORD: WORD,
    op.CATEGORY_NOT_WORD: ALL - WORD,
    op.CATEGORY_SPACE: frozenset[str](),
    op.CATEGORY_NOT_SPACE: ALL,
}


def match_backwards(automaton: Automaton, start: int, name: str) -> bool:
    """Return whether a name matches, in steps times characters.

    Notes
    -----
    From the name's end to its start: whether each step matches what follows
    is known once, so look-ahead costs nothing more.
    """
    steps = automaton.steps
    loose = [
        (number, step)
        for number, step in enumerate(steps)
        if step.kind in {"split", "begin", "look"}
    ]
    after: list[bool] = []
    for position in range(len(name), -1, -1):
        character = name[position] if position < len(name) else ""
        now = [
            step.kind == "any"
            or (step.kind == "end" and not character)
            or (
                step.kind == "char"
                and character in step.characters
                and after[step.follow[0]]
            )
            for step in steps
        ]
        # What a look looks for comes before it, and never depends on it.
        for number, step in loose:
            if step.negated:
                _settle(loose, now, number, first=position == 0)
        _settle(loose, now, len(steps), first=position == 0)
        after = now
    return after[start]


def _settle(
    loose: list[tuple[int, Step]], now: list[bool], end: int, *, first: bool
) -> None:
    """Work out the steps before `end` that take no character."""
    changed = True
    while changed:
        changed = False
        for number, step in loose:
            if now[number] or number >= end:
                continue
            value = any(now[each] for each in step.follow)
            if step.kind == "begin":
                value = value and first
            elif step.kind == "look":
                value = value and now[step.body] != step.negated
            changed |= value
            now[number] = value


@dataclass(frozen=True, slots=True)
class AutomatonPattern:
    """A pattern that is matched by its automaton."""

    automaton: Automaton
    start: int

    def fullmatch(self, name: str, /) -> object | None:
        return match_backwards(self.automaton, self.start, name) or None


TopicPattern = re.Pattern[str] | AutomatonPattern
"""A compiled pattern: ``fullmatch(name)`` returns `None` if it is none."""


def prefer_automaton(pattern: str) -> AutomatonPattern | None:
    """Return a pattern's automaton if `re` may take too long for it.

    Raises
    ------
    UnsupportedError
        Raised if it may take too long, and there is no automaton.
    """
    try:
        tree = parser.parse(pattern, re.ASCII)
        if _count_ways(tree) <= LEAST_WAYS:
            return None
    except RecursionError as e:
        raise UnsupportedError("nested too deeply") from e
    automaton = Automaton()
    return AutomatonPattern(
        automaton, add_pattern(pattern, automaton, MOST_STEPS)
    )


def _count_ways(tree: Iterable[Any]) -> float:
    """Return how many repeats and choices follow each other at most."""
    total: float = 0
    for kind, value in tree:
        if kind is op.BRANCH:
            total += 1 + max(_count_ways(branch) for branch in value[1])
        elif kind is op.SUBPATTERN:
            total += _count_ways(value[3])
        elif kind in {op.ASSERT, op.ASSERT_NOT}:
            total += _count_ways(value[1])
        elif kind is op.ATOMIC_GROUP:
            total += _count_ways(value)
        elif kind is op.GROUPREF_EXISTS:
            total += 1 + _count_ways(value[1])
            total += _count_ways(value[2] or ())
        elif kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            least, most, inner = value
            inside = _count_ways(inner)
            if inside and most is op.MAXREPEAT:
                return float("inf")
            total += inside * int(most) if inside else 0
            total += least != most
    return total
