"""Pinned documents: what leaves the process, as files.

`NAME.json` holds names, numbers and times, with a mark in place of every
sentence: wording is not pinned.
"""

import json
from pathlib import Path
from typing import Any

from mirrorwatch.domain.metrics import LATENCY_BUCKETS

__all__ = ["DATA", "facts", "in_older_buckets", "keep", "pinned", "plain"]
__all__ += ["write"]

DATA = Path(__file__).parents[1] / "data" / "pins"

MARK = "<sentence>"

ALWAYS = frozenset({"reason", "runbook", "text", "title", "error"})
"""Keys whose text is a sentence however short, or is made from one."""

BOUND = LATENCY_BUCKETS.index(2.0)
BUCKETS = len(LATENCY_BUCKETS) + 1

WORDS = 3
"""From how many words on a text is a sentence: names and states have less."""


def plain(document: Any) -> Any:
    """Return a document as a reader of its JSON gets it, of any release."""
    return json.loads(json.dumps(document), object_hook=_of_any_release)


def facts(document: Any, key: str = "") -> Any:
    """Return a document without its sentences."""
    match document:
        case dict():
            return {k: facts(v, k) for k, v in document.items()}
        case list():
            return [facts(item, key) for item in document]
        case str() if _is_sentence(key, document):
            return MARK
        case _:
            return document


def pinned(name: str) -> Any:
    """Return a pinned document."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, document: Any) -> None:
    """Pin a document without its sentences."""
    keep(name, facts(plain(document)))


def keep(name: str, document: Any) -> None:
    """Write a document as it is."""
    file = DATA / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def _of_any_release(document: dict[str, Any]) -> dict[str, Any]:
    if isinstance(document.get("version"), str):
        document["version"] = "<version>"
    return in_older_buckets(document)


def in_older_buckets(document: dict[str, Any]) -> dict[str, Any]:
    """Return a histogram as it was without the bound of 2 s; anything else
    as it is.
    """
    match document:
        case {"counts": [*counts], "total": _} if len(counts) == BUCKETS:
            up_to_it = counts.pop(BOUND)
            counts[BOUND] += up_to_it
            return document | {"counts": counts}
        case _:
            return document


def _is_sentence(key: str, text: str) -> bool:
    return bool(text) and (key in ALWAYS or len(text.split()) >= WORDS)
