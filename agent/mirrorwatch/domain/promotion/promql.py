"""Rewrites the matchers of PromQL, and of languages that quote as it does."""

import re
from collections.abc import Callable

from .rewriter import Rewriter

__all__ = ["rewrite_promql"]

TEXT = re.compile(
    r"(?P<regex>[=!]~\s*)?"
    r"(?P<raw>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`)"
)
"""A text in quotes, and whether it is a regex. Nothing is escaped between
backticks."""

ESCAPES = re.compile(r"\\(.)", re.DOTALL)

PLAIN = "\\\"'"
"""What stands for itself behind a backslash."""


def rewrite_promql(query: str, rewriter: Rewriter) -> str:
    """Return a query as the other site needs it.

    Parameters
    ----------
    query
        An expression in PromQL, or the like.
    rewriter
        Knows the values, and collects what it does not know.
    """

    def replace(match: re.Match[str]) -> str:
        rewrite = rewriter.pattern if match["regex"] else rewriter.text
        return (match["regex"] or "") + _rewrite(match["raw"], rewrite)

    return TEXT.sub(replace, query)


def _rewrite(raw: str, rewrite: Callable[[str], str]) -> str:
    mark, inner = raw[0], raw[1:-1]
    if mark == "`":
        new = rewrite(inner)
        return raw if new == inner else f"`{new}`"
    if any(found not in PLAIN for found in ESCAPES.findall(inner)):
        return raw  # a control character or a code: no name of a site
    old = ESCAPES.sub(r"\1", inner)
    new = rewrite(old)
    if new == old:
        return raw
    escaped = new.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return f"{mark}{escaped}{mark}"
