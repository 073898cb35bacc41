"""Lag and retention of a flow."""

from collections.abc import Mapping

from ..domain.lag import LagTracker
from ..domain.selection import compile_pattern
from ..sources.lag import LagWatch
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_lag"]


def wire_lag(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what follows the lag of a flow."""
    flow = parts.config
    watch = LagWatch(
        flow=flow.name,
        tracker=LagTracker(
            flow=flow.name,
            class_of=_Classes(flow.classes),
            configs=parts.configs.sources,
            estimates=not flow.mirror.exactly_once,
        ),
        positions=parts.positions,
        source=around.clusters[flow.source],
        properties=around.properties[flow.source],
        carries=parts.carriage.carries,
        clock=around.clock,
    )
    parts.readers.append(watch)
    return Wired(workers=(watch,), sources=(watch,))


class _Classes:
    """Finds the class of a topic; the first pattern that matches wins."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = {n: compile_pattern(p) for n, p in patterns.items()}
        self._known: dict[str, str] = {}

    def __call__(self, topic: str) -> str:
        if topic not in self._known:
            self._known[topic] = next(
                (n for n, p in self._patterns.items() if p.fullmatch(topic)),
                "",
            )
        return self._known[topic]
