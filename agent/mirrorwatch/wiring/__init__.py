"""Configuration -> sources, workers and sinks."""

from .audit import wire_audit
from .context import LONGEST_LOOK, WiredParts, WiringContext, to_mirror
from .flows import wire_flows
from .sinks import to_receivers, wire_notify, wire_sinks

__all__ = ["LONGEST_LOOK", "WiredParts", "WiringContext", "to_mirror"]
__all__ += ["to_receivers", "wire_audit", "wire_flows", "wire_notify"]
__all__ += ["wire_sinks"]
