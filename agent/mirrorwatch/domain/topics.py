"""Which topics a flow carries, what they are called at the target, and which
of them a transform filters.
"""

import re
import warnings
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_letters, digits

from .report import counted

__all__ = [
    "HEARTBEATS",
    "LONGEST_NAME",
    "MM2_EXCLUDED",
    "NAME_CHARACTERS",
    "TOPIC_PLACEHOLDER",
    "DefaultNaming",
    "FilteredRule",
    "FilteredTopics",
    "FormatNaming",
    "IdentityNaming",
    "Naming",
    "PatternError",
    "ReplicatedTopics",
    "Selection",
    "TopicPattern",
    "compile_pattern",
    "ends_as_internal",
    "filtered_note",
    "is_beyond",
    "is_internal",
    "split_patterns",
]


HEARTBEATS = "heartbeats"
"""End of the names that MirrorMaker 2's identity policy prefixes after all."""

TOPIC_PLACEHOLDER = "${topic}"
"""Stands for the source topic in a naming format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DefaultNaming:
    """Names are prefixed: alias, separator, topic.

    Notes
    -----
    MirrorMaker 2 takes everything before the first separator for the alias,
    so it misreads names of an alias that contains the separator. Here the
    alias is known, so names are read back exactly.
    """

    alias: str
    separator: str = "."

    @property
    def prefix(self) -> str:
        return f"{self.alias}{self.separator}"

    @property
    def keeps_names(self) -> bool:
        """Return whether a topic has the same name on both sides."""
        return not self.prefix

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        return f"{self.prefix}{topic}"

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        if not remote.startswith(self.prefix):
            return None
        return remote.removeprefix(self.prefix) or None


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityNaming:
    """Names are kept, but for heartbeats.

    Notes
    -----
    ``IdentityReplicationPolicy`` names every topic that *ends* in
    ``heartbeats`` as the default policy would, so that heartbeats of several
    sources stay apart. This goes for a user's ``my-heartbeats`` too.
    """

    alias: str
    separator: str = "."

    @property
    def prefix(self) -> str:
        return ""

    @property
    def keeps_names(self) -> bool:
        """Return whether a topic has the same name on both sides."""
        return True

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        if topic.endswith(HEARTBEATS):
            return self._prefixed.remote(topic)
        return topic

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        if remote.endswith(HEARTBEATS):
            topic = self._prefixed.origin(remote)
            # "summit.xheartbeats" of alias "summit.x" would leave "".
            return topic if topic and topic.endswith(HEARTBEATS) else None
        return remote or None

    @property
    def _prefixed(self) -> DefaultNaming:
        return DefaultNaming(alias=self.alias, separator=self.separator)


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatNaming:
    """Names follow a format that holds ``${topic}`` once."""

    format: str

    def __post_init__(self) -> None:
        if self.format.count(TOPIC_PLACEHOLDER) != 1:
            raise ValueError(
                f"A naming format holds {TOPIC_PLACEHOLDER} exactly once"
            )

    @property
    def prefix(self) -> str:
        return self.format.split(TOPIC_PLACEHOLDER)[0]

    @property
    def suffix(self) -> str:
        return self.format.split(TOPIC_PLACEHOLDER)[1]

    @property
    def keeps_names(self) -> bool:
        """Return whether a topic has the same name on both sides."""
        return self.format == TOPIC_PLACEHOLDER

    def remote(self, topic: str) -> str:
        """Return the name on the target of a source topic."""
        return f"{self.prefix}{topic}{self.suffix}"

    def origin(self, remote: str) -> str | None:
        """Return the source topic behind a target name, if it is one."""
        prefix, suffix = self.prefix, self.suffix
        if len(remote) <= len(prefix) + len(suffix):
            return None
        if not (remote.startswith(prefix) and remote.endswith(suffix)):
            return None
        return remote.removeprefix(prefix).removesuffix(suffix)


Naming = DefaultNaming | IdentityNaming | FormatNaming


MM2_EXCLUDED = (r"mm2.*\.internal", r".*\.replica", r"__.*")
"""MirrorMaker 2's own default of ``topics.exclude`` since Kafka 4.0. Before,
the first was ``.*[\\-\\.]internal``."""


class PatternError(ValueError):
    """A pattern is no regex that Java and Python read alike.

    Parameters
    ----------
    reason
        Reason why the pattern cannot be used.
    position
        Index in the pattern, counted from 0; `None` if unknown.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        where = "" if position is None else f" at position {position}"
        super().__init__(f"not a usable regex: {reason}{where}")
        self.position = position


NAME_CHARACTERS = frozenset(ascii_letters + digits + "._-")
"""All that Kafka allows in a topic name."""

LONGEST_NAME = 249
"""Characters of a topic name, at most."""

LONGEST_PATTERN = 100_000
"""Characters; a list of 1,000 topics has less."""

TopicPattern = re.Pattern[str]

_NESTED_REPEATS = re.compile(r"(?<!\\)[*+][?+]?\)[*+{]")


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> TopicPattern:
    r"""Compile a topic pattern.

    Raises
    ------
    PatternError
        Raised if it is no regex, if Java would read it differently, or if
        it repeats a repeat, which could take for ever.

    Notes
    -----
    MirrorMaker 2 uses Java's regexes. For topic names the two agree, with
    these exceptions. Java only, refused here as Python refuses them:
    ``\Q...\E``, ``\p{...}``, ``\h``, ``(?<name>...)``. Java only, refused
    here because Python reads them as something else: ``[a-z&&[^b]]`` and
    ``[a[bc]]``. Python only, refused because Java would fail: ``(?P<name>``.
    ``\d`` and ``\w`` mean ASCII, as in Java.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"too large: at most {LONGEST_PATTERN} characters")
    python_only = pattern.find("(?P")
    if python_only >= 0:
        raise PatternError("(?P...) is unknown to Java", python_only)
    repeats = _NESTED_REPEATS.search(pattern)
    if repeats is not None:
        raise PatternError(
            "nested repeats could take for ever on a long name",
            repeats.start(),
        )
    nested = _find_nested_set(pattern)
    if nested is not None:
        raise PatternError(
            "Java and Python read a set in a set differently", nested
        )
    try:
        with warnings.catch_warnings():
            # Set operations are a FutureWarning in Python.
            warnings.simplefilter("error")
            return re.compile(pattern, re.ASCII)
    except re.error as e:
        raise PatternError(e.msg, e.pos) from e
    except (FutureWarning, DeprecationWarning) as e:
        raise PatternError(
            "Java and Python read set operations (&&, --) differently"
        ) from e
    except (OverflowError, RecursionError) as e:
        raise PatternError("too large") from e


def _find_nested_set(pattern: str) -> int | None:
    """Return where a set opens inside of a set; Python takes it as text."""
    tokens = re.finditer(r"\\.|\[\^?\]?|\]", pattern, re.DOTALL)
    inside = False
    for token in tokens:
        if token[0].startswith("["):
            if inside:
                return token.start()
            inside = True
        elif token[0] == "]":
            inside = False
    return None


def split_patterns(text: str) -> tuple[str, ...]:
    """Split MirrorMaker 2's ``topics`` or ``topics.exclude`` as it does.

    Notes
    -----
    Kafka splits at every comma, so a pattern that holds one (``a{1,2}``) is
    torn apart there too.
    """
    return tuple(p for p in re.split(r"\s*,\s*", text.strip()) if p)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The topics that a flow carries: included and not excluded.

    A pattern must match the whole name, as in MirrorMaker 2.
    """

    include: tuple[str, ...] = (".*",)
    exclude: tuple[str, ...] = ()

    def matches(self, topic: str) -> bool:
        """Return whether a source topic is carried."""
        # Without patterns, which is usual, nothing is made for each topic.
        return (
            bool(self.include)
            and any(p.fullmatch(topic) for p in self._include)
            and not any(p.fullmatch(topic) for p in self._exclude)
        )

    @cached_property
    def _include(self) -> tuple[TopicPattern, ...]:
        return tuple(compile_pattern(p) for p in self.include)

    @cached_property
    def _exclude(self) -> tuple[TopicPattern, ...]:
        return tuple(compile_pattern(p) for p in self.exclude)


_INTERNAL = re.compile(
    r"mm2.*internal|.*checkpoints.*internal|__.*|\..*", re.ASCII
)
"""Internal topics that no mirror carries, whatever its filter says
(``ReplicationPolicy.isInternalTopic``, KIP-1074)."""


def is_internal(topic: str) -> bool:
    """Return whether no mirror carries a topic, whatever its filter says."""
    return _INTERNAL.fullmatch(topic) is not None or ends_as_internal(topic)


def ends_as_internal(topic: str) -> bool:
    """Return whether MirrorMaker before Kafka 4.0 never copies a topic, by
    the end of its name (``ReplicationPolicy.isInternalTopic``).
    """
    return topic.endswith((".internal", "-internal"))


@dataclass(frozen=True, kw_only=True)
class ReplicatedTopics:
    """The topics of one flow."""

    selection: Selection
    naming: Naming
    target_alias: str

    def carries(self, topic: str) -> bool:
        """Return whether a source topic is carried."""
        return (
            self.selection.matches(topic)
            and not _INTERNAL.fullmatch(topic)
            and not self._origins(topic)
        )

    def is_mistaken(self, topic: str, there: Container[str]) -> bool:
        """Return whether a source topic is only taken for a copy.

        Parameters
        ----------
        topic
            Name at the source.
        there
            Names at the target: a copy has its original there.
        """
        origins = self._origins(topic)
        return (
            bool(origins)
            and self.selection.matches(topic)
            and not _INTERNAL.fullmatch(topic)
            and not any(origin in there for origin in origins)
        )

    def names(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the carried ones of these topics, with their names there."""
        found = {}
        for topic in topics:
            if topic not in self._known:
                self._known[topic] = (
                    self.naming.remote(topic) if self.carries(topic) else None
                )
            remote = self._known[topic]
            if remote is not None:
                found[topic] = remote
        return found

    @cached_property
    def _known(self) -> dict[str, str | None]:
        return {}

    def _origins(self, topic: str) -> tuple[str, ...]:
        """Return what a topic that came from the target may be called there;
        none if it did not (``MirrorSourceConnector.isCycle``).

        Notes
        -----
        The default policy takes every part of a name but the last for an
        alias that it passed, even where it never was one.
        """
        if not isinstance(self.naming, DefaultNaming) or not (
            self.naming.separator
        ):
            return ()
        parts = topic.split(self.naming.separator)
        return tuple(
            self.naming.separator.join(parts[number:])
            for number, part in enumerate(parts[:-1], start=1)
            if part == self.target_alias
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FilteredRule:
    """Which topics a transform filters, and how much of them."""

    pattern: str
    at_most: float | None = None
    """Share of a topic's records that may be missing; `None` for all."""


@dataclass(frozen=True, kw_only=True)
class FilteredTopics:
    """The filtered topics of one flow.

    Notes
    -----
    What is missing there is counted and no alarm, within what is allowed. A
    loss that no transform causes is one as anywhere else: records that
    expired, that were never read, or that MirrorMaker failed to write.
    """

    rules: tuple[FilteredRule, ...] = ()
    """The first one that matches a topic holds."""

    def rule(self, topic: str) -> FilteredRule | None:
        """Return the rule of a source topic; `None` if it is not filtered."""
        for pattern, rule in self._compiled:
            if pattern.fullmatch(topic):
                return rule
        return None

    def matches(self, topic: str) -> bool:
        """Return whether a source topic is filtered."""
        return self.rule(topic) is not None

    @cached_property
    def is_limited(self) -> bool:
        """Return whether any rule bounds how many records may be missing."""
        return any(rule.at_most is not None for rule in self.rules)

    @cached_property
    def _compiled(self) -> tuple[tuple[TopicPattern, FilteredRule], ...]:
        return tuple((compile_pattern(r.pattern), r) for r in self.rules)


_JUDGED_FROM = 100
"""Records from which a share is judged: of a few, any share can be missing by
chance."""


def is_beyond(missing: int, records: int, at_most: float | None) -> bool:
    """Return whether more records are missing than a filter may drop.

    Parameters
    ----------
    missing
        Records that are missing at the target.
    records
        Records of which they are.
    at_most
        Share that may be missing; `None` for all.
    """
    return (
        at_most is not None
        and records >= _JUDGED_FROM
        and missing > at_most * records
    )


def filtered_note(missing: Iterable[int]) -> str:
    """Return what a verdict says of filtered topics.

    Parameters
    ----------
    missing
        Missing records of each filtered topic.
    """
    numbers = [number for number in missing if number]
    if not numbers:
        return ""
    records = sum(numbers)
    return (
        f"{counted(records, 'record')} missing on "
        f"{counted(len(numbers), 'filtered topic')}, as configured"
    )
