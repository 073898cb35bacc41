"""Writes the files that are kept in ``alerts/``.

``python -m mirrorwatch_alerting alerts``
"""

import sys
from pathlib import Path

from .files import files

__all__ = ["main"]


def main(folder: Path) -> None:
    """Write every file below a folder."""
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
