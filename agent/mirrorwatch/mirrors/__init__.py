"""One file for each mirror: where its positions, states and metrics are."""

from .mirrormaker2 import MirrorMaker2

__all__ = ["MirrorMaker2"]
