"""What kind of audit is asked for."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime

from ..selection import compile_pattern
from .plan import Window

__all__ = ["Request"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What kind of audit is asked for.

    Notes
    -----
    A nightly audit takes what was written since the last one. An ad hoc one
    takes records by their timestamps, and leaves no trace for the next night.
    """

    window: Window | None = None
    """Timestamps of an ad hoc audit; `None` for a nightly one."""

    night: date | None = None
    """Which night a nightly audit is named after; `None` for today's (UTC).
    It changes nothing but the name: what is audited is what was written since
    the last one."""

    piece: int = 1
    """Number of the piece, from 1, where a night is made up in several: see
    `Plan.more`."""

    flow: str | None = None
    """Only this flow, and the flows that it shares a target topic with."""

    topics: str | None = None
    """Only source topics whose whole name matches this regex."""

    def wants(self, flow: str, topic: str) -> bool:
        """Tell whether a source topic of a flow is asked for.

        Raises
        ------
        PatternError
            Raised if `topics` is no regex.
        """
        return (self.flow is None or self.flow == flow) and (
            self.topics is None
            or compile_pattern(self.topics).fullmatch(topic) is not None
        )

    def run_id(self, today: date) -> str:
        """Name the run that is asked for; a folder of that name can be made.

        Parameters
        ----------
        today
            The night of a nightly audit that names none.

        Returns
        -------
        str
            ``nightly-2026-11-21``, then ``nightly-2026-11-21-2`` for its
            second piece, or ``adhoc-`` and its window in UTC. Of a part of
            the topics only, with a mark for which.
        """
        if self.window is not None:
            ends = (self.window.start, self.window.end)
            name = "-".join(["adhoc", *map(_compact, ends)])
        else:
            name = f"nightly-{self.night or today}"
        if self.flow is not None or self.topics is not None:
            part = f"{self.flow}\n{self.topics}".encode()
            name += f"-part{hashlib.sha256(part).hexdigest()[:8]}"
        return name if self.piece == 1 else f"{name}-{self.piece}"


def _compact(time: datetime) -> str:
    """Return a time without colons, which Hadoop's paths cannot have."""
    time = time.astimezone(UTC)
    seconds = f"{time:%Y%m%dT%H%M%S}"
    return seconds + (f".{time:%f}" if time.microsecond else "") + "Z"
