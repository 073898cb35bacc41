"""Lanes by what all of their records have in common."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side

__all__ = ["Stream", "renamed", "streams"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """Lanes whose records of one side were copied by one flow."""

    known: Mapping[str, Column]
    """Columns that follow from the topic of a record, or are the same for
    all."""

    lanes: tuple[Lane, ...]
    """The lanes, without what other flows copy into them."""


def streams(lanes: Sequence[Lane], side: Side) -> list[Stream]:
    """Return what is read of one side of lanes; there is at least one.

    Parameters
    ----------
    lanes
        The lanes.
    side
        Which side.
    """
    found: dict[tuple[str, str], list[Lane]] = defaultdict(list)
    for lane in lanes:
        flows = {s.flow for s in lane.sources}
        for origin in flows if side == "source" else {lane.flow}:
            own = tuple(s for s in lane.sources if s.flow == origin)
            part = replace(lane, sources=own) if side == "source" else lane
            found[lane.flow, origin].append(part)
    if not found:
        return [Stream(known={}, lanes=())]
    return [
        Stream(known=_known(*names, members, side), lanes=tuple(members))
        for names, members in sorted(found.items(), key=lambda item: item[0])
    ]


def renamed(names: Mapping[str, str]) -> Column | None:
    """Return what topics are called at the target, as it follows from the
    column `topic`; `None` if only a table tells.
    """
    prefixes = {
        target.removesuffix(topic) if target.endswith(topic) else None
        for topic, target in names.items()
    }
    prefix = prefixes.pop() if len(prefixes) == 1 else None
    if prefix is None:
        return None
    own = sf.col("topic")
    return sf.concat(sf.lit(prefix), own) if prefix else own


def _known(
    flow: str, origin: str, lanes: Sequence[Lane], side: Side
) -> dict[str, Column]:
    known = {"flow": sf.lit(flow), "origin": sf.lit(origin)}
    names = {
        source.topic if side == "source" else lane.target_topic: (
            lane.target_topic
        )
        for lane in lanes
        for source in lane.sources
    }
    target = renamed(names)
    return known if target is None else known | {"target_topic": target}
