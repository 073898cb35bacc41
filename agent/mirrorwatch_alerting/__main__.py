"""Writes the files that are kept in ``alerts/``.

``python -m mirrorwatch_alerting alerts``
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from .alerts import ALERTS
from .kapacitor import scripts
from .prometheus import rules

__all__ = ["files", "main"]


HEADER = """\
# Made by `make alerts` from agent/mirrorwatch_alerting: change it there.
"""


def files() -> Mapping[str, str]:
    """Return the text of each file, by its path below ``alerts/``."""
    ticks = scripts(ALERTS).items()
    return {
        "prometheus/mirrorwatch.yaml": HEADER + rules(ALERTS),
        **{f"kapacitor/{name}.tick": text for name, text in ticks},
    }


def main(folder: Path) -> None:
    """Write every file below a folder."""
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
