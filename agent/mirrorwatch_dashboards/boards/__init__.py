"""All dashboards, in their order."""

from .audit import AUDIT
from .mirror import MIRROR
from .overview import OVERVIEW
from .topics import TOPICS

__all__ = ["BOARDS"]


BOARDS = (OVERVIEW, TOPICS, MIRROR, AUDIT)
"""In the order in which to look at them."""
