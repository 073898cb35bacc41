"""Asks the clusters what the rules want to know."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ..domain.audit.facts import FirstSince, Found, Question, RecordAt
from ..domain.lag import Wanted
from ..domain.view import TopicPartition
from ..sources.lag.heads import read_heads
from ..sources.times import read_first_since
from .sites import Sites

__all__ = ["Answers"]

T = TypeVar("T", FirstSince, RecordAt)

AT_ONCE = 500
"""Partitions of which a record is read at once: at most 8 MiB of fetches."""

ATTEMPTS = 3
"""How often a record is asked for that did not come within a second."""


class Answers:
    """Asks the clusters.

    Parameters
    ----------
    sites
        The clusters.
    """

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def __call__(
        self, questions: Collection[Question]
    ) -> Mapping[Question, Found]:
        """Answer all of these questions.

        Raises
        ------
        SourceError
            Raised if a cluster cannot be asked.
        """
        found: dict[Question, Found] = {}
        times = [q for q in questions if isinstance(q, FirstSince)]
        for alias, asked in _by_cluster(times):
            for places in _rounds(asked):
                firsts = read_first_since(
                    self._sites[alias].cluster,
                    {place: q.time for place, q in places.items()},
                )
                for place, question in places.items():
                    found[question] = Found(*firsts[place])
        records = [q for q in questions if isinstance(q, RecordAt)]
        for alias, read in _by_cluster(records):
            for committed in (False, True):
                level = [q for q in read if q.read_committed is committed]
                for heads in _rounds(level):
                    found |= self._read(alias, heads, committed=committed)
        return found

    def _read(
        self,
        alias: str,
        questions: Mapping[TopicPartition, RecordAt],
        *,
        committed: bool,
    ) -> dict[Question, Found]:
        found: dict[Question, Found] = {}
        places = sorted(questions)
        for first in range(0, len(places), AT_ONCE):
            left = set(places[first : first + AT_ONCE])
            for _ in range(ATTEMPTS):
                if not left:
                    break
                heads = read_heads(
                    self._sites[alias].properties,
                    cluster=alias,
                    wanted=[
                        Wanted(
                            place,
                            questions[place].offset,
                            questions[place].log.retained.end,
                        )
                        for place in sorted(left)
                    ],
                    isolation="read_committed"
                    if committed
                    else "read_uncommitted",
                )
                for head in heads:
                    place = head.wanted.place
                    left.discard(place)
                    found[questions[place]] = Found(
                        head.offset, head.written_at
                    )
            for place in left:
                found[questions[place]] = Found(None, failed=True)
        return found


def _by_cluster(questions: Iterable[T]) -> Iterator[tuple[str, list[T]]]:
    found: dict[str, list[T]] = {}
    for question in questions:
        found.setdefault(question.log.cluster, []).append(question)
    yield from sorted(found.items())


def _rounds(questions: Sequence[T]) -> list[dict[TopicPartition, T]]:
    """Deal questions out, so that a partition is once in each round."""
    rounds: list[dict[TopicPartition, T]] = []
    for question in questions:
        place = question.log.place
        free = next((r for r in rounds if place not in r), None)
        if free is None:
            rounds.append({place: question})
        else:
            free[place] = question
    return rounds
