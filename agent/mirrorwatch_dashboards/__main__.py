"""``python -m mirrorwatch_dashboards FOLDER`` writes all dashboards."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from . import chronograf, grafana
from .boards import BOARDS

__all__ = ["files", "write"]


def files() -> Iterator[tuple[str, str]]:
    """Yield the path of each file, from the folder, and its text."""
    for number, board in enumerate(BOARDS):
        made = {chronograf.NAME: chronograf.render(number, board)}
        for store in grafana.Store:
            made[store.folder] = grafana.render(board, store)
        for name, dashboard in made.items():
            text = json.dumps(dashboard, indent=2, ensure_ascii=False)
            yield f"{name}/{board.name}.json", text + "\n"


def write(folder: Path) -> None:
    """Write all files, and remove those of boards that are gone."""
    made = dict(files())
    for path in folder.rglob("*.json"):
        if path.relative_to(folder).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
