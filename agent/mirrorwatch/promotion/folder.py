"""Writes items into files."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..exceptions import PromotionError
from .item import Item

__all__ = ["write_folder"]

UNFIT = re.compile(r"[^\w.-]+")
"""What has no place in the name of a file."""


def write_folder(items: Iterable[Item], folder: Path) -> Iterator[Path]:
    """Write each item, and yield the files.

    Parameters
    ----------
    items
        What to write: JSON, and its script as a ``.tick`` of its own.
    folder
        Where to; made if it is missing.

    Raises
    ------
    PromotionError
        Raised if a file cannot be written, or two items would have one
        file.
    """
    written = set[Path]()
    for item in items:
        name = UNFIT.sub("_", item.title)
        parts = dict(item.content)
        script = parts.pop("script", None)
        texts = {f"{name}.json": json.dumps(parts, indent=2) + "\n"}
        if script is not None:
            texts[f"{name}.tick"] = script
        for file_name, text in texts.items():
            file = folder / item.kind / file_name
            if file in written:
                raise PromotionError(
                    f"{file}: two items would have this file; give --only"
                )
            written.add(file)
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch(mode=0o600)  # scripts may hold tokens
                file.write_text(text, "utf-8")
            except OSError as e:
                raise PromotionError(
                    f"{file}: cannot be written: {e.strerror}"
                ) from e
            yield file
