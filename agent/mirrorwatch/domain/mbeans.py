"""Figures as Java programs offer them, in whatever way they were read."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

__all__ = ["MBean", "Wanted", "parse_name", "unquote"]

_PROPERTY = re.compile(r'([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, kw_only=True, slots=True)
class MBean:
    """One MBean, at one moment."""

    domain: str
    """What stands before the colon of its name."""

    properties: Mapping[str, str]
    """What stands behind it, without quotes."""

    attributes: Mapping[str, float | str]
    """What it says. What is not a number (NaN), or without end, is absent:
    nothing happened in the window, or ever, which is not zero."""

    @property
    def type(self) -> str:
        """What kind of MBean it is, within its domain."""
        return self.properties.get("type", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """MBeans that are to be read."""

    domain: str
    """What stands before the colon of their names."""

    type: str
    """Their property ``type``."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Their other properties, exactly these, each with a pattern of values
    as in the names of MBeans: ``*`` is anything."""

    numbers: tuple[str, ...] = ()
    """Attributes that are numbers."""

    texts: tuple[str, ...] = ()
    """Attributes that are words."""

    @property
    def pattern(self) -> str:
        """The pattern of their names."""
        keys = "".join(f",{key}={value}" for key, value in self.keys.items())
        return f"{self.domain}:type={self.type}{keys}"

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes."""
        return self.numbers + self.texts

    def covers(self, properties: Mapping[str, str]) -> bool:
        """Tell whether an MBean of this domain and type is wanted."""
        return properties.keys() == self.keys.keys() and all(
            fnmatchcase(properties[key], unquote(pattern))
            for key, pattern in self.keys.items()
        )

    def take(self, found: Mapping[str, object]) -> dict[str, float | str]:
        """Return what was wanted of what was found; nothing else is let in.

        Attributes that an MBean lacks or cannot give are left out.
        """
        taken: dict[str, float | str] = {}
        for name in self.numbers:
            value = found.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                taken[name] = float(value)
        for name in self.texts:
            value = found.get(name)
            if isinstance(value, str):
                taken[name] = value
        return taken


def parse_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the domain of an MBean's name, and its properties.

    Order does not matter, and quotes that Kafka puts around names with
    unusual letters are taken off.
    """
    domain, _, rest = name.partition(":")
    return domain, {
        match[1]: unquote(match[2]) for match in _PROPERTY.finditer(rest)
    }


def unquote(value: str) -> str:
    """Return the value of a property without the quotes around it."""
    if len(value) < 2 or not value.startswith('"'):
        return value
    return _ESCAPED.sub(
        lambda match: "\n" if match[1] == "n" else match[1], value[1:-1]
    )
