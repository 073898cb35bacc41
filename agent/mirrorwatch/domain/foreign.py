"""What others wrote, read with care: JSON, and numbers in it."""

import json
import re
from typing import Any

__all__ = ["LARGEST", "LARGEST_INT", "load_json", "to_number"]

LARGEST = 2**63 - 1
"""Largest offset: a ``long`` of Java, and an integer of SQLite."""

LARGEST_INT = 2**31 - 1
"""Largest number of a partition, or of anything else that is an ``int``."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def load_json(data: bytes | str) -> Any:
    """Read JSON whose texts can be stored and shown.

    Raises
    ------
    ValueError
        Raised if it is no JSON in UTF-8, is nested too deeply, or holds half
        of a surrogate pair: no file, page or point takes such a text.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    try:
        found = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as e:
        raise ValueError("nested too deeply") from e
    return found


def to_number(value: Any, most: int = LARGEST) -> int:
    """Return a whole number from 0 on, given as such or as text.

    Raises
    ------
    TypeError
        Raised if it is neither.
    ValueError
        Raised if it is no such number, or a larger one.
    """
    if not isinstance(value, int | str):
        raise TypeError(f"{type(value).__name__} where a number belongs")
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError(f"a number that is not from 0 to {most}")
    return number
