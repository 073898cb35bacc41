"""Rewrites queries in Flux."""

import json

from .rewriter import Rewriter
from .tokens import Token, join, meaningful, tokenize
from .values import Kind

__all__ = ["rewrite_bucket", "rewrite_flux"]

ARGUMENTS = {
    "bucket": Kind.DATABASE,
    "host": Kind.ENDPOINT,
    "url": Kind.ENDPOINT,
    "endpoint": Kind.ENDPOINT,
    "channel": Kind.HANDLER,
    "token": Kind.HANDLER,
    "bucketID": Kind.DATABASE,
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
            new = _rewrite(token.raw, _argument(before), rewriter)
            tokens[index] = Token("text", new)
        elif token.kind == "regex":
            tokens[index] = Token("regex", rewriter.regex(token.raw))
        before = [*before[-1:], token]
    return join(tokens)


def rewrite_bucket(name: str, rewriter: Rewriter) -> str:
    """Rewrite the name of a bucket: of 1.x it is ``database/policy``."""
    if rewriter.translation.exact(Kind.DATABASE, name) is not None:
        return rewriter.exact(Kind.DATABASE, name)
    database, slash, policy = name.partition("/")
    return rewriter.exact(Kind.DATABASE, database) + (
        slash + rewriter.exact(Kind.RETENTION_POLICY, policy) if slash else ""
    )


def _is_import(before: list[Token]) -> bool:
    return bool(before) and before[-1].raw in {"import", "package"}


def _argument(before: list[Token]) -> Kind | None:
    """Return the kind of the value after ``name:``."""
    if len(before) == 2 and before[1].raw == ":":
        return ARGUMENTS.get(before[0].raw)
    return None


def _rewrite(raw: str, kind: Kind | None, rewriter: Rewriter) -> str:
    try:
        old: str = json.loads(raw, strict=False)
    except ValueError:
        # An escape that is not JSON's, as in "\x41".
        why = "is written with an escape that the map cannot follow"
        return raw if kind is None else rewriter.stop(kind, raw, why)
    match kind:
        case Kind.DATABASE:
            new = rewrite_bucket(old, rewriter)
        case Kind.ENDPOINT:
            new = rewriter.address(old)
        case None:
            new = rewriter.text(old)
        case _:
            new = rewriter.exact(kind, old)
    return raw if new == old else json.dumps(new, ensure_ascii=False)
