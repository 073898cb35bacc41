"""Texts of three query languages as tokens that join to the same text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Token", "join", "meaningful", "tokenize"]

DOUBLE = r'"(?:\\.|[^"\\])*"'
SINGLE = r"'(?:\\.|[^'\\])*'"
NUMBER = r"\d[\w.]*"
NAME = r"[^\W\d]\w*"
REGEX = r"/(?:\\.|[^/\\\n])+/"

PATTERNS = {
    "influxql": {
        "comment": r"--[^\n]*|/\*.*?\*/",
        "name": DOUBLE,
        "text": SINGLE,
        "variable": r":[A-Za-z]\w*:|\$\w+|\$\{[^}]*\}|\[\[\w+\]\]",
        "regex": REGEX,
    },
    "flux": {
        "comment": r"//[^\n]*",
        "text": DOUBLE,
        "regex": REGEX,
    },
    "tick": {
        "comment": r"//[^\n]*",
        # A backslash escapes nothing but the quote (Kapacitor's lexer).
        "text": r"'''.*?'''|'(?:\\'|[^'\\]|\\(?!'))*'",
        "name": r'"(?:\\"|[^"\\]|\\(?!"))*"',
        "regex": r"/(?:\\/|[^/])*/",
    },
}
"""What each language has beside words, numbers and marks. A regex comes
only where no value stands before: else it is a division."""

VALUES = {"name", "text", "word", "number", "variable"}
"""Tokens after which a stroke divides."""

KEYWORDS = ("SELECT", "FROM", "INTO", "WHERE", "AND", "OR", "BY")
"""Words of InfluxQL after which a regex may come."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text."""

    kind: str
    """``text``, ``name`` (quoted), ``word``, ``number``, ``regex``,
    ``comment``, ``variable``, ``space`` or ``mark``."""

    raw: str
    """As it is written."""

    def is_word(self, *words: str) -> bool:
        """Tell whether it is one of these words, in either case."""
        return self.kind == "word" and self.raw.upper() in words


def _compile(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return how tokens look after an operator, and after a value."""
    common = {"number": NUMBER, "word": NAME, "space": r"\s+", "mark": "."}
    every = PATTERNS[language] | common
    operand = {k: p for k, p in every.items() if k != "regex"}
    first, second = (
        re.compile("|".join(f"(?P<{k}>{p})" for k, p in s.items()), re.DOTALL)
        for s in (every, operand)
    )
    return first, second


COMPILED = {language: _compile(language) for language in PATTERNS}


def tokenize(text: str, language: str) -> list[Token]:
    """Cut a text into tokens, none left out.

    Parameters
    ----------
    text
        A query or a script.
    language
        ``influxql``, ``flux`` or ``tick``.
    """
    operator, operand = COMPILED[language]
    tokens: list[Token] = []
    position, after_value = 0, False
    while position < len(text):
        pattern = operand if after_value else operator
        match = pattern.match(text, position)
        # The last alternative is any character at all.
        assert match is not None  # noqa: S101
        kind = match.lastgroup or "mark"
        tokens.append(Token(kind, match[0]))
        position = match.end()
        if kind not in {"space", "comment"}:
            after_value = kind in VALUES or match[0] == ")"
            if language == "influxql" and tokens[-1].is_word(*KEYWORDS):
                after_value = False
    return tokens


def meaningful(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the positions of tokens that are no space and no comment."""
    for index, token in enumerate(tokens):
        if token.kind not in {"space", "comment"}:
            yield index


def join(tokens: Sequence[Token]) -> str:
    """Put tokens together again."""
    return "".join(token.raw for token in tokens)
