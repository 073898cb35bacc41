"""Reads a YAML file and remembers the line of every key."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..exceptions import ConfigError
from .problems import Problem, YamlPath, format_path

__all__ = ["Document", "read_document"]

QUOTED = re.compile(r"'(?!<[a-z ]+>')[^']{2,}'|\"[^\"]{2,}\"")
"""Parts of the file in PyYAML's messages. They are cut out: a password that
starts with ``*`` is an undefined alias to YAML. What PyYAML calls its own
tokens stays, such as ``'<stream end>'``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """What a file holds."""

    name: str
    """Name of the file, for messages."""

    data: Any
    """Its content: mappings, lists and scalars."""

    lines: Mapping[YamlPath, int] = field(default_factory=dict)
    """Line of each key and list item, counted from 1."""

    problems: Sequence[Problem] = ()
    """What is wrong with it as a document."""

    def to_error(self, problems: Sequence[Problem]) -> ConfigError:
        """Make the error that tells all problems, in the file's order."""
        placed = sorted(
            ((self._line(p.path), p) for p in problems), key=lambda x: x[0]
        )
        rows = []
        for line, problem in placed:
            where = f"{self.name}:{line}" if line else self.name
            path = format_path(problem.path)
            rows.append(": ".join(filter(None, (where, path))))
            rows[-1] += f": {problem.message}"
        return ConfigError("\n".join(dict.fromkeys(rows)))

    def _line(self, path: YamlPath) -> int:
        """Return the line of the nearest key that is in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


def read_document(path: Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        Raised if the file cannot be read, or is not YAML.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as e:
        raise ConfigError(f"{path}: cannot read the file: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{path}: not UTF-8 text") from e
    try:
        return _Reader(text).read(str(path))
    except yaml.MarkedYAMLError as e:
        line = f":{e.problem_mark.line + 1}" if e.problem_mark else ""
        reason = QUOTED.sub("...", e.problem or "cannot be parsed")
        raise ConfigError(f"{path}{line}: not YAML: {reason}") from e
    except yaml.YAMLError as e:
        raise ConfigError(f"{path}: not YAML: forbidden characters") from e
    except RecursionError as e:
        raise ConfigError(f"{path}: not YAML: nested too deeply") from e


class _Reader:
    def __init__(self, text: str) -> None:
        self._loader = yaml.SafeLoader(text)
        self._lines: dict[YamlPath, int] = {}
        self._problems: list[Problem] = []

    def read(self, name: str) -> Document:
        try:
            node = self._loader.get_single_node()
            data = None if node is None else self._build(node, (), ())
        finally:
            self._loader.dispose()
        return Document(
            name=name, data=data, lines=self._lines, problems=self._problems
        )

    def _build(
        self, node: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> Any:
        if node in above:
            self._problems.append(Problem(path, "contains itself"))
            return None
        above = (*above, node)
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(node, path, above)
        if isinstance(node, yaml.SequenceNode):
            items = []
            for index, item in enumerate(node.value):
                inner = (*path, index)
                self._lines[inner] = item.start_mark.line + 1
                items.append(self._build(item, inner, above))
            return items
        try:
            return self._loader.construct_object(node)
        except ValueError:
            # A date such as 2026-99-99, which is text to us anyway.
            return node.value

    def _build_mapping(
        self,
        node: yaml.MappingNode,
        path: YamlPath,
        above: tuple[yaml.Node, ...],
    ) -> dict[str, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                first = seen[key.value]
                self._problems.append(
                    Problem(
                        (*path, str(key.value)),
                        f"the key is there twice, first in line {first}",
                    )
                )
            seen[key.value] = line
        self._loader.flatten_mapping(node)
        result = {}
        for key, value in node.value:
            # Aliases and properties are text even where YAML sees a number.
            name = str(key.value)
            inner = (*path, name)
            self._lines[inner] = key.start_mark.line + 1
            result[name] = self._build(value, inner, above)
        return result
