"""Mirrors known by name that are of a known family: one file for each.

The name of the file, with hyphens, is the ``mirror.kind`` of the
configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

__all__ = ["PRESETS", "MirrorPreset"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorPreset:
    """What is known of one mirror beside its family."""

    title: str
    """Its name in reasons."""

    naming: Literal["default", "identity"]
    """How it names topics where the configuration does not say it."""

    creates_topics: bool
    """Whether it creates topics at the target as they are at the source."""


def _load() -> dict[str, MirrorPreset]:
    found = {}
    for module in iter_modules(__path__):
        preset = import_module(f"{__name__}.{module.name}").PRESET
        found[module.name.replace("_", "-")] = preset
    return found


PRESETS: Mapping[str, MirrorPreset] = _load()
"""By ``mirror.kind``. All are of the family of `opaque`."""
