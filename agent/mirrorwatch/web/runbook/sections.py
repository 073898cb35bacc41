"""The runbook read into its parts: sections, and what they say of reasons."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .phrase import Phrase

__all__ = ["Heading", "Place", "make_parser", "mark"]

BLOCKS = {"list_item_open", "paragraph_open", "tr_open"}
"""What a link may lead to, beside headings."""

WORDS_OF_AN_ANCHOR = 8
"""Enough to tell sentences apart, and short enough to be read in a link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading of the runbook."""

    level: int
    """2 for that of a check."""

    text: str
    """Its words."""

    anchor: str
    """What a link to it ends with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A paragraph or a row that says what to do about a reason."""

    section: str
    """Anchor of the section that it stands in: the name of a check."""

    anchor: str
    """What a link to it ends with."""

    phrase: Phrase
    """The reason."""


def make_parser() -> MarkdownIt:
    """Return the parser. It lets no HTML through."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def mark(tokens: Sequence[Token]) -> tuple[list[Heading], list[Place]]:
    """Give every heading, and every block about a reason, its anchor.

    Parameters
    ----------
    tokens
        What the parser made of the runbook. Their attributes are set.

    Notes
    -----
    Headings have the anchors that code hosts give them, so that links within
    the runbook work in both places.
    """
    headings: list[Heading] = []
    places: list[Place] = []
    used: Counter[str] = Counter()
    section, block = "", None
    for opening, inline in pairwise(tokens):
        # In a list without blank lines paragraphs leave no element behind.
        if opening.type in BLOCKS and not opening.hidden:
            block = opening
        if inline.type != "inline":
            continue
        if opening.type == "heading_open":
            text = _text(inline)
            anchor = _unique(_slug(text), used)
            level = int(opening.tag[1])
            opening.attrSet("id", anchor)
            headings.append(Heading(level=level, text=text, anchor=anchor))
            section = anchor if level == 2 else section
            continue
        phrases = [
            phrase
            for token in inline.children or ()
            if token.type == "code_inline"
            and (phrase := Phrase.of(token.content)) is not None
        ]
        if not phrases or block is None:
            continue
        if not block.attrGet("id"):
            words = _slug(phrases[0].text).split("-")
            short = [word for word in words if word][:WORDS_OF_AN_ANCHOR]
            anchor = _unique(f"{section}-{'-'.join(short)}", used)
            block.attrSet("id", anchor)
        places += [
            Place(section=section, anchor=str(block.attrGet("id")), phrase=p)
            for p in phrases
        ]
    return headings, places


def _text(inline: Token) -> str:
    return "".join(token.content for token in inline.children or ())


def _slug(text: str) -> str:
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _unique(slug: str, used: Counter[str]) -> str:
    used[slug] += 1
    return slug if used[slug] == 1 else f"{slug}-{used[slug] - 1}"
