"""Values as JSON, by their types alone: no class is named in it."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar, get_args, get_origin

from cattrs import Converter
from cattrs.gen import (
    make_dict_structure_fn,
    make_dict_unstructure_fn,
    override,
)

__all__ = ["Codec", "in_order"]

T = TypeVar("T")

_MICROSECOND = timedelta(microseconds=1)
_SCALAR = str | int | float | bool | None


def in_order(values: Any) -> list[Any]:
    """Return what has no order of its own in one that is always the same."""
    return sorted(values, key=json.dumps)


class Codec:
    """Dataclasses as JSON and back.

    Times are ISO 8601, durations microseconds, sets ordered lists, maps with
    places as keys lists of pairs.
    """

    def __init__(self) -> None:
        self._converter = converter = Converter()
        self.register(datetime, datetime.isoformat, datetime.fromisoformat)
        self.register(
            timedelta, lambda t: t // _MICROSECOND, lambda n: n * _MICROSECOND
        )
        converter.register_structure_hook(_SCALAR, lambda value, _: value)
        converter.register_unstructure_hook_factory(_is_set, self._from_set)
        converter.register_unstructure_hook_factory(_has_places, self._pairs)
        converter.register_structure_hook_factory(_has_places, self._map)

    def register(
        self,
        kind: type[T],
        encode: Callable[[T], Any],
        decode: Callable[[Any], T],
    ) -> None:
        """Say how values of one type are written and read."""
        converter = self._converter
        converter.register_unstructure_hook(kind, encode)
        converter.register_structure_hook(kind, lambda v, _: decode(v))

    def rename(self, kind: type[Any], **written: str) -> None:
        """Say what fields of a dataclass are called in what is kept."""
        converter = self._converter
        names: dict[str, Any] = {
            field: override(rename=name) for field, name in written.items()
        }
        converter.register_unstructure_hook(
            kind, make_dict_unstructure_fn(kind, converter, **names)
        )
        converter.register_structure_hook(
            kind, make_dict_structure_fn(kind, converter, **names)
        )

    def leave_out(self, kind: type[Any], *added: str) -> None:
        """Say which fields of a dataclass are newer than what is kept."""
        converter = self._converter
        names: dict[str, Any] = {field: override(omit=True) for field in added}
        converter.register_unstructure_hook(
            kind, make_dict_unstructure_fn(kind, converter, **names)
        )

    def encode(self, value: Any, kind: Any = None) -> Any:
        """Return a value as JSON has it."""
        return self._converter.unstructure(value, kind)

    def decode(self, kind: type[T], value: Any) -> T:
        """Return the value of a type."""
        return self._converter.structure(value, kind)

    def _from_set(self, kind: Any) -> Callable[[Any], list[Any]]:
        arguments = get_args(kind)
        item = arguments[0] if arguments else Any
        return lambda values: in_order(self.encode(v, item) for v in values)

    def _pairs(self, kind: Any) -> Callable[[Any], list[Any]]:
        key, value = get_args(kind)
        return lambda found: [
            [self.encode(k, key), self.encode(v, value)]
            for k, v in found.items()
        ]

    def _map(self, kind: Any) -> Callable[[Any, Any], dict[Any, Any]]:
        key, value = get_args(kind)
        return lambda pairs, _: {
            self._converter.structure(k, key): self._converter.structure(
                v, value
            )
            for k, v in pairs
        }


def _is_set(kind: Any) -> bool:
    return (get_origin(kind) or kind) in {set, frozenset}


def _has_places(kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    return (
        isinstance(origin, type)
        and issubclass(origin, Mapping)
        and len(arguments) == 2
        and get_origin(arguments[0]) is tuple
    )
