"""Counters of the canary: what became of every probe, on one partition."""

from dataclasses import dataclass, fields

__all__ = ["CanaryCounts"]


@dataclass(slots=True)
class CanaryCounts:
    """Counters of one canary partition. They survive restarts.

    Notes
    -----
    Every probe ends in exactly one of five states, so at any moment ``sent ==
    failed + delivered + late + lost + unverifiable + outstanding``. ``acked``,
    ``indeterminate``, ``recovered``, ``duplicates``, ``reordered`` and
    ``negative`` are counted beside that sum.
    """

    sent: int = 0
    """Probes handed to the producer."""

    acked: int = 0
    """Probes whose source offset is known."""

    failed: int = 0
    """Probes that were never written at the source."""

    indeterminate: int = 0
    """Sends whose outcome was unknown at first."""

    delivered: int = 0
    """Probes that arrived, not known to be late."""

    late: int = 0
    """Probes that arrived after the deadline."""

    lost: int = 0
    """Probes proved not to be on the target."""

    unverifiable: int = 0
    """Probes that may have arrived and gone before they could be read, for
    instance because the target topic was re-created."""

    recovered: int = 0
    """Probes given up that arrived after all."""

    duplicates: int = 0
    """Further arrivals of a probe that had arrived."""

    reordered: int = 0
    """First arrivals behind a probe that was sent later."""

    negative: int = 0
    """Intervals below zero: the clock was stepped, or the acknowledgement
    came after the arrival."""

    def as_dict(self) -> dict[str, int]:
        """Return the counters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
