"""Finds a topic name that several selections carry at once.

Notes
-----
A regex without look-behind, back-references and the like describes a finite
automaton, so the question has an exact answer. The automata of all selections
are walked together, character by character, until a name is found that every
selection carries, or no more names are left to try. States are made as they
are reached: ten alternatives of ``.*x.*`` have a thousand, of which a few are
needed. The common name is the answer's proof: it is matched against every
selection again, so a refusal is never wrong.

Some questions need more states than there is time for, so each has a bound,
and so have all of one configuration together. Beyond it nothing is decided.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property

from ..domain.patterns import (
    END,
    LONGEST_NAME,
    NAME_CHARACTERS,
    Automaton,
    Step,
    UnsupportedError,
    add_pattern,
)
from ..domain.topics import FormatNaming, Naming, Selection

__all__ = ["CommonTopics", "UndecidedError", "find_common_topic", "rename"]

MOST_WORK = 300_000
"""Steps for one question: half a second."""

MOST_WORK_IN_ALL = 1_000_000
"""Steps for all questions of one configuration: two seconds."""

MOST_STEPS = 50_000
"""Steps of the automaton of one pattern."""

MOST_SETS = 2_000
"""Sets of steps that one state may hold."""

Wanted = frozenset[int]
"""Steps that all must match what follows; negative ones must not. Numbers
count from 1."""

State = frozenset[Wanted]
"""Any of these sets is enough; an empty one is content with everything."""

NEVER: State = frozenset()
ALWAYS: State = frozenset({frozenset()})


class UndecidedError(Exception):
    """It cannot be decided whether there is a common topic.

    Parameters
    ----------
    reason
        Why. It never quotes a pattern, which may be hidden.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot be decided: {reason}")


class _Budget:
    """Steps that are left."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise UndecidedError("the regexes are too complex")


class CommonTopics:
    """Common topics of the selections of one configuration.

    Every question is answered once, and all have one budget.
    """

    def __init__(self) -> None:
        self._left = MOST_WORK_IN_ALL
        self._known: dict[frozenset[Selection], str | UndecidedError | None]
        self._known = {}

    def find(self, *selections: Selection) -> str | None:
        """Return the shortest topic that all selections carry, if any.

        Raises
        ------
        UndecidedError
            Raised if that cannot be decided.
        """
        asked = frozenset(selections)
        if asked not in self._known:
            budget = _Budget(min(MOST_WORK, self._left))
            before = budget.left
            try:
                self._known[asked] = _find(selections, budget)
            except UndecidedError as e:
                self._known[asked] = e
            self._left -= before - max(budget.left, 0)
        found = self._known[asked]
        if isinstance(found, UndecidedError):
            raise found
        return found


def find_common_topic(selections: Sequence[Selection]) -> str | None:
    """Return the shortest topic name that all selections carry, if any.

    Raises
    ------
    UndecidedError
        Raised if a pattern is no automaton, or they grow too large.
    """
    return _find(selections, _Budget(MOST_WORK))


def _find(selections: Sequence[Selection], budget: _Budget) -> str | None:
    spelled = _find_spelled_out(selections, budget)
    return spelled or _find_by_automata(selections, budget)


def _find_spelled_out(
    selections: Sequence[Selection], budget: _Budget
) -> str | None:
    """Try the patterns that are names themselves, whatever the others are."""
    for selection in selections:
        for pattern in selection.include:
            name = pattern.replace("\\.", ".").replace("[.]", ".")
            legal = 0 < len(name) <= LONGEST_NAME
            if legal and set(name) <= set(NAME_CHARACTERS):
                budget.spend(20)
                if all(s.matches(name) for s in selections):
                    return name
    return None


def _find_by_automata(
    selections: Sequence[Selection], budget: _Budget
) -> str | None:
    walks = [_Walk(s.include, budget) for s in selections]
    refused = [_Walk(s.exclude, budget) for s in selections if s.exclude]
    characters = _distinguish([*walks, *refused])
    count = len(walks)
    walks += refused
    start = tuple(walk.start for walk in walks)
    # Not the start: a name of some characters may come back to it.
    seen: set[tuple[State, ...]] = set()
    queue = deque([("", start)])
    while queue:
        name, position = queue.popleft()
        ends = [w.ends(s) for w, s in zip(walks, position, strict=True)]
        if name and all(ends[:count]) and not any(ends[count:]):
            if all(s.matches(name) for s in selections):
                return name
            # Python reads a rare pattern in another way.
            raise UndecidedError("a regex is read in two ways")
        for character in characters if len(name) < LONGEST_NAME else ():
            budget.spend(len(walks))
            following = []
            for number, walk in enumerate(walks):
                after = walk.step(position[number], character)
                if (number < count and not after) or (
                    number >= count and after == ALWAYS
                ):
                    break
                following.append(after)
            else:
                new = tuple(following)
                if new not in seen:
                    seen.add(new)
                    queue.append((name + character, new))
    return None


def _distinguish(walks: Sequence["_Walk"]) -> str:
    """Return one character of each kind that the patterns tell apart."""
    sets = {characters for walk in walks for characters in walk.sets}
    kinds: dict[tuple[bool, ...], str] = {}
    for character in NAME_CHARACTERS:
        kinds.setdefault(tuple(character in s for s in sets), character)
    return "".join(kinds.values())


class _Walk:
    """Walks the automaton of alternative patterns, all states at once."""

    def __init__(self, patterns: Sequence[str], budget: _Budget) -> None:
        self._budget = budget
        self._automaton = Automaton()
        self._after: dict[tuple[State, str], State] = {}
        self._entered: dict[int, State] = {}
        try:
            roots = [
                add_pattern(_bare(p), self._automaton, MOST_STEPS)
                for p in patterns
            ]
        except UnsupportedError as e:
            raise UndecidedError(f"a regex is beyond automata ({e})") from e
        budget.spend(len(self._automaton.steps))
        self.start = self._any_of(
            each for root in roots for each in self._enter(root, first=True)
        )

    @cached_property
    def sets(self) -> frozenset[frozenset[str]]:
        """Sets of characters that steps take."""
        steps = self._automaton.steps
        return frozenset(s.characters for s in steps if s.kind == "char")

    def ends(self, state: State) -> bool:
        """Return whether a name may end here."""
        return any(
            all((abs(n) - 1 == END) == (n > 0) for n in wanted)
            for wanted in state
        )

    def step(self, state: State, character: str) -> State:
        """Return the state after one more character."""
        if (state, character) not in self._after:
            self._after[state, character] = self._any_of(
                each
                for wanted in state
                for each in self._step_all(wanted, character)
            )
        return self._after[state, character]

    def _step_all(self, wanted: Wanted, character: str) -> State:
        result = ALWAYS
        for number in wanted:
            self._budget.spend(1)
            step = self._automaton.steps[abs(number) - 1]
            after = NEVER
            if step.kind == "char" and character in step.characters:
                after = self._enter(step.follow[0])
            result = self._both(
                result, after if number > 0 else self._not(after)
            )
            if not result:
                break
        return result

    def _enter(self, number: int, *, first: bool = False) -> State:
        """Return the steps that take a character, or end, from a step on."""
        if not first and number in self._entered:
            return self._entered[number]
        found: set[Wanted] = set()
        todo: list[tuple[int, Wanted]] = [(number, frozenset())]
        seen = set(todo)
        while todo:
            self._budget.spend(1)
            at, wanted = todo.pop()
            step = self._automaton.steps[at]
            if step.kind in {"char", "end"}:
                found.add(wanted | {at + 1})
            elif step.kind == "any":
                found.add(wanted)
            else:
                new = {
                    (following, wanted | way)
                    for way in self._conditions(step, first=first)
                    for following in step.follow
                }
                todo.extend(new - seen)
                seen |= new
        state = self._any_of(found)
        if not first:
            self._entered[number] = state
        return state

    def _conditions(self, step: Step, *, first: bool) -> State:
        """Return what else must match after a step without characters."""
        match step.kind:
            case "begin":
                return ALWAYS if first else NEVER
            case "look":
                ways = self._enter(step.body, first=first)
                return self._not(ways) if step.negated else ways
            case _:
                return ALWAYS

    def _any_of(self, sets: Iterable[Wanted]) -> State:
        kept = set()
        for wanted in sets:
            self._budget.spend(1)
            if not wanted:
                return ALWAYS
            if not any(-n in wanted for n in wanted):
                kept.add(wanted)
        if any(len(wanted) > 1 for wanted in kept):
            self._budget.spend(len(kept))
            alone = {wanted for wanted in kept if len(wanted) == 1}
            kept = alone | {
                wanted
                for wanted in kept - alone
                if not any(frozenset({n}) in alone for n in wanted)
            }
        if len(kept) > MOST_SETS:
            raise UndecidedError("the regexes are too complex")
        return frozenset(kept)

    def _both(self, one: State, two: State) -> State:
        if one == ALWAYS or two == NEVER:
            return two
        if two == ALWAYS or one == NEVER:
            return one
        self._budget.spend(len(one) * len(two))
        return self._any_of(a | b for a in one for b in two)

    def _not(self, state: State) -> State:
        result = ALWAYS
        for wanted in state:
            result = self._both(
                result, frozenset(frozenset({-n}) for n in wanted)
            )
        return result


GLOBAL_FLAGS = re.compile(r"\(\?(?P<flags>[aimsux]+)\)")


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
        return tuple(f"{before}{_group(p)}{after}" for p in patterns)

    return Selection(
        include=wrap(selection.include), exclude=wrap(selection.exclude)
    )


def _group(pattern: str) -> str:
    """Make one group of a pattern, flags of the whole pattern included."""
    match = GLOBAL_FLAGS.match(pattern)
    if match is None:
        return f"(?:{_bare(pattern)})"
    flags = match["flags"].replace("a", "")
    return f"(?{flags}:{_bare(pattern[match.end() :])})"


def _bare(pattern: str) -> str:
    """Take off anchors, which change nothing where all must match."""
    bare = pattern.removeprefix("^")
    if re.search(r"(?<!\\)(?:\\\\)*\$$", bare):
        bare = bare[:-1]
    return bare
