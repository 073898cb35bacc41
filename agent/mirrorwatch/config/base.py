"""What every part of the configuration has in common."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    model_validator,
)

from ..secrets import HIDDEN, smells_secret
from .references import Referenced

__all__ = [
    "ConfigProblem",
    "Model",
    "ProblemsError",
    "YamlPath",
    "format_path",
]


class Model(BaseModel):
    """A frozen block of the configuration that refuses unknown keys.

    Notes
    -----
    A key without a value (``canary:``) is the same as no key, as people
    expect who comment out what is under it.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    _referenced: frozenset[str] = PrivateAttr(default=frozenset())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_references(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        model = handler({k: v for k, v in data.items() if v is not None})
        model._referenced = frozenset(  # noqa: SLF001
            key
            for key, value in data.items()
            if _is_referenced(value, getattr(model, key, None))
        )
        return model

    def is_hidden(self, name: str) -> bool:
        """Tell whether the value of a field must not be shown."""
        return name in self._referenced or smells_secret(name)

    @property
    def plain_secrets(self) -> tuple[str, ...]:
        """Fields whose secret stands in the file itself."""
        return tuple(
            name
            for name, value in self
            if isinstance(value, SecretStr) and name not in self._referenced
        )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            hidden = name is not None and self.is_hidden(name)
            yield name, HIDDEN if hidden else value


def _is_referenced(value: Any, loaded: Any) -> bool:
    """Tell whether a value came from references; blocks keep their own."""
    if isinstance(value, dict):
        found = any(isinstance(v, Referenced) for v in value.values())
        return found and isinstance(loaded, dict)
    if isinstance(value, list | tuple):
        return any(isinstance(v, Referenced) for v in value)
    return isinstance(value, Referenced)


YamlPath = tuple[str | int, ...]
"""Keys and list positions from the top of the file."""

PLAIN_KEY = re.compile(r"[\w-]+")
"""A key that needs no quotes in a path."""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
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

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
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
