"""Holds the ways to a mirror's figures against each other."""

from collections import Counter
from typing import Any

from mirrorwatch.sources.jmx.readers import JmxReader

from .jmx import Said, read

__all__ = ["Comparison"]

MOMENTARY = {
    "buffer-available-bytes",
    "requests-in-flight",
    "records-lag",
    "source-record-active-count",
}
"""Attributes of this very moment: two readers can see two of them."""


class Comparison:
    """What Jolokia says alike before and after must be said alike by others;
    what moves must be between, or as near as a window moves meanwhile.
    """

    def __init__(self, ways: dict[str, JmxReader]) -> None:
        self.compared: Counter[tuple[str, str]] = Counter()
        self.differences: list[object] = []
        self._before = read(ways["jolokia"])
        others = {way: read(ways[way]) for way in ("prometheus", "rmi")}
        self._after = read(ways["jolokia"])
        for way, told in others.items():
            self._compare(way, told)

    def _compare(self, way: str, told: Said) -> None:
        for name in self._before.keys() & self._after.keys():
            kind = dict(name[1])["type"]
            if way == "prometheus" and kind == "connector-metrics":
                continue  # words only, which its own rules do not export
            for attribute, first in self._before[name].items():
                value = told.get(name, {}).get(attribute)
                last = self._after[name].get(attribute)
                if not self._agree(way, attribute, value, (first, last)):
                    self.differences.append(
                        (way, dict(name[1]), attribute, first, value, last)
                    )

    def _agree(
        self, way: str, attribute: str, value: Any, around: tuple[Any, Any]
    ) -> bool:
        first, last = around
        if isinstance(first, str):
            return way == "prometheus" or value == first
        if attribute in MOMENTARY or last is None:
            return way == "prometheus" or value is not None
        if first == last:
            self.compared[way, "exactly"] += 1
            return bool(value == first)
        self.compared[way, "nearly"] += 1
        slack = max(0.3 * max(abs(first), abs(last)), 0.05)
        return value is not None and bool(
            min(first, last) - slack <= value <= max(first, last) + slack
        )
