"""Shows a configuration without its secrets."""

from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ..secrets import HIDDEN, hide_secrets
from .base import Model, format_duration, to_model
from .properties import Properties
from .types import Share

__all__ = ["hidden_values", "to_display"]


def to_display(value: Any) -> Any:
    """Return the configuration as JSON would hold it, secrets hidden.

    Parameters
    ----------
    value
        The configuration, or any part of it.

    Notes
    -----
    Hidden is whatever came from ``${env:...}`` or ``${file:...}``, even if
    its key looks harmless, and whatever has a key like that of a secret.
    """
    return _display(value, None)


def _display(value: Any, owner: Model | None, *path: str) -> Any:
    """Display a field of a block, or of a dataclass below it."""
    if owner is not None and value is not None and owner.is_hidden(*path):
        return HIDDEN
    if isinstance(value, Model):
        return {
            name: _display(getattr(value, name), value, name)
            for name in type(value).model_fields
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: _display(getattr(value, name), owner, *path, name)
            for name in to_model(type(value)).model_fields
        }
    if isinstance(value, dict):
        return {k: to_display(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [to_display(v) for v in value]
    return _display_scalar(value)


def _display_scalar(value: Any) -> Any:
    match value:
        case Properties():
            return value.to_display()
        case SecretStr():
            return HIDDEN
        case timedelta():
            return format_duration(value)
        case str() | Path() | Share():
            return hide_secrets(str(value))
        case _:
            return value


def hidden_values(value: Any, *, hidden: bool = False) -> Iterator[str]:
    """Yield every text that must not be shown.

    Parameters
    ----------
    value
        The configuration, or any part of it.
    hidden
        All of it is hidden.
    """
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case str() if hidden:
            yield value
        case Properties():
            shown = value.to_display()
            yield from (v for k, v in value.items() if shown[k] == HIDDEN)
        case _:
            for part, is_hidden in _parts(value):
                yield from hidden_values(part, hidden=hidden or is_hidden)


def _parts(value: Any) -> Iterator[tuple[Any, bool]]:
    """Yield what a value is made of, and whether it hides that."""
    match value:
        case Model():
            for name, part in value:
                yield part, value.is_hidden(name)
        case Mapping():
            yield from ((part, False) for part in value.values())
        case tuple():
            yield from ((part, False) for part in value)
        case _:
            pass
