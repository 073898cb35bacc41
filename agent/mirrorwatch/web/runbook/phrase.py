"""A reason as the runbook writes it, with gaps for names and figures."""

import re
from dataclasses import dataclass
from typing import Self

from ...domain.words import alike

__all__ = ["Phrase", "plain"]

GAP = "…"

SENTENCE = 14
"""Characters beside the gaps: less is a name or a setting, not a reason. The
shortest reason is "Task … of … has failed"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrase:
    """A sentence of a verdict, with ``…`` where names and figures stand."""

    text: str
    """As it is written."""

    pieces: tuple[str, ...]
    """What stands between the gaps, as `plain` makes it."""

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Read a phrase; `None` if it is none."""
        pieces = tuple(
            piece for part in text.split(GAP) if (piece := plain(part))
        )
        phrase = cls(text=text, pieces=pieces)
        is_sentence = any(" " in piece for piece in pieces)
        return phrase if is_sentence and phrase.weight >= SENTENCE else None

    @property
    def weight(self) -> int:
        """How much it says: of two that fit, the one that says more is it."""
        return sum(map(len, self.pieces))

    def fits(self, said: str) -> bool:
        """Tell whether a reason says this: all pieces, in this order.

        Parameters
        ----------
        said
            The reason, as `plain` makes it: it is held against hundreds.
        """
        at = 0
        for piece in self.pieces:
            found = said.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def plain(text: str) -> str:
    """Return text as something to compare: in one case, without what a
    sentence ends with, of one as of many.
    """
    return alike(re.sub(r"\s+", " ", text).strip(" .,;:").lower())
