"""Shows a configuration without its secrets."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from .base import HIDDEN, Model
from .durations import format_duration
from .kafka import KafkaProperties

__all__ = ["to_display"]


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
