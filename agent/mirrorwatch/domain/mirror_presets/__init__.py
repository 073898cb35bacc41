"""Mirrors known by name that are of a known family: one file for each.

The name of the file, with hyphens, is the ``mirror.kind`` of the
configuration. Nothing else lists it.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from ..mirror_traits import MirrorTraits

__all__ = ["PRESETS"]


def _load() -> dict[str, MirrorTraits]:
    found = {}
    for module in iter_modules(__path__):
        preset = import_module(f"{__name__}.{module.name}").PRESET
        found[module.name.replace("_", "-")] = preset
    return found


PRESETS: Mapping[str, MirrorTraits] = _load()
