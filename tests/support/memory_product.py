"""A server that keeps items in memory, and can be lost half-way."""

from collections.abc import Sequence
from dataclasses import replace

from mirrorwatch_promotion.exceptions import PromotionError, ServerLostError
from mirrorwatch_promotion.item import Item

__all__ = ["MemoryProduct", "task"]


class MemoryProduct:
    """A server.

    Parameters
    ----------
    items
        What is there.
    """

    name = "memory"

    def __init__(self, *items: Item) -> None:
        self.items = list(items)
        self.writes = 0
        self.answers_left: int | None = None
        """Requests until it is lost; `None` for never."""
        self.done_when_lost = False
        """Whether it does what it is asked last, but does not say so."""
        self.refuses = ""
        """Name of an item that it refuses."""

    def list(self) -> Sequence[Item]:
        self._answer()
        return list(self.items)

    def put(self, item: Item, replaced: Item | None) -> None:
        try:
            self._answer()
        except ServerLostError:
            if self.done_when_lost:
                self._put(item, replaced)
            raise
        if item.name == self.refuses:
            raise PromotionError(f"memory refuses {item.name}")
        self._put(item, replaced)

    def delete(self, item: Item) -> None:
        self._answer()
        self.items.remove(item)

    def come_back(self) -> None:
        self.answers_left = None

    def _put(self, item: Item, replaced: Item | None) -> None:
        self.writes += 1
        if replaced is not None:
            self.items.remove(replaced)
        self.items.append(replace(item, marked=True))

    def _answer(self) -> None:
        if self.answers_left is not None:
            if not self.answers_left:
                raise ServerLostError("memory is away")
            self.answers_left -= 1


def task(name: str, script: str = "stream", *, marked: bool = False) -> Item:
    return Item(
        kind="task",
        name=name,
        title=name,
        content={"type": "stream", "script": script},
        marked=marked,
    )
