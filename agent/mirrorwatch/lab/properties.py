"""Java properties, written so that Java reads back what was meant."""

from collections.abc import Mapping
from pathlib import Path

from .runtime import write_private

__all__ = ["to_text", "write_properties"]

_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
)

_KEY_ESCAPES = str.maketrans(
    {" ": "\\ ", ":": "\\:", "=": "\\=", "#": "\\#", "!": "\\!"}
)


def to_text(properties: Mapping[str, str]) -> str:
    """Return properties in the format of ``java.util.Properties``."""
    lines = []
    for key, value in sorted(properties.items()):
        name = key.translate(_ESCAPES).translate(_KEY_ESCAPES)
        text = value.translate(_ESCAPES)
        if text.startswith(" "):
            text = "\\" + text
        lines.append(f"{name}={text}")
    return "\n".join(lines) + "\n"


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a file of properties that only this user can read."""
    write_private(path, to_text(properties))
