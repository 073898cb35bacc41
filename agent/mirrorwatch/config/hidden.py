"""What a configuration keeps secret."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import SecretStr

from .base import HIDDEN, Model
from .kafka import KafkaProperties

__all__ = ["hidden_values"]


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
