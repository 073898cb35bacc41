"""Figures of an audit as a person reads them."""

from datetime import datetime, timedelta

from ..words import counted

__all__ = ["as_duration", "as_ranges", "as_size", "as_time", "counted"]

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
