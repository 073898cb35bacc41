"""How figures of several clients, tasks or partitions become one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..domain.mbeans import MBean

__all__ = ["Rule", "combine", "highest", "lowest", "mean", "total"]

_How = Callable[[Sequence[tuple[float, float | None]]], float]
"""Makes one figure of several, each with its weight if that is known."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Where a figure comes from, and how several of it become one."""

    attribute: str
    """Attribute of the MBeans."""

    how: _How
    weight: str | None = None
    """Attribute by which a mean is weighted."""

    scale: float = 1
    """What the attribute is multiplied by to have the figure's unit."""


def total(attribute: str) -> Rule:
    """Add up: rates and numbers of things."""
    return Rule(attribute, lambda found: sum(value for value, _ in found))


def highest(attribute: str, scale: float = 1) -> Rule:
    """Take the highest: the highest of highest ones is one of them."""
    return Rule(attribute, _highest, scale=scale)


def lowest(attribute: str, scale: float = 1) -> Rule:
    """Take the lowest."""
    return Rule(attribute, lambda found: min(v for v, _ in found), scale=scale)


def mean(attribute: str, weight: str, scale: float = 1) -> Rule:
    """Take the mean, weighted by a rate.

    Where rates are not exported or all zero, it is the highest of the means:
    what is slow must not be hidden by what idles.
    """
    return Rule(attribute, _mean, weight, scale)


def combine(
    rules: Mapping[str, Rule], mbeans: Iterable[MBean]
) -> dict[str, float]:
    """Make one figure by each rule; without any value there is none."""
    given = [mbean.attributes for mbean in mbeans]
    made = {}
    for name, rule in rules.items():
        found = [
            (value * rule.scale, _number(attributes.get(rule.weight or "")))
            for attributes in given
            if isinstance(value := attributes.get(rule.attribute), float)
        ]
        if found:
            made[name] = rule.how(found)
    return made


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _highest(found: Sequence[tuple[float, float | None]]) -> float:
    return max(value for value, _ in found)


def _mean(found: Sequence[tuple[float, float | None]]) -> float:
    whole = sum(weight or 0 for _, weight in found)
    if whole <= 0:
        return _highest(found)
    return sum(value * (weight or 0) for value, weight in found) / whole
