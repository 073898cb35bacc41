"""Replacement of one site's values by those of another."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mirrorwatch.exceptions import ConfigError

from .item import Item

__all__ = ["ValueMap", "find_leftovers", "make_map"]


SHORTEST = 4
"""Characters of a value that is looked for among leftovers: shorter ones are
parts of other words."""


class ValueMap:
    """Values of one site and those of another in their place.

    Parameters
    ----------
    whole
        Replacements of whole strings of JSON.
    inside
        Replacements of whole tokens within longer texts.
    """

    def __init__(
        self, whole: Mapping[str, str], inside: Mapping[str, str]
    ) -> None:
        self._whole, self._inside = whole, inside
        longest_first = sorted(inside, key=len, reverse=True)
        tokens = "|".join(map(re.escape, longest_first))
        self._tokens = re.compile(rf"(?<!\w)(?:{tokens})(?![\w-]|[.:]\w)")

    def apply(self, node: Any) -> Any:
        """Return a document of JSON with the other site's values."""
        match node:
            case str() if node in self._whole:
                return self._whole[node]
            case str() if self._inside:
                return self._tokens.sub(lambda m: self._inside[m[0]], node)
            case dict():
                return {key: self.apply(value) for key, value in node.items()}
            case list():
                return [self.apply(value) for value in node]
            case _:
                return node

    def apply_to(self, item: Item) -> Item:
        """Return an item as the other site needs it."""
        content = self.apply(item.content)
        name = self.apply(item.name)
        if item.kind == "handler":
            name = f"{content['topic']}/{content['id']}"
        return replace(
            item, content=content, name=name, title=self.apply(item.title)
        )


def make_map(
    source: Mapping[str, str],
    target: Mapping[str, str],
    inside: Mapping[str, str] | None = None,
) -> ValueMap:
    """Return the replacements of the names that both sites have.

    Parameters
    ----------
    source
        Values of the site that is copied from.
    target
        Values of the site that is copied to.
    inside
        Further replacements within texts.

    Raises
    ------
    ConfigError
        Raised if one value has two replacements.

    Notes
    -----
    Texts are not parsed: a value is replaced within one where it stands
    between quotes, or anywhere if it is an address.
    """
    whole = dict[str, str]()
    for name, old in source.items():
        new = target.get(name, old)
        if whole.setdefault(old, new) != new:
            raise ConfigError(
                f"values.{name}: another name has the same value at the site "
                "to copy from, and another one at the site to copy to"
            )
    tokens = dict(inside or {})
    for old, new in whole.items():
        quotes = ("",) if "://" in old else ("'", '"')
        tokens |= {f"{q}{old}{q}": f"{q}{new}{q}" for q in quotes}
    return ValueMap(whole, tokens)


def find_leftovers(
    text: str, source: Mapping[str, str], target: Mapping[str, str]
) -> Iterator[str]:
    """Yield the names of values of the one site that a copy still has."""
    for name, old in source.items():
        if (
            len(old) >= SHORTEST
            and target.get(name) != old
            and re.search(rf"(?<![\w-]){re.escape(old)}(?![\w-])", text)
        ):
            yield name
