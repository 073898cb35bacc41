"""Counters of one topic. They only grow, and outlive its ids."""

from dataclasses import dataclass

__all__ = ["Tally"]


@dataclass(kw_only=True, slots=True)
class Tally:
    """Records of one topic since the state file was made."""

    skipped: int = 0
    """Source records proved to have been passed over."""

    recovered: int = 0
    """Those of them that were copied after all."""

    repeated: int = 0
    """Target records added beyond the first copy of each source record."""

    unverifiable: int = 0
    """Source offsets of which nobody can tell any more."""

    compacted: int = 0
    """Source offsets that compaction explains, or hides."""
