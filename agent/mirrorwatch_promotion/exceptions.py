"""Errors of promotion."""

from mirrorwatch.exceptions import MirrorwatchError

__all__ = ["PromotionError"]


class PromotionError(MirrorwatchError):
    """Dashboards or rules cannot be copied from one site to another."""
