"""Rewrites queries in InfluxQL."""

import re

from .rewriter import Rewriter
from .tokens import Token, join, meaningful, tokenize
from .values import Kind

__all__ = ["rewrite_influxql"]

PARTS = {"name", "word", "variable", "regex"}
"""What a measurement's name is made of: ``"db"."rp"."measurement"``."""


def rewrite_influxql(query: str, rewriter: Rewriter) -> str:
    """Return a query as the other site needs it.

    Parameters
    ----------
    query
        One or several statements; variables of Chronograf and Grafana are
        left as they are.
    rewriter
        Knows the values, and collects what it does not know.
    """
    return join(_Query(tokenize(query, "influxql"), rewriter).rewrite())


class _Query:
    def __init__(self, tokens: list[Token], rewriter: Rewriter) -> None:
        self._tokens = tokens
        self._rewriter = rewriter
        self._indices = list(meaningful(tokens))

    def rewrite(self) -> list[Token]:
        at = 0
        while at < len(self._indices):
            token = self._at(at)
            if token.is_word("FROM", "INTO"):
                at = self._measurements(at + 1)
                continue
            if token.is_word("ON"):
                self._name(at + 1, Kind.DATABASE)
                at += 2
                continue
            if token.is_word("MEASUREMENT") and self._at(at + 1).raw == "=":
                self._name(at + 2, Kind.TOPIC_PREFIX)
                at += 3
                continue
            if token.kind == "text":
                self._set(at, _quote("'", self._rewriter.text(_bare(token))))
            elif token.kind == "regex":
                self._set(at, self._rewriter.regex(token.raw))
            at += 1
        return self._tokens

    def _measurements(self, at: int) -> int:
        """Rewrite names with commas between; return what comes after."""
        while True:
            parts, at = self._parts(at)
            kinds = (Kind.DATABASE, Kind.RETENTION_POLICY, Kind.TOPIC_PREFIX)
            named = zip(reversed(parts), reversed(kinds), strict=False)
            for part, kind in named:
                if part is not None:
                    self._name(part, kind)
            if not parts or self._at(at).raw != ",":
                return at
            at += 1

    def _parts(self, at: int) -> tuple[list[int | None], int]:
        parts: list[int | None] = []
        while True:
            present = self._at(at).kind in PARTS
            if present or (parts and self._at(at).raw == "."):
                parts.append(at if present else None)
            at += present
            if not parts or self._at(at).raw != ".":
                return parts, at
            at += 1

    def _name(self, at: int, kind: Kind) -> None:
        token = self._at(at)
        if token.kind == "regex":
            self._set(at, self._rewriter.regex(token.raw))
        elif token.kind == "variable":
            self._rewriter.value(kind, token.raw)
        elif token.kind in {"name", "word"}:
            old = _bare(token)
            new = self._rewriter.value(kind, old)
            if new != old:
                self._set(at, _quote('"', new))

    def _at(self, at: int) -> Token:
        """Return a token; one that is nothing after the last."""
        if at >= len(self._indices):
            return Token("space", "")
        return self._tokens[self._indices[at]]

    def _set(self, at: int, raw: str) -> None:
        token = self._at(at)
        if token.kind == "text" and _unquote(raw) == _bare(token):
            return  # as it was written
        self._tokens[self._indices[at]] = Token(token.kind, raw)


def _bare(token: Token) -> str:
    return token.raw if token.kind == "word" else _unquote(token.raw)


def _unquote(raw: str) -> str:
    return re.sub(r"\\(.)", _unescape, raw[1:-1], flags=re.DOTALL)


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _quote(mark: str, text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return f"{mark}{escaped}{mark}".replace("\n", "\\n")
