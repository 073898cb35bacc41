"""``python -m mirrorwatch_dashboards FOLDER`` writes what is kept in git."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from . import chronograf, grafana
from .boards import BOARDS

__all__ = ["files", "write"]


def files() -> Iterator[tuple[str, str]]:
    """Yield the path of each file, from the folder, and its text."""
    for number, board in enumerate(BOARDS):
        cells = chronograf.render(number, board)
        text = cells.model_dump_json(
            by_alias=True, exclude_none=True, indent=2
        )
        yield f"{chronograf.NAME}/{board.name}.json", text + "\n"
        for store in grafana.STORES:
            text = json.dumps(
                grafana.render(board, store),
                cls=JSONEncoder,
                indent=2,
                ensure_ascii=False,
            )
            yield f"{store.name}/{board.name}.json", text + "\n"


def write(folder: Path) -> None:
    """Write all of them, and remove those of boards that are gone."""
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
