"""Finds a topic name that several selections carry at once.

Notes
-----
A regex without look-behind, back-references and the like describes a finite
automaton, so the question has an exact answer. `interegular` makes the
automaton of each pattern; all of them are then walked together, character by
character, until a name is found that every selection carries, or no more
names are left to try. The common name is the answer's proof: it is matched
against every selection again, so a refusal is never wrong.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from interegular import InvalidSyntax, Unsupported, parse_pattern

from ..domain.topics import FormatNaming, Naming, Selection

__all__ = ["UndecidedError", "find_common_topic", "rename"]

NAME_CHARACTERS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)
"""All that Kafka allows in a topic name; in this order, so that examples
look like names."""

MAX_STEPS = 200_000
"""Combined states to visit before giving up: some seconds."""

EXPLOSIVE = re.compile(r"[*+].*\{\d*,?(?:[2-9]\d|1[1-9]|\d{3,})\}")
"""An unbounded repeat, then a counted one above 10: ``.*x.{n}`` needs 2**n
states, so it is not even tried."""

Automaton = tuple[dict[str, int], ...]
"""By state: the next state for each character. State 0 is the first; a key
of ``""`` says that a name may end here."""

Position = tuple[tuple[int, int], ...]
"""Automata that are still alive (by number), each with its state."""


class UndecidedError(Exception):
    """The question cannot be answered for this pattern.

    Parameters
    ----------
    pattern
        The pattern.
    """

    def __init__(self, pattern: str) -> None:
        super().__init__(f"cannot reason about the regex {pattern}")


def find_common_topic(selections: Sequence[Selection]) -> str | None:
    """Return the shortest topic name that all selections carry, if any.

    Raises
    ------
    UndecidedError
        Raised if a pattern is beyond automata, or they grow too large.
    """
    spelled = _find_spelled_out(selections)
    return spelled or _find_by_automata(selections)


def _find_by_automata(selections: Sequence[Selection]) -> str | None:
    automata: list[Automaton] = []
    included, excluded = [], []
    for selection in selections:
        included.append(_number(selection.include, automata))
        excluded.append(_number(selection.exclude, automata))

    def carried(position: Position) -> bool:
        ends = {n for n, state in position if "" in automata[n][state]}
        return all(
            ends & inside and not ends & outside
            for inside, outside in zip(included, excluded, strict=True)
        )

    start: Position = tuple((n, 0) for n in range(len(automata)))
    seen = {start}
    queue = deque([("", start)])
    while queue:
        name, position = queue.popleft()
        if name and carried(position):
            if all(s.matches(name) for s in selections):
                return name
            # Python reads a rare pattern (``a++``) in another way.
            raise UndecidedError(selections[0].include[0])
        for character, following in _steps(position, automata, included):
            if following not in seen:
                seen.add(following)
                queue.append((name + character, following))
        if len(seen) > MAX_STEPS:
            raise UndecidedError(selections[0].include[0])
    return None


def rename(selection: Selection, naming: Naming) -> Selection:
    """Return the selection of the target names of what is carried.

    Notes
    -----
    The identity policy's exception for heartbeats is left out: every mirror
    of MirrorMaker 2 carries heartbeats, and nobody minds.
    """
    before = re.escape(naming.prefix)
    after = (
        re.escape(naming.suffix) if isinstance(naming, FormatNaming) else ""
    )

    def wrap(patterns: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{before}(?:{_bare(p)}){after}" for p in patterns)

    return Selection(
        include=wrap(selection.include), exclude=wrap(selection.exclude)
    )


def _find_spelled_out(selections: Sequence[Selection]) -> str | None:
    """Try the patterns that are names themselves, whatever the others are."""
    for selection in selections:
        for pattern in selection.include:
            name = pattern.replace("\\.", ".").replace("[.]", ".")
            legal = bool(name) and set(name) <= set(NAME_CHARACTERS)
            if legal and all(s.matches(name) for s in selections):
                return name
    return None


def _steps(
    position: Position,
    automata: Sequence[Automaton],
    included: Sequence[frozenset[int]],
) -> Iterator[tuple[str, Position]]:
    """Yield each character that keeps every selection alive."""
    alive: set[str] | None = None
    for inside in included:
        characters: set[str] = set()
        for number, state in position:
            if number in inside:
                characters.update(automata[number][state])
        alive = characters if alive is None else alive & characters
    for character in NAME_CHARACTERS:
        if alive and character in alive:
            yield (
                character,
                tuple(
                    (number, automata[number][state][character])
                    for number, state in position
                    if character in automata[number][state]
                ),
            )


def _number(
    patterns: Iterable[str], automata: list[Automaton]
) -> frozenset[int]:
    """Add the automata of patterns, and return their numbers."""
    first = len(automata)
    automata.extend(_compile(pattern) for pattern in patterns)
    return frozenset(range(first, len(automata)))


def _bare(pattern: str) -> str:
    """Take off anchors, which change nothing where all must match."""
    bare = pattern.removeprefix("^")
    if re.search(r"(?<!\\)(?:\\\\)*\$$", bare):
        bare = bare[:-1]
    return bare


@lru_cache(maxsize=4096)
def _compile(pattern: str) -> Automaton:
    """Make the automaton of a pattern, over the characters of names."""
    if EXPLOSIVE.search(pattern):
        raise UndecidedError(pattern)
    try:
        machine = parse_pattern(_bare(pattern)).to_fsm()
    except (Unsupported, InvalidSyntax, RecursionError) as e:
        raise UndecidedError(pattern) from e
    order = [machine.initial, *(machine.states - {machine.initial})]
    number = {state: n for n, state in enumerate(order)}
    moves: list[dict[str, int]] = []
    for state in order:
        known = machine.map.get(state, {})
        steps = {
            character: number[known[machine.alphabet[character]]]
            for character in NAME_CHARACTERS
            if machine.alphabet[character] in known
        }
        moves.append(steps | ({"": -1} if state in machine.finals else {}))
    return _without_dead_ends(moves)


def _without_dead_ends(moves: list[dict[str, int]]) -> Automaton:
    """Drop the moves after which no name can end."""
    useful = {n for n, steps in enumerate(moves) if "" in steps}
    before: dict[int, set[int]] = {}
    for state, steps in enumerate(moves):
        for following in steps.values():
            before.setdefault(following, set()).add(state)
    todo = list(useful)
    while todo:
        new = before.get(todo.pop(), set()) - useful
        useful |= new
        todo.extend(new)
    return tuple(
        {c: n for c, n in steps.items() if n == -1 or n in useful}
        for steps in moves
    )
