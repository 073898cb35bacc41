"""What ``/api/topics`` can be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ..exceptions import WebError

__all__ = ["TopicsQuery"]

DEFAULT_TOP = 50
"""Topics listed of each flow: a screen or two. A thousand would be half a
megabyte, which is for who asks for it."""

YES = {"1", "true"}
NO = {"0", "false"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsQuery:
    """Which topics are asked for."""

    flow: str | None = None
    """Name of the only flow that is wanted, `None` for every one."""

    top: int | None = DEFAULT_TOP
    """How many topics of each flow, the worst first; `None` for all."""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Read the parameters of a request.

        Raises
        ------
        WebError
            Raised with what is allowed if one of them makes no sense.
        """
        every = given.get("all", "0").lower()
        if every not in YES | NO:
            raise WebError(f"'all' is {every!r}: give 1 or 0")
        top = given.get("top", str(DEFAULT_TOP))
        if not (top.isascii() and top.isdigit()):
            raise WebError(f"'top' is {top!r}: give a whole number, or all=1")
        return cls(
            flow=given.get("flow"),
            # Digits without end would be slow to read.
            top=None if every in YES else int(top[:6]),
        )
