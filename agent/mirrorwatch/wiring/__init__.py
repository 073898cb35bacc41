"""Configuration -> what watches: one file for each area of a flow."""

from .flows import wire_flows
from .limits import to_limits
from .mirror import to_mirror
from .surroundings import Surroundings

__all__ = ["Surroundings", "to_limits", "to_mirror", "wire_flows"]
