"""Which topics a flow carries: the mirror's own list of regexes."""

import re
import warnings
from dataclasses import dataclass
from functools import cached_property

__all__ = ["MM2_EXCLUDED", "PatternError", "Selection"]
__all__ += ["compile_pattern", "split_patterns"]

MM2_EXCLUDED = (r"mm2.*\.internal", r".*\.replica", r"__.*")
"""MirrorMaker 2's own default of ``topics.exclude`` since Kafka 4.0. Before,
the first was ``.*[\\-\\.]internal``."""


class PatternError(ValueError):
    """A pattern is no regex that Java and Python read alike.

    Parameters
    ----------
    reason
        What is wrong.
    position
        Where in the pattern, counted from 0; `None` if that is not known.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        where = "" if position is None else f" at position {position}"
        super().__init__(f"not a usable regex: {reason}{where}")
        self.position = position


def compile_pattern(pattern: str) -> re.Pattern[str]:
    r"""Compile a topic pattern.

    Raises
    ------
    PatternError
        Raised if it is no regex, or if Java would read it differently.

    Notes
    -----
    MirrorMaker 2 uses Java's regexes. For topic names the two agree, with
    these exceptions. Java only, refused here as Python refuses them:
    ``\Q...\E``, ``\p{...}``, ``\h``, ``(?<name>...)``. Java only, refused
    here because Python reads them as something else: ``[a-z&&[^b]]`` and
    ``[a[bc]]``. Python only, refused because Java would fail: ``(?P<name>``.
    ``\d`` and ``\w`` mean ASCII, as in Java.
    """
    python_only = pattern.find("(?P")
    if python_only >= 0:
        raise PatternError("(?P...) is unknown to Java", python_only)
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
    """Patterns of topics to carry."""

    exclude: tuple[str, ...] = ()
    """Patterns of topics to leave out; they win."""

    def matches(self, topic: str) -> bool:
        """Tell whether a source topic is carried."""
        return any(p.fullmatch(topic) for p in self._include) and not any(
            p.fullmatch(topic) for p in self._exclude
        )

    @cached_property
    def _include(self) -> tuple[re.Pattern[str], ...]:
        return tuple(compile_pattern(p) for p in self.include)

    @cached_property
    def _exclude(self) -> tuple[re.Pattern[str], ...]:
        return tuple(compile_pattern(p) for p in self.exclude)
