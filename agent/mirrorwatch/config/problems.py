"""What is wrong with a configuration, and where."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Problem", "ProblemsError", "YamlPath", "format_path"]

YamlPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file."""

PLAIN_KEY = re.compile(r"[\w-]+")
"""A key that needs no quotes in a path."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    path: YamlPath
    """Where; relative to the block that raised it, until it is loaded."""

    message: str
    """What is wrong, and what is allowed. Never the value: whether that may
    be shown is decided in one place."""

    shows_value: bool = True
    """Whether the value may be shown, unless its key says otherwise."""


class ProblemsError(ValueError):
    """Raised by validators that find several problems at once.

    Parameters
    ----------
    problems
        All of them.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = tuple(problems)


def format_path(path: YamlPath) -> str:
    """Write a path as people do: ``flows[0].mirror.kind``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f'["{part}"]'
    return text
