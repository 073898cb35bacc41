"""What has to be done at a site."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..exceptions import PromotionError
from .item import Item

__all__ = ["Change", "make_plan"]


@dataclass(frozen=True, slots=True)
class Change:
    """One item that is not there yet, or not as it should be."""

    wanted: Item
    """What it shall be."""

    there: Item | None
    """What is there: a copy, or nothing."""

    @property
    def verb(self) -> str:
        """What is done to it."""
        return "create" if self.there is None else "change"

    def __str__(self) -> str:
        return f"{self.verb} {self.wanted}"


def make_plan(
    wanted: Iterable[Item], there: Sequence[Item], site: str
) -> list[Change]:
    """Compare what should be at a site with what is.

    Parameters
    ----------
    wanted
        What should be there.
    there
        Everything that is there.
    site
        Its name, for messages.

    Raises
    ------
    PromotionError
        Raised if something is in the way that was not copied by this
        program: that is never touched.
    """
    changes, foreign = [], []
    for item in wanted:
        same = [i for i in there if (i.kind, i.name) == (item.kind, item.name)]
        copies = [i for i in same if i.marked]
        if len(copies) > 1:
            raise PromotionError(
                f"{site} has two copies of {item}: delete one there"
            )
        if same and not copies:
            foreign.append(item)
        elif not copies or copies[0].content != item.content:
            changes.append(Change(item, copies[0] if copies else None))
    if foreign:
        told = "\n".join(f"  {item}" for item in foreign)
        raise PromotionError(
            f"Nothing was copied to {site}, as these are there and carry no "
            f"mark of a copy, so they are somebody's own:\n{told}\n"
            "Rename or delete them there, or leave them out with --only."
        )
    return changes
