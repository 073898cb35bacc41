"""Numbers in sentences, of one as well as of many."""

import re

__all__ = ["agree", "alike", "counted", "every"]

SINGULAR = {
    "are": "is",
    "copy": "copies",
    "differ": "differs",
    "do": "does",
    "have": "has",
    "hold": "holds",
    "lie": "lies",
    "run": "runs",
    "their": "its",
    "they": "it",
    "wait": "waits",
    "were": "was",
}
"""Words that sentences about many begin with, as they are of one."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def every(number: int, noun: str) -> str:
    """Return all of so many."""
    return f"the one {noun}" if number == 1 else f"all {counted(number, noun)}"


def agree(number: int, clause: str) -> str:
    """Return a clause about many as it is about so many.

    Parameters
    ----------
    number
        How many.
    clause
        Begins with the word that changes: ``were written again``.
    """
    word, space, rest = clause.partition(" ")
    return clause if number != 1 else f"{SINGULAR[word]}{space}{rest}"


def alike(text: str) -> str:
    """Return a text in small letters as something to compare: what is said
    of one and of many looks alike in it.
    """
    return re.sub(r"[a-z]+", _stem, text.replace("the one ", "all "))


def _stem(match: re.Match[str]) -> str:
    word = match.group()
    return SINGULAR.get(word, word).removesuffix("s")
