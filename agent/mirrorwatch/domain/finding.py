"""Findings, and the catalogue entries of their codes.

A rule declares its codes in the ``texts.py`` beside it and yields findings by
`Code.found`. Everything that a person is shown of a finding is rendered from
its entry: no other module writes or parses sentences about findings.
"""

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

__all__ = ["Code", "Finding", "Health", "Numbers", "Scalar", "Subject"]
__all__ += ["duration", "render"]


class Health(IntEnum):
    """Health of one aspect of a flow, ordered by severity."""

    OFF = -1
    """Not configured, or known to be absent there. Outside flow health."""

    OK = 0

    UNKNOWN = 1
    """Not enough was seen to say. Never treated as healthy."""

    WARNING = 2
    """Past the warning limit."""

    CRITICAL = 3
    """Past the critical limit."""

    @property
    def label(self) -> str:
        """Name as it leaves the process."""
        return self.name.lower()


Scalar = str | int | float | bool | None

Subject = Mapping[str, Scalar]
"""Identity of the data or part: ``topic``, ``partition``, ``group``,
``connector``, ``task``, ``cluster``, ``broker``, ``client`` ..."""

Numbers = Mapping[str, Scalar]
"""Counts, measures and ranges by name, units in the names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Condition that a check found, identified by code and subject."""

    code: str
    health: Health
    title: str
    subject: Subject = field(default_factory=dict)
    numbers: Numbers = field(default_factory=dict)
    past: bool = False
    """Finding of something that is over, such as a loss: open ones come
    first."""

    total: int | None = None
    """Records of it since the installation, where ``records`` counts recent
    ones only: its growth is exact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Code:
    """Catalogue entry: all texts of one condition.

    Notes
    -----
    In a title, ``{records:record}`` renders ``1 record`` or ``7 records``
    (``{n:copy|copies}`` where an s is not enough), ``{seconds:duration}``
    renders ``42 s`` or ``3.5 h``, and a part in square brackets is left out
    if one of its placeholders has no value. ``{mirror}`` is the mirror.
    """

    name: str
    """Stable name, ``check.condition``."""

    title: str
    past: bool = False
    """Findings of something that is over when it is found."""

    meaning: str = ""
    """Consequence for the data, in Markdown. Empty for a condition that many
    checks share, such as ``no-data``: its entry is the same for all."""

    steps: str = ""
    """First steps, as a numbered list in Markdown. Commands that differ by
    platform stand on the runbook's front page, to which steps link."""

    @property
    def check(self) -> str:
        """Name of the check that reports it."""
        return self.name.partition(".")[0]

    @property
    def anchor(self) -> str:
        """Anchor of its entry in the runbook, as Markdown renderers make it
        of the heading.
        """
        _, _, condition = self.name.partition(".")
        return self.name.replace(".", "") if self.meaning else condition

    def found(
        self, health: Health, subject: Subject | None = None, **numbers: Scalar
    ) -> Finding:
        """Make a finding of this code.

        Raises
        ------
        KeyError
            Raised if the title needs a value that is not given.
        """
        of = subject or {}
        title = render(self.title, {**numbers, **of, "mirror": "{mirror}"})
        return Finding(self.name, health, title, of, numbers, self.past)


def duration(seconds: float) -> str:
    """Render seconds for a person: ``42 s``, ``1 min 32 s``, ``3.5 h``."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f}".removesuffix(".0") + " h"
    return f"{seconds / 86_400:.1f}".removesuffix(".0") + " d"


class _Formatter(string.Formatter):
    """Formats counts with their nouns and seconds as durations."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "duration":
            return duration(value)
        if len(format_spec) > 1 and format_spec[0].isalpha():
            one, _, many = format_spec.partition("|")
            return f"{value:,} {one if value == 1 else many or one + 's'}"
        return str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()


def render(template: str, values: Mapping[str, Scalar]) -> str:
    """Fill a title's placeholders, without optional parts that lack a value.

    Raises
    ------
    KeyError
        Raised if a placeholder outside square brackets has no value.
    """
    return "".join(_rendered(template, values))


def _rendered(template: str, values: Mapping[str, Scalar]) -> Iterator[str]:
    known = {k: v for k, v in values.items() if v is not None}
    rest = template
    while rest:
        text, _, rest = rest.partition("[")
        yield _FORMATTER.vformat(text, (), known)
        optional, _, rest = rest.partition("]")
        names = {name for _, name, _, _ in _FORMATTER.parse(optional) if name}
        if names <= known.keys():
            yield _FORMATTER.vformat(optional, (), known)
