"""Freezes what an audit compares, before anything is read."""

from collections.abc import Callable
from datetime import datetime

from ..config import Config
from ..domain.audit import Ends, Plan, Request

__all__ = ["freeze"]


def freeze(
    config: Config,
    request: Request,
    ends: Ends,
    *,
    clock: Callable[[], datetime],
) -> Plan:
    """Freeze what one audit compares.

    Parameters
    ----------
    config
        The whole configuration.
    request
        What is asked for.
    ends
        Up to where partitions were audited; of no concern to an ad hoc audit.
    clock
        Gives the time.

    Returns
    -------
    Plan
        Where a night was missed, only the first piece of what is left, of a
        day at most: its `more` is true, and the same is to be asked for again
        with `ends_after` it, and the number of the next piece.

    Raises
    ------
    SourceUnavailableError
        Raised if a cluster cannot be reached.
    SourceError
        Raised if it refuses.
    ConfigError
        Raised if the mirror's topics cannot be derived.
    """
    raise NotImplementedError
