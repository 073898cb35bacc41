"""The canary at work: sends probes, reads arrivals, asks for proof."""

from .runner import Canary
from .settings import CanarySettings
from .source import CanarySource
from .surveyor import Surveyor

__all__ = ["Canary", "CanarySettings", "CanarySource", "Surveyor"]
