"""Shows a configuration without its secrets."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ..secrets import HIDDEN
from .base import Model
from .kafka import KafkaProperties
from .types import format_duration

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
    its key looks harmless, and whatever has a key that smells of secrets.
    """
    if isinstance(value, dict):
        return {k: to_display(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [to_display(v) for v in value]
    if isinstance(value, Model):
        return {
            name: _display_field(value, name)
            for name in type(value).model_fields
        }
    return _display_scalar(value)


def _display_scalar(value: Any) -> Any:
    match value:
        case KafkaProperties():
            return value.to_display()
        case SecretStr():
            return HIDDEN
        case timedelta():
            return format_duration(value)
        case Path():
            return str(value)
        case _:
            return value


def _display_field(model: Model, name: str) -> Any:
    value = getattr(model, name)
    if value is not None and model.is_hidden(name):
        return HIDDEN
    return to_display(value)


def hidden_values(value: Any, *, hidden: bool = False) -> Iterator[str]:
    """Yield every text that must not be shown.

    Parameters
    ----------
    value
        The configuration, or any part of it.
    hidden
        Whether all of it is.
    """
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case str() if hidden:
            yield value
        case KafkaProperties():
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
