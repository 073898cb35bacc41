"""How far the mirror is behind on every topic."""

from .watch import LagWatch

__all__ = ["LagWatch"]
