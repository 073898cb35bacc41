"""What kind of audit is asked for."""

from dataclasses import dataclass
from datetime import date

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
