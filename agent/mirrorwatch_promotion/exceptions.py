"""What promotion raises on purpose."""

from mirrorwatch.exceptions import MirrorwatchError

__all__ = ["PromotionError", "ServerLostError"]


class PromotionError(MirrorwatchError):
    """Dashboards or rules cannot be copied from one site to another."""


class ServerLostError(PromotionError):
    """A server at a site does not answer. It may answer later."""
