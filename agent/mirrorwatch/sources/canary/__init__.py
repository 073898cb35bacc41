"""The canary at work: sends probes, reads arrivals, asks for proof."""

from .runner import Canary
from .settings import CanarySettings, Headers, no_headers
from .source import CanarySource
from .surveyor import Surveyor

__all__ = [
    "Canary",
    "CanarySettings",
    "CanarySource",
    "Headers",
    "Surveyor",
    "no_headers",
]
