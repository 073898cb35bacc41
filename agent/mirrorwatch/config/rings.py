"""Flows that keep names must not form a ring that records go round."""

from collections.abc import Iterator, Sequence

from .placed import Placed, describe_example, find_proved_topic
from .problems import Problem

__all__ = ["check_rings"]


def check_rings(placed: Sequence[Placed]) -> Iterator[Problem]:
    """Yield what would go round for ever.

    Notes
    -----
    MirrorMaker 2 stops cycles by the alias in front of a topic's name. With
    names kept there is none, so two opposite flows, or a ring of more, copy
    each other's copies without end.
    """
    for ring in _find_rings(placed):
        yield from _check_ring(ring)


def _find_rings(placed: Sequence[Placed]) -> Iterator[tuple[Placed, ...]]:
    """Yield every ring of flows that keep names, once each."""

    def walk(path: tuple[Placed, ...]) -> Iterator[tuple[Placed, ...]]:
        for one in keeping:
            if one.flow.source != path[-1].flow.target:
                continue
            if one is path[0]:
                yield path
            elif one.index > path[0].index and one.flow.source not in {
                p.flow.source for p in path
            }:
                yield from walk((*path, one))

    keeping = [
        p
        for p in placed
        if p.flow.topic_naming.keeps_names and p.flow.source != p.flow.target
    ]
    for start in keeping:
        yield from walk((start,))


def _check_ring(ring: tuple[Placed, ...]) -> Iterator[Problem]:
    *before, last = ring
    flows = [p.flow for p in ring]
    others = " and ".join(str(p) for p in before)
    advice = "keep the topics apart, or use a naming that prefixes them"
    topic = find_proved_topic(*(f.selection for f in flows))
    if topic is not None:
        yield last.problem(
            f"with {others}, {describe_example(topic, *flows)} goes round "
            f"for ever, because its name is kept; {advice}",
            "topics",
        )
        return
    for one in ring:
        canary = one.flow.canary
        if canary.enabled and all(
            f.selection.matches(canary.topic) or f.canary.topic == canary.topic
            for f in flows
        ):
            yield last.problem(
                f"with {others}, the canary topic goes round for ever, "
                "because its name is kept; give each flow its own",
                "canary",
                "topic",
            )
            return
