"""Values of the domain as JSON text, and back."""

import json
from datetime import datetime, timedelta
from typing import Any, TypeVar

from cattrs import Converter
from cattrs.gen import (
    make_dict_structure_fn,
    make_dict_unstructure_fn,
    override,
)

from ..domain.audit.plan import Plan
from ..domain.canary.tracker import Ledger
from ..domain.offset_ranges import RangeSet

__all__ = ["from_json", "to_json"]

T = TypeVar("T")

_MICROSECOND = timedelta(microseconds=1)

# Kept in rows of their own, or not worth keeping: a proof is read again.
_ELSEWHERE = override(omit=True)

_converter = Converter()
_converter.register_unstructure_hook(datetime, datetime.isoformat)
_converter.register_structure_hook(
    datetime, lambda text, _: datetime.fromisoformat(text)
)
_converter.register_unstructure_hook(
    timedelta, lambda duration: duration // _MICROSECOND
)
_converter.register_structure_hook(
    timedelta, lambda number, _: number * _MICROSECOND
)
# Evidence holds whatever JSON has; it is what it is.
_converter.register_structure_hook(
    str | int | float | bool | None, lambda value, _: value
)
_converter.register_unstructure_hook(RangeSet, list)
_converter.register_structure_hook(
    RangeSet, lambda pairs, _: RangeSet((a, b) for a, b in pairs)
)
_converter.register_unstructure_hook(
    Ledger,
    make_dict_unstructure_fn(
        Ledger,
        _converter,
        outstanding=_ELSEWHERE,
        proofs=_ELSEWHERE,
        touched=_ELSEWHERE,
    ),
)
_converter.register_structure_hook(
    Ledger,
    make_dict_structure_fn(
        Ledger,
        _converter,
        outstanding=_ELSEWHERE,
        proofs=_ELSEWHERE,
        touched=_ELSEWHERE,
    ),
)
# Run folders are read across versions, and call pairs of partitions lanes.
_converter.register_unstructure_hook(
    Plan,
    make_dict_unstructure_fn(Plan, _converter, pairs=override(rename="lanes")),
)
_converter.register_structure_hook(
    Plan,
    make_dict_structure_fn(Plan, _converter, pairs=override(rename="lanes")),
)


def to_json(value: Any) -> str:
    """Write a dataclass of the domain as JSON."""
    return json.dumps(_converter.unstructure(value), separators=(",", ":"))


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read a dataclass of the domain.

    Fields that the text lacks keep their defaults and fields that it has in
    excess are skipped, so that a newer agent reads an older state file.
    """
    return _converter.structure(json.loads(text), kind)
