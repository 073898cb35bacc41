"""What differs between sites, and what it is called at the other one."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from mirrorwatch.secrets import looks_secret

from .item import hide

__all__ = [
    "EVERYWHERE",
    "Rewriter",
    "SiteValues",
    "Translation",
    "ValueKind",
    "find_leftovers",
]


class ValueKind(StrEnum):
    """What a value names; each kind has names of its own."""

    DATABASE = "databases"
    """An InfluxDB database, or bucket."""

    RETENTION_POLICY = "retention_policies"
    """A retention policy."""

    SOURCE = "sources"
    """A source of Chronograf, by its id."""

    DATASOURCE = "datasources"
    """A data source of Grafana, by its uid."""

    TOPIC_PREFIX = "topic_prefixes"
    """How the names of measurements, of their topics and of alert topics
    begin."""

    HANDLER = "handlers"
    """Whom an alert reaches: a channel, an address, a key."""

    ENDPOINT = "endpoints"
    """A URL or a host."""


SiteValues = Mapping[ValueKind, Mapping[str, str]]
"""Values of one site by their logical names, which all sites share."""

EVERYWHERE: Mapping[ValueKind, frozenset[str]] = {
    # "" is the default of whoever reads it; the rest are names that the
    # products give themselves (InfluxDB, Chronograf's rules).
    ValueKind.DATABASE: frozenset({"", "_internal", "chronograf"}),
    ValueKind.RETENTION_POLICY: frozenset(
        {"", "autogen", "default", "monitor"}
    ),
    ValueKind.SOURCE: frozenset({"", "dynamic", "cs"}),
    ValueKind.DATASOURCE: frozenset(
        {"", "grafana", "-- Grafana --", "-- Mixed --", "-- Dashboard --"}
    ),
    ValueKind.HANDLER: frozenset({""}),
}
"""What is called the same at every site."""

END_OF_ADDRESS = "/?#"
"""What may follow an address that a longer one begins with: not a colon, as
another port is another server."""


PLAIN = re.compile(r"[\w.-]+")
"""A prefix that is a regex for itself."""

UNESCAPED = re.compile(r"\\([^.])|\\\.|\[\.\]")
"""What stands for one character of a name in a regex."""


@dataclass(frozen=True, slots=True)
class Translation:
    """From the values of one site to those of another."""

    source: SiteValues
    """Values where things come from."""

    target: SiteValues
    """Values where they go to."""

    everywhere: Mapping[ValueKind, frozenset[str]] = field(
        default_factory=lambda: EVERYWHERE
    )
    """Values that are the same at all sites."""

    @property
    def inverse(self) -> "Translation":
        """The way back."""
        return Translation(self.target, self.source, self.everywhere)

    def exact(self, kind: ValueKind, value: str) -> str | None:
        """Return what a value is called at the other site.

        Returns
        -------
        str or None
            `None` if that is not known, or if the way back would lead
            elsewhere.
        """
        found = self._exact(kind, value)
        if found is None or self.inverse._exact(kind, found) != value:  # noqa: SLF001
            return None
        return found

    def address(self, value: str) -> str | None:
        """Return an address of the other site; `None` as with `exact`."""
        found = self._address(value)
        if found is None or self.inverse._address(found) != value:  # noqa: SLF001
            return None
        return found

    def prefixed(self, value: str) -> str | None:
        """Return a name with the other site's prefix, if it has one of ours.

        Returns
        -------
        str or None
            `None` if the way back would lead elsewhere: the name begins as
            names of the other site do.
        """
        found = self._prefixed(value)
        return found if self.inverse._prefixed(found) == value else None  # noqa: SLF001

    def knows_address(self, value: str) -> bool:
        """Tell whether a text is, as a whole, an address of this site."""
        return value in self.source.get(ValueKind.ENDPOINT, {}).values()

    def why_not(self, kind: ValueKind, value: str) -> str:
        """Say why a value has no translation."""
        there = self.target.get(kind, {})
        for name, old in self.source.get(kind, {}).items():
            if old == value or (
                kind is ValueKind.ENDPOINT and value.startswith(old)
            ):
                key = f"{kind}.{name}"
                if name in there:
                    return f"is {key}, but the way back leads elsewhere"
                return f"is {key}, for which the other site has no value"
        return "is not in the map of both sites"

    def regex(self, pattern: str) -> str | None:
        """Return a regex with the other site's prefixes.

        Returns
        -------
        str or None
            `None` if it names a prefix in a way that cannot be followed, or
            if the way back would lead elsewhere.
        """
        found = self._regex(pattern)
        if found is None or self.inverse._regex(found) != pattern:  # noqa: SLF001
            return None
        return found

    def has_escaped_prefix(self, text: str) -> bool:
        """Tell whether a text is a regex for names of either site."""
        known = (
            prefix
            for site in (self.source, self.target)
            for prefix in site.get(ValueKind.TOPIC_PREFIX, {}).values()
        )
        return any(
            _escape(prefix) in text for prefix in known if "." in prefix
        )

    def _pairs(self, kind: ValueKind) -> Iterator[tuple[str, str]]:
        """Yield old and new values, the longest first."""
        there = self.target.get(kind, {})
        pairs = [
            (value, there[name])
            for name, value in self.source.get(kind, {}).items()
            if name in there
        ]
        yield from sorted(pairs, key=lambda pair: -len(pair[0]))

    def _exact(self, kind: ValueKind, value: str) -> str | None:
        found = {new for old, new in self._pairs(kind) if old == value}
        if not found and value in self.everywhere.get(kind, ()):
            return value
        # Two names of one value, which the other site tells apart.
        return found.pop() if len(found) == 1 else None

    def _address(self, value: str) -> str | None:
        same = ((a, a) for a in self.everywhere.get(ValueKind.ENDPOINT, ()))
        pairs = [*self._pairs(ValueKind.ENDPOINT), *same]
        for old, new in sorted(pairs, key=lambda pair: -len(pair[0])):
            rest = value.removeprefix(old)
            if value.startswith(old) and (
                not rest or rest[0] in END_OF_ADDRESS
            ):
                return new + rest
        return None

    def _regex(self, pattern: str) -> str | None:
        pairs = dict(self._pairs(ValueKind.TOPIC_PREFIX))
        if not pairs:
            return pattern
        escaped = {_escape(old): _escape(new) for old, new in pairs.items()}
        # Dots are seldom escaped, and stand for themselves as well.
        escaped |= {
            old: new
            for old, new in pairs.items()
            if PLAIN.fullmatch(old) and PLAIN.fullmatch(new)
        }
        starts = re.compile(
            rf"(?<![^/^(|:])(?:{'|'.join(map(re.escape, escaped))})"
        )
        rest = UNESCAPED.sub(r"\1.", starts.sub("", pattern))
        if any(old in rest for old, new in pairs.items() if old != new):
            return None
        return starts.sub(lambda match: escaped[match[0]], pattern)

    def _prefixed(self, value: str) -> str:
        for old, new in self._pairs(ValueKind.TOPIC_PREFIX):
            if value.startswith(old):
                return new + value.removeprefix(old)
        return value


def _escape(prefix: str) -> str:
    """Write a prefix as people do in a regex: dots are escaped."""
    return re.sub(r"[.\\+*?()|\[\]{}^$/]", r"\\\g<0>", prefix)


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
    ValueKind.DATABASE: "database",
    ValueKind.RETENTION_POLICY: "retention policy",
    ValueKind.SOURCE: "source",
    ValueKind.DATASOURCE: "data source",
    ValueKind.TOPIC_PREFIX: "topic prefix",
    ValueKind.HANDLER: "handler",
    ValueKind.ENDPOINT: "endpoint",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """A value that cannot be taken to the other site."""

    place: str
    """Where it is, as a person finds it."""

    kind: ValueKind
    """What it names."""

    value: str
    """The value."""

    why: str
    """What is wrong with it."""

    def __str__(self) -> str:
        secret = self.kind is ValueKind.HANDLER and looks_secret(self.place)
        shown = "(hidden)" if secret else repr(hide(self.value))
        return f"{self.place}: {NAMES[self.kind]} {shown} {self.why}"


@dataclass(slots=True)
class Rewriter:
    """Rewrites the values of one item, and collects what stops it."""

    translation: Translation
    """From which site to which."""

    stops: list[Stop] = field(default_factory=list)
    """What is not known."""

    uses: dict[str, set[ValueKind]] = field(default_factory=dict)
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

    def stop(self, kind: ValueKind, value: str, why: str | None = None) -> str:
        """Note a value that is not known, and return it as it is."""
        why = why or self.translation.why_not(kind, value)
        self.stops.append(
            Stop(place=": ".join(self._place), kind=kind, value=value, why=why)
        )
        return value

    def exact(self, kind: ValueKind, value: str) -> str:
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
            return self.stop(ValueKind.TOPIC_PREFIX, value, why)
        return found

    def address(self, value: str) -> str:
        """Rewrite a URL, or the name of a host."""
        if TEMPLATE.match(value):
            return value
        found = self.translation.address(value)
        return self.stop(ValueKind.ENDPOINT, value) if found is None else found

    def value(self, kind: ValueKind, value: str) -> str:
        """Rewrite a value by what it names."""
        if kind is ValueKind.TOPIC_PREFIX:
            return self.prefixed(value)
        if kind is ValueKind.ENDPOINT:
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
            return self.stop(ValueKind.TOPIC_PREFIX, pattern, why)
        return found


SHORTEST = 4
"""Shorter values are too often parts of other words."""

TOLD = (
    ValueKind.DATABASE,
    ValueKind.TOPIC_PREFIX,
    ValueKind.HANDLER,
    ValueKind.ENDPOINT,
)
"""Names of retention policies are everyday words, ids are numbers."""


def find_leftovers(
    text: str, translation: Translation, hosts: Iterable[str]
) -> Iterator[str]:
    """Yield values of the one site that a text still has.

    Parameters
    ----------
    text
        A dashboard or a rule as the other site gets it.
    translation
        From the one site to the other.
    hosts
        Names of hosts of the one site.

    Notes
    -----
    They stand in texts for people, or where nothing tells what they are: a
    person has to look at them. Nothing is stopped by them, as the name of a
    database may well be a word of a message.
    """
    there = {v for kind in translation.target.values() for v in kind.values()}
    known = (translation.source.get(kind, {}) for kind in TOLD)
    ours = (value for values in known for value in values.values())
    for value in dict.fromkeys([*ours, *hosts]):
        if len(value) < SHORTEST:
            continue
        found = re.search(rf"(?<![\w.-]){re.escape(value)}(?!\w)", text)
        if found and not any(value in other for other in there):
            yield value
