"""Answers inquiries: reads both sides of stretches."""

from collections.abc import Mapping, Sequence

from ...domain.conservation import Inquiry, Reading
from ...domain.view import TopicPartition as Place
from ..bulk import read_starts
from ..cluster import Cluster
from ..configs import Configs
from .looks import Look
from .stretches import Stretches

__all__ = ["Inquirer"]


class Inquirer:
    """Reads both sides of the stretches that inquiries are about.

    Parameters
    ----------
    source, target
        The clusters.
    properties
        librdkafka properties, by alias.
    configs
        How the topics are configured.
    """

    def __init__(
        self,
        *,
        source: Cluster,
        target: Cluster,
        properties: Mapping[str, Mapping[str, str]],
        configs: Configs,
    ) -> None:
        self._source, self._target = source, target
        self._configs = configs
        self._there = Stretches(properties[source.alias], source.alias)
        self._here = Stretches(properties[target.alias], target.alias)

    def answer(
        self,
        inquiries: Sequence[Inquiry],
        *,
        committed: bool,
        transactional: bool,
    ) -> list[Reading | None]:
        """Read what inquiries ask for; one about each partition at most.

        Parameters
        ----------
        inquiries
            What is asked.
        committed
            Whether the mirror leaves out aborted records of the source.
        transactional
            Whether it writes in transactions itself: what it aborted was
            never written.

        Returns
        -------
        list
            What was read for each, `None` where it cannot be read to its
            end now.

        Raises
        ------
        SourceError
            Raised if a cluster does not answer, or refuses.
        """
        there = self._there.read(
            ((i.place, span) for i in inquiries for span in i.source),
            committed=committed,
        )
        here = self._here.read(
            ((_here(i), i.target) for i in inquiries if not i.only_count),
            committed=transactional,
        )
        # Afterwards: what was not found may have expired meanwhile.
        starts = read_starts(self._source, {i.place for i in inquiries})
        starts_here = read_starts(
            self._target,
            {_here(i) for i in inquiries if not i.only_count},
        )
        return [
            self._reading(
                inquiry,
                there.get(inquiry.place, {}),
                here.get(_here(inquiry), {}),
                (
                    starts.get(inquiry.place, 0),
                    starts_here.get(_here(inquiry), 0),
                ),
            )
            for inquiry in inquiries
        ]

    def _reading(
        self,
        inquiry: Inquiry,
        source: Mapping[int, Look] | None,
        target: Mapping[int, Look] | None,
        starts: tuple[int, int],
    ) -> Reading | None:
        if source is None or target is None:
            return None
        # A target that sets timestamps itself has others than the source.
        timed = not any(look.by_broker for look in target.values())
        from_, to = (
            self._configs.source(inquiry.topic),
            self._configs.target(inquiry.remote),
        )
        return Reading(
            source=_numbers(source, starts[0], timed=timed),
            target=_numbers(target, 0, timed=timed),
            source_start=starts[0],
            target_start=starts[1],
            # What is not known might be: then less is called proved.
            source_compacted=from_ is None or from_.compacted,
            target_compacted=to is None or to.compacted,
        )


def _numbers(
    looks: Mapping[int, Look], start: int, *, timed: bool
) -> dict[int, int]:
    return {
        offset: look.number(timed=timed)
        for offset, look in looks.items()
        if offset >= start
    }


def _here(inquiry: Inquiry) -> Place:
    return inquiry.remote, inquiry.partition
