"""A flow and its place in the file, and what rules between flows ask."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..domain.selection import Selection
from .flows import FlowConfig
from .overlap import UndecidedError, find_common_topic
from .problems import Problem, YamlPath

__all__ = ["Placed", "describe_example", "find_proved_topic", "pair_up"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A flow and its place in the file."""

    index: int
    """Position in the list, from 0."""

    flow: FlowConfig
    """The flow."""

    def problem(self, message: str, *keys: str | int) -> Problem:
        """Make a problem of this flow, at the given keys below it."""
        path: YamlPath = ("flows", self.index, *keys)
        return Problem(path, message)

    def __str__(self) -> str:
        return f"flows[{self.index}]"


def pair_up(placed: Sequence[Placed]) -> Iterator[tuple[Placed, Placed]]:
    """Yield every pair of flows once, in the file's order."""
    for position, second in enumerate(placed):
        for first in placed[:position]:
            yield first, second


def find_proved_topic(*selections: Selection) -> str | None:
    """Return a topic that all selections carry, if there provably is one."""
    try:
        return find_common_topic(selections)
    except UndecidedError:
        return None


def describe_example(topic: str, *flows: FlowConfig) -> str:
    """Name a common topic, unless its pattern came from a reference."""
    hidden = any(f.topics.is_hidden("include") for f in flows)
    return "some topic" if hidden else f"a topic such as {topic!r}"
