"""Reads the source to find out whether doubtful probes were written."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from confluent_kafka import TopicPartition

from ...domain.canary import Doubt, Gap, Settlement
from ...domain.observations import Problem
from ...domain.verdicts import Health
from ..cluster import Cluster
from ..span import read_span
from .decoding import decode
from .sender import send_timeout
from .settings import CanarySettings

__all__ = ["Settler"]

IN_THE_BROKER = timedelta(seconds=30)
"""How long a request that the producer gave up on may still be carried out:
librdkafka's and the broker's own request timeouts are 30 s."""


REMEMBERED = timedelta(minutes=10)
"""How long a probe that came back is told: a circle shows in every probe, so
after this long without one it has been broken."""


class Settler:
    """Settles doubts, and looks who else writes the canary topic.

    Parameters
    ----------
    cluster
        The source cluster.
    properties
        librdkafka properties of it.
    settings
        What the canary was told.
    run
        Identity of the state file; other probes are another agent's.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        properties: Mapping[str, str],
        settings: CanarySettings,
        run: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._run = run
        self._clock = clock
        self._properties = properties
        self._circle: tuple[datetime, Problem] | None = None
        self._after = send_timeout(settings.deadline) + IN_THE_BROKER

    def settle(self, doubts: Iterable[Doubt]) -> list[Settlement]:
        """Resolve the doubts that are old enough to be resolved.

        Raises
        ------
        SourceError
            Raised if the source cannot be read.
        """
        now = self._clock()
        by_partition: dict[int, list[Doubt]] = {}
        settled: list[Settlement] = []
        for doubt in doubts:
            if not doubt.current:
                settled.append(_settlement(doubt, None, readable=False))
            elif now - doubt.sent_at > self._after:
                by_partition.setdefault(doubt.partition, []).append(doubt)
        if not by_partition:
            return settled
        topic = self._settings.topic
        starts = self._cluster.starts(topic, by_partition)
        # Taken after the grace: whatever can still be written is below.
        ends = self._cluster.ends(topic, by_partition)
        for partition, waiting in by_partition.items():
            floor = min(doubt.floor for doubt in waiting)
            start, end = starts[partition], ends[partition]
            found = self._find(partition, max(floor, start), end)
            settled += [
                _settlement(
                    doubt,
                    found.get(doubt.sequence, [None])[0],
                    readable=start <= doubt.floor,
                )
                for doubt in waiting
            ]
        return settled

    def look_into(self, gaps: Iterable[Gap]) -> list[Problem]:
        """Look who wrote source offsets that the canary did not.

        Returns
        -------
        list of Problem
            What was found now or not long ago.

        Raises
        ------
        SourceError
            Raised if the source cannot be read.
        """
        now = self._clock()
        for gap in gaps:
            found = self._find(gap.partition, gap.first, gap.last + 1)
            copies = [n for n in found if n <= gap.newest_acked]
            if copies:
                where = f"[{gap.partition}], offset {found[copies[0]][0]}"
                self._circle = (now, self._describe_circle(where))
        if self._circle is None or now - self._circle[0] > REMEMBERED:
            return []
        return [self._circle[1]]

    def _describe_circle(self, where: str) -> Problem:
        return Problem(
            Health.CRITICAL,
            f"Probes came back to {self._settings.topic} at "
            f"{self._settings.flow.source} (last seen in {where}): two "
            "mirrors copy this topic in a circle, which never ends; take it "
            "out of the topics of one of them",
        )

    def _find(
        self, partition: int, first: int, end: int
    ) -> dict[int, list[int]]:
        """Find the offsets of each of our probes in a stretch."""
        found: dict[int, list[int]] = {}
        for message in read_span(
            self._properties,
            cluster=self._cluster.alias,
            where=TopicPartition(self._settings.topic, partition, first),
            end=end,
        ):
            probe = decode(message.value())
            ours = (self._run, self._settings.flow.name)
            if probe is not None and (probe.run, probe.flow) == ours:
                offset = message.offset() or 0
                found.setdefault(probe.sequence, []).append(offset)
        return found


def _settlement(
    doubt: Doubt, source_offset: int | None, *, readable: bool
) -> Settlement:
    return Settlement(
        partition=doubt.partition,
        sequence=doubt.sequence,
        source_offset=source_offset,
        readable=readable,
    )
