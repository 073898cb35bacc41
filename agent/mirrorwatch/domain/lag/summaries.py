"""Lags of all topics of a flow, from survey to survey."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..topic_configs import TopicConfigs
from ..view import ClusterView, FlowView, TopicPartition
from .observation import TopicLag
from .summary import Surroundings, summarize
from .track import Track
from .trend import Trend

__all__ = ["Summaries"]

Marks = tuple[tuple[int, int, int], ...]
"""Of each partition: number, next offset to copy, end."""


@dataclass(slots=True)
class _Kept:
    """What is kept of one topic."""

    trend: Trend = field(default_factory=Trend)
    lag: TopicLag | None = None
    marks: Marks = ()
    configs: TopicConfigs | None = None

    def holds(self, marks: Marks, configs: TopicConfigs | None) -> bool:
        """Tell whether the last lag is also that of now.

        Notes
        -----
        Where nothing waits and nothing is written, time changes nothing.
        """
        return (
            self.lag is not None
            and not self.lag.records
            and marks == self.marks
            and configs is self.configs
            and self.trend.stands()
        )


class Summaries:
    """Summarizes topics, anew only where there is something to tell.

    Parameters
    ----------
    class_of
        Class of a source topic, empty if it has none.
    """

    def __init__(self, class_of: Callable[[str], str]) -> None:
        self._class_of = class_of
        self._kept: dict[str, _Kept] = {}

    def take(
        self,
        view: FlowView,
        source: ClusterView,
        tracks: Mapping[TopicPartition, Track],
        configs: Mapping[str, TopicConfigs],
    ) -> tuple[TopicLag, ...]:
        """Return the lag of every topic, by name.

        Parameters
        ----------
        view
            What was seen.
        source
            The source in it.
        tracks
            All partitions of which the lag can be said.
        configs
            How source topics are configured, as far as that is known.
        """
        moved_at = max(
            (t.moved_at for t in tracks.values() if t.begun), default=None
        )
        before, self._kept = self._kept, {}
        found = []
        for topic in sorted(view.names):
            partitions = range(source.topics[topic].partitions)
            own = {
                p: track
                for p in partitions
                if (track := tracks.get((topic, p))) is not None
            }
            marks = tuple((p, t.next_offset, t.end) for p, t in own.items())
            kept = self._kept[topic] = before.get(topic) or _Kept()
            if kept.lag is not None and kept.holds(marks, configs.get(topic)):
                kept.trend.stand(view.at.timestamp())
                found.append(kept.lag)
                continue
            around = Surroundings(
                now=view.at,
                topic_class=self._class_of(topic),
                configs=configs.get(topic),
                trend=kept.trend,
                starts={
                    p: source.starts.get((topic, p), 0) for p in partitions
                },
                flow_moved_at=moved_at,
            )
            kept.marks, kept.configs = marks, around.configs
            kept.lag = summarize(topic, own, around)
            found.append(kept.lag)
        return tuple(found)
