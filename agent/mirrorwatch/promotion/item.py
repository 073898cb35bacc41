"""What is copied, and the servers that it is copied between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Item", "Product"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One dashboard, rule, template or topic handler."""

    kind: str
    """``chronograf``, ``grafana``, ``template``, ``task`` or ``handler``."""

    name: str
    """What tells it from others of its kind at one site, and is the same at
    every site."""

    title: str
    """What people call it."""

    content: Mapping[str, Any]
    """All that is copied: no ids and dates of one server, and no mark."""

    hint: str = field(default="", compare=False)
    """What helps to read the content but is no part of it: the script of a
    task's template."""

    marked: bool = field(default=False, compare=False)
    """Whether it was copied by this program, which may then change it."""

    ref: str = field(default="", compare=False)
    """How its server finds it."""

    def __str__(self) -> str:
        known = f" ({self.title})" if self.title != self.name else ""
        return f"{self.kind} {self.name}{known}"


class Product(Protocol):
    """A server at a site."""

    name: str
    """``chronograf``, ``kapacitor`` or ``grafana``."""

    def list(self) -> Sequence[Item]:
        """Return everything there.

        Raises
        ------
        PromotionError
            Raised if it cannot be read.
        """
        ...

    def put(self, item: Item, replaced: Item | None) -> None:
        """Create an item, or change one, and mark it.

        Parameters
        ----------
        item
            What it shall be.
        replaced
            What is there, marked; `None` if nothing is.

        Raises
        ------
        PromotionError
            Raised if the server refuses.
        """
        ...

    def delete(self, item: Item) -> None:
        """Delete an item that `list` has returned.

        Raises
        ------
        PromotionError
            Raised if the server refuses.
        """
        ...
