"""Rewrites single values and notes what it does not know."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .hiding import SECRET, hide
from .values import Kind, Translation

__all__ = ["Rewriter", "Stop"]

URL = re.compile(r"""\b[a-z][a-z0-9+]*://[^\s'"<>()`\\|]+""", re.IGNORECASE)
"""A URL inside other text. What closes it in prose is no part of it."""

CLOSING = ".,;:!"
"""Punctuation after a URL."""

TEMPLATE = re.compile(r":\w+:|\$\w+|\$\{[^}]*\}|\[\[[^\]]*\]\]|\{\{[^}]*\}\}")
"""A variable of Chronograf, Grafana or Kapacitor inside a value: what is put
there is chosen when it is looked at."""

VARIABLE = re.compile(r"\w+")
"""Its name: what follows may be a format, as in ``${name:regex}``."""

NAMES = {
    Kind.DATABASE: "database",
    Kind.RETENTION_POLICY: "retention policy",
    Kind.SOURCE: "source",
    Kind.DATASOURCE: "data source",
    Kind.TOPIC_PREFIX: "topic prefix",
    Kind.HANDLER: "handler",
    Kind.ENDPOINT: "endpoint",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """A value that cannot be taken to the other site."""

    place: str
    """Where it is, as a person finds it."""

    kind: Kind
    """What it names."""

    value: str
    """The value."""

    why: str
    """What is wrong with it."""

    def __str__(self) -> str:
        secret = self.kind is Kind.HANDLER and SECRET.search(self.place)
        shown = "(hidden)" if secret else repr(hide(self.value))
        return f"{self.place}: {NAMES[self.kind]} {shown} {self.why}"


@dataclass(slots=True)
class Rewriter:
    """Rewrites the values of one item, and collects what stops it."""

    translation: Translation
    """From which site to which."""

    stops: list[Stop] = field(default_factory=list)
    """What is not known."""

    uses: dict[str, set[Kind]] = field(default_factory=dict)
    """What variables stand for, by their names."""

    _place: list[str] = field(default_factory=list)

    def learn(self, rewrite: Callable[["Rewriter"], object]) -> None:
        """Learn what variables stand for, by rewriting all once for nothing.

        Notes
        -----
        They are declared anywhere, and used anywhere: ``FROM "$db".."m"``
        makes a database of the value of ``db``.
        """
        ahead = Rewriter(self.translation)
        rewrite(ahead)
        self.uses = ahead.uses

    @contextmanager
    def at(self, *place: str) -> Iterator[None]:
        """Say where the following values are."""
        self._place += place
        yield
        del self._place[len(self._place) - len(place) :]

    def stop(self, kind: Kind, value: str, why: str | None = None) -> str:
        """Note a value that is not known, and return it as it is."""
        why = why or self.translation.why_not(kind, value)
        self.stops.append(
            Stop(place=": ".join(self._place), kind=kind, value=value, why=why)
        )
        return value

    def exact(self, kind: Kind, value: str) -> str:
        """Rewrite a value that names one thing of a kind."""
        if TEMPLATE.fullmatch(value):
            if name := VARIABLE.search(value):
                self.uses.setdefault(name[0], set()).add(kind)
            return value
        found = self.translation.exact(kind, value)
        return self.stop(kind, value) if found is None else found

    def prefixed(self, value: str) -> str:
        """Rewrite the prefix of a name, if it has a site's."""
        found = self.translation.prefixed(value)
        if found is None:
            why = "begins as names of the other site do"
            return self.stop(Kind.TOPIC_PREFIX, value, why)
        return found

    def address(self, value: str) -> str:
        """Rewrite a URL, or the name of a host."""
        if TEMPLATE.match(value):
            return value
        found = self.translation.address(value)
        return self.stop(Kind.ENDPOINT, value) if found is None else found

    def value(self, kind: Kind, value: str) -> str:
        """Rewrite a value by what it names."""
        if kind is Kind.TOPIC_PREFIX:
            return self.prefixed(value)
        if kind is Kind.ENDPOINT:
            return self.address(value) if value else value
        return self.exact(kind, value)

    def prose(self, text: str) -> str:
        """Rewrite the URLs in a text for people."""

        def replace(match: re.Match[str]) -> str:
            url = match[0].rstrip(CLOSING)
            return self.address(url) + match[0][len(url) :]

        return URL.sub(replace, text)

    def text(self, text: str) -> str:
        """Rewrite a text that programs compare: a tag's value, say."""
        if self.translation.knows_address(text):
            return self.address(text)
        if URL.search(text):
            return self.prose(text)
        if self.translation.has_escaped_prefix(text):
            return self.regex(text)
        return self.prefixed(text)

    def pattern(self, text: str) -> str:
        """Rewrite a text that is a regex, or an address used as one."""
        known = self.translation.knows_address(text)
        return (
            self.text(text)
            if known or URL.search(text)
            else (self.regex(text))
        )

    def regex(self, pattern: str) -> str:
        """Rewrite the prefixes with which names begin in a regex."""
        found = self.translation.regex(pattern)
        if found is None:
            why = "is a regex that the map cannot follow for sure"
            return self.stop(Kind.TOPIC_PREFIX, pattern, why)
        return found
