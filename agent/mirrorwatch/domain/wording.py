"""Numbers in sentences, of one as well as of many."""

import re
from datetime import datetime, timedelta

__all__ = [
    "agree",
    "alike",
    "as_duration",
    "as_ranges",
    "as_size",
    "as_time",
    "counted",
    "every",
]


SINGULAR = {
    "are": "is",
    "copy": "copies",
    "differ": "differs",
    "do": "does",
    "exist": "exists",
    "have": "has",
    "hold": "holds",
    "lie": "lies",
    "run": "runs",
    "their": "its",
    "them": "it",
    "they": "it",
    "wait": "waits",
    "were": "was",
}
"""Words that sentences about many begin with, as they are of one."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def every(number: int, noun: str) -> str:
    """Return all of so many."""
    return f"the one {noun}" if number == 1 else f"all {counted(number, noun)}"


def agree(number: int, clause: str) -> str:
    """Return a clause about many as it is about so many.

    Parameters
    ----------
    number
        How many.
    clause
        Begins with the word that changes: ``were written again``.
    """
    word, space, rest = clause.partition(" ")
    return clause if number != 1 else f"{SINGULAR[word]}{space}{rest}"


def alike(text: str) -> str:
    """Return a text in small letters as something to compare: what is said
    of one and of many looks alike in it.
    """
    return re.sub(r"[a-z]+", _stem, text.replace("the one ", "all "))


def _stem(match: re.Match[str]) -> str:
    word = match.group()
    return SINGULAR.get(word, word).removesuffix("s")


UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

PREFIXES = ("bytes", "kB", "MB", "GB", "TB", "PB")

RANGES = 8
"""Most ranges of offsets that are named; the JSON has them all."""


def as_duration(duration: timedelta) -> str:
    """Return a duration in the unit that suits it, such as ``1.5 h``."""
    seconds = duration / timedelta(seconds=1)
    for unit, size in UNITS:
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{seconds * 1000:.0f} ms"


def as_size(number: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for prefix in PREFIXES:
        # Not 1000: what is rounded up to it belongs to the next unit.
        if number < 999.5 or prefix == PREFIXES[-1]:
            break
        number /= 1000
    return f"{_digits(number)} {prefix}"


def as_time(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return f"{time:%Y-%m-%d %H:%M:%S}"


def as_ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    """Return ranges of offsets, the first ones if there are many."""
    named = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in ranges[:RANGES]
    ]
    if len(ranges) > RANGES:
        named.append(f"and {len(ranges) - RANGES:,} more")
    return ", ".join(named)


def _digits(number: float) -> str:
    if number >= 99.5 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.95 else f"{number:.2g}"
