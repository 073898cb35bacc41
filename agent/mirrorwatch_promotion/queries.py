"""Rewrites queries in InfluxQL."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .values import Rewriter, ValueKind

__all__ = [
    "Token",
    "join",
    "meaningful",
    "rewrite_flux",
    "rewrite_influxql",
    "rewrite_promql",
    "tokenize",
]


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
                self._name(at + 1, ValueKind.DATABASE)
                at += 2
                continue
            if token.is_word("MEASUREMENT") and self._at(at + 1).raw == "=":
                self._name(at + 2, ValueKind.TOPIC_PREFIX)
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
            kinds = (
                ValueKind.DATABASE,
                ValueKind.RETENTION_POLICY,
                ValueKind.TOPIC_PREFIX,
            )
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

    def _name(self, at: int, kind: ValueKind) -> None:
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


ARGUMENTS = {
    "bucket": ValueKind.DATABASE,
    "host": ValueKind.ENDPOINT,
    "url": ValueKind.ENDPOINT,
    "endpoint": ValueKind.ENDPOINT,
    "channel": ValueKind.HANDLER,
    "token": ValueKind.HANDLER,
    "bucketID": ValueKind.DATABASE,
}
"""Named arguments that name something of a site."""


def rewrite_flux(query: str, rewriter: Rewriter) -> str:
    """Return a query as the other site needs it.

    Parameters
    ----------
    query
        A script in Flux.
    rewriter
        Knows the values, and collects what it does not know.
    """
    tokens = tokenize(query, "flux")
    before: list[Token] = []
    for index in meaningful(tokens):
        token = tokens[index]
        if token.kind == "text" and not _is_import(before):
            new = _rewrite_flux_text(token.raw, _argument(before), rewriter)
            tokens[index] = Token("text", new)
        elif token.kind == "regex":
            tokens[index] = Token("regex", rewriter.regex(token.raw))
        before = [*before[-1:], token]
    return join(tokens)


def rewrite_bucket(name: str, rewriter: Rewriter) -> str:
    """Rewrite the name of a bucket: of 1.x it is ``database/policy``."""
    if rewriter.translation.exact(ValueKind.DATABASE, name) is not None:
        return rewriter.exact(ValueKind.DATABASE, name)
    database, slash, policy = name.partition("/")
    return rewriter.exact(ValueKind.DATABASE, database) + (
        slash + rewriter.exact(ValueKind.RETENTION_POLICY, policy)
        if slash
        else ""
    )


def _is_import(before: list[Token]) -> bool:
    return bool(before) and before[-1].raw in {"import", "package"}


def _argument(before: list[Token]) -> ValueKind | None:
    """Return the kind of the value after ``name:``."""
    if len(before) == 2 and before[1].raw == ":":
        return ARGUMENTS.get(before[0].raw)
    return None


def _rewrite_flux_text(
    raw: str, kind: ValueKind | None, rewriter: Rewriter
) -> str:
    try:
        old: str = json.loads(raw, strict=False)
    except ValueError:
        # An escape that is not JSON's, as in "\x41".
        why = "is written with an escape that the map cannot follow"
        return raw if kind is None else rewriter.stop(kind, raw, why)
    match kind:
        case ValueKind.DATABASE:
            new = rewrite_bucket(old, rewriter)
        case ValueKind.ENDPOINT:
            new = rewriter.address(old)
        case None:
            new = rewriter.text(old)
        case _:
            new = rewriter.exact(kind, old)
    return raw if new == old else json.dumps(new, ensure_ascii=False)


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
