"""Drafts a configuration from that of a mirror."""

from .connectors import find_connector_mirrors
from .flows import draft_configuration
from .helm import to_values
from .model import Draft, FoundMirror
from .properties import find_dedicated_mirrors
from .strimzi import find_strimzi_mirrors
from .writer import to_yaml

__all__ = [
    "Draft",
    "FoundMirror",
    "draft_configuration",
    "find_connector_mirrors",
    "find_dedicated_mirrors",
    "find_strimzi_mirrors",
    "to_values",
    "to_yaml",
]
