"""Finds values of the one site in what was made for the other."""

import re
from collections.abc import Iterable, Iterator

from .values import Kind, Translation

__all__ = ["find_leftovers"]

SHORTEST = 4
"""Shorter values are too often parts of other words."""

TOLD = (Kind.DATABASE, Kind.TOPIC_PREFIX, Kind.HANDLER, Kind.ENDPOINT)
"""Names of retention policies are everyday words, ids are numbers."""


def find_leftovers(
    text: str, translation: Translation, hosts: Iterable[str]
) -> Iterator[str]:
    """Yield values of the one site that a text still has.

    Parameters
    ----------
    text
        A dashboard or a rule as the other site gets it.
    translation
        From the one site to the other.
    hosts
        Names of hosts of the one site.

    Notes
    -----
    They stand in texts for people, or where nothing tells what they are: a
    person has to look at them. Nothing is stopped by them, as the name of a
    database may well be a word of a message.
    """
    there = {v for kind in translation.target.values() for v in kind.values()}
    for value in dict.fromkeys([*_values(translation), *hosts]):
        if len(value) < SHORTEST:
            continue
        found = re.search(rf"(?<![\w.-]){re.escape(value)}(?!\w)", text)
        if found and not any(value in other for other in there):
            yield value


def _values(translation: Translation) -> Iterator[str]:
    for kind in TOLD:
        yield from translation.source.get(kind, {}).values()
