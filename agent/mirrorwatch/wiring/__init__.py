"""Configuration -> sources, workers and sinks."""

from .audit import to_results, wire_audit
from .context import LONGEST_LOOK, WiredParts, WiringContext, to_mirror
from .flows import wire_flows
from .sinks import to_receivers, wire_notify, wire_sinks

__all__ = ["LONGEST_LOOK", "WiredParts", "WiringContext", "to_mirror"]
__all__ += ["to_receivers", "to_results", "wire_audit", "wire_flows"]
__all__ += ["wire_notify", "wire_sinks"]
