"""What changes in a dashboard or a rule on its way to another site. Pure."""

from .rewriter import Rewriter, Stop
from .values import Kind, SiteValues, Translation

__all__ = ["Kind", "Rewriter", "SiteValues", "Stop", "Translation"]
