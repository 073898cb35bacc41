"""What it takes to say that a probe is lost."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from .probe import Probe

__all__ = ["FRESH_AFTER", "ORDER_GRACE", "Proof", "overtaken", "passed"]

ORDER_GRACE = timedelta(seconds=30)
"""How long a probe may still follow one that was written after it. With one
request in flight (Connect's default) order holds, so any grace would do; 30 s
is the producer's default ``request.timeout.ms``, the longest that a retry of
an overtaken request waits should that default have been changed unseen."""

FRESH_AFTER = timedelta(seconds=5)
"""A position counts only when it was read this long after the first arrival
from the topic's present incarnation. An older one may speak of a topic of the
same name that was deleted, whose offsets say nothing about this one's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """The mirror read past a source offset, and the target's end after that.

    Notes
    -----
    The order matters: the position is read first, then the end of the target,
    and the proof holds once everything below that end has been consumed.
    """

    origin: str
    """Where the position came from, in words."""

    position: int
    """The mirror copied or gave up everything below this source offset."""

    seen_at: datetime
    """When the position was read."""

    counts_at: datetime
    """From when it counts. A committed Connect offset does at once; an offset
    sync proves only that one record arrived, so it waits for the grace."""

    end: int
    """End of the target partition, read after the position."""

    incarnation: int
    """Incarnation of the source topic, confirmed after the position."""


def passed(
    probes: Iterable[Probe], proof: Proof, first_arrival: datetime | None
) -> Iterator[tuple[Probe, str]]:
    """Find the probes that a proof shows to be lost, with the reason.

    Parameters
    ----------
    probes
        Outstanding probes of the partition.
    proof
        Proof whose target end has been consumed.
    first_arrival
        When the first probe of the present incarnation arrived.
    """
    if first_arrival is None or proof.seen_at < first_arrival + FRESH_AFTER:
        return
    for probe in probes:
        offset = probe.source_offset
        if offset is None or probe.incarnation != proof.incarnation:
            continue
        if offset < proof.position:
            reason = (
                f"{proof.origin} is {proof.position}, past source offset "
                f"{offset}, and the target was read to {proof.end}"
            )
            yield probe, reason


def overtaken(
    probes: Iterable[Probe], now: datetime, grace: timedelta
) -> Iterator[tuple[Probe, str]]:
    """Find the probes that a later one overtook longer ago than the grace."""
    for probe in probes:
        if probe.passed_at is not None and now - probe.passed_at > grace:
            seconds = (now - probe.passed_at).total_seconds()
            yield probe, f"A later probe arrived {seconds:.0f} s before"
