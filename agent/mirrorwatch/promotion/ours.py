"""What comes with mirrorwatch, as a site to copy from."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..domain.promotion import Kind
from ..domain.promotion.tokens import tokenize
from ..exceptions import PromotionError
from ..shipped import shipped
from .chronograf import from_chronograf
from .item import Item

__all__ = ["OUR_VALUES", "Ours"]

DATABASE = "mirrorwatch"
POLICY = "autogen"

OUR_VALUES: Mapping[Kind, Mapping[str, str]] = MappingProxyType(
    {Kind.DATABASE: {"mirrorwatch": DATABASE}}
)
"""What our own dashboards and rules call things."""


class Ours:
    """The files that are shipped.

    Parameters
    ----------
    group
        ``dashboards`` or ``alerts``: the folder.
    """

    name = "ours"

    def __init__(self, group: str) -> None:
        self._group = group

    def list(self) -> Sequence[Item]:
        folder = shipped(self._group)
        return [*_dashboards(folder / "chronograf"), *_tasks(folder)]

    def put(self, item: Item, replaced: Item | None) -> None:
        raise _read_only()

    def delete(self, item: Item) -> None:
        raise _read_only()


def _dashboards(folder: Path) -> Iterator[Item]:
    for file in sorted(folder.rglob("*.json")):
        exported = json.loads(file.read_text("utf-8"))
        # Chronograf's own export has its dashboard inside.
        yield from_chronograf(exported.get("dashboard", exported))


def _tasks(folder: Path) -> Iterator[Item]:
    for file in sorted((folder / "kapacitor").rglob("*.tick")):
        script = file.read_text("utf-8")
        words = [token.raw for token in tokenize(script, "tick")]
        content: dict[str, Any] = {
            "type": "batch" if "batch" in words else "stream",
            "status": "enabled",
            "vars": {},
            "script": script,
        }
        if "dbrp" not in words:
            content["dbrps"] = [{"db": DATABASE, "rp": POLICY}]
        name = file.stem
        yield Item(kind="task", name=name, title=name, content=content)


def _read_only() -> PromotionError:
    return PromotionError("ours is what comes with mirrorwatch: copy from it")
