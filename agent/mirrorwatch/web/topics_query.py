"""What ``/api/topics`` can be asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ..domain.lag import LagStatus
from ..exceptions import WebError

__all__ = ["SORTS", "TopicsQuery"]

DEFAULT_TOP = 50
"""Topics listed of each flow: a screen or two. A thousand would be half a
megabyte, which is for who asks for it."""

YES = {"1", "true"}
NO = {"0", "false"}

SORTS = (
    "worst",
    "topic",
    "class",
    "status",
    "lag_records",
    "lag_seconds",
    "drain_seconds",
    "time_to_loss_seconds",
    "missing_records",
)
"""By what topics can be put in order; ``worst`` by how much they matter."""

ORDERS = ("asc", "desc")


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsQuery:
    """Which topics are asked for."""

    flow: str | None = None
    """Name of the only flow that is wanted, `None` for every one."""

    top: int | None = DEFAULT_TOP
    """How many topics of each flow; `None` for all."""

    topic_class: str | None = None
    """Class of the topics that are wanted (empty: those of none), `None` for
    every one."""

    status: str | None = None
    """Status of the topics that are wanted, `None` for every one."""

    search: str = ""
    """What a topic's name must contain, in any case."""

    sort: str = SORTS[0]
    """One of `SORTS`."""

    descending: bool = False
    """Whether the largest come first; without effect on ``worst``."""

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
            topic_class=given.get("class"),
            status=_one_of("status", given.get("status"), list(LagStatus)),
            search=given.get("search", "").strip().lower(),
            sort=_one_of("sort", given.get("sort"), SORTS) or SORTS[0],
            descending=_one_of("order", given.get("order"), ORDERS) == "desc",
        )


def _one_of(
    name: str, given: str | None, allowed: tuple[str, ...] | list[LagStatus]
) -> str | None:
    if given is None or given in allowed:
        return given
    raise WebError(f"{name!r} is {given!r}: give one of {', '.join(allowed)}")
