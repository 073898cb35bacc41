"""Tells what went while an audit read it."""

from ..config import Config
from ..domain.audit import Plan, Unverifiable

__all__ = ["recheck"]


def recheck(config: Config, plan: Plan) -> tuple[Unverifiable, ...]:
    """Tell what is no longer retained, once everything was read.

    Returns
    -------
    tuple of Unverifiable
        Lanes, by their flow, topic and partition, of which a log start moved
        past the first offset to compare, or a topic was deleted or made anew:
        what was found of them is void. Their audited end moves all the same,
        for what went cannot be audited by the next night either.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.
    """
    raise NotImplementedError
