"""Jars of Maven Central, for the lab and the audit: pinned, fetched once."""

from .artifact import Artifact, parse_artifacts
from .download import cache_folder, fetch

__all__ = ["Artifact", "cache_folder", "fetch", "parse_artifacts"]
