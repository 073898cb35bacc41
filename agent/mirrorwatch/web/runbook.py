"""The runbook as a page, and where in it a verdict is explained."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Self

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..bundled_files import bundled_folder
from ..domain.report import alike
from ..exceptions import WebError

__all__ = ["Phrase", "Runbook"]


GAP = "…"

VARIABLE = re.compile(rf"{GAP}|\bMirrorMaker\b")
"""Where sentences differ: names and numbers, and that of the mirror, which may
be another one."""

SENTENCE = 14
"""Characters beside the gaps: less is a name or a setting, not a reason. The
shortest reason is "Task … of … has failed"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Phrase:
    """A sentence of a verdict, with ``…`` where names and numbers stand."""

    text: str
    pieces: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Read a phrase; `None` if it is none."""
        pieces = tuple(
            piece for part in VARIABLE.split(text) if (piece := plain(part))
        )
        phrase = cls(text=text, pieces=pieces)
        is_sentence = any(" " in piece for piece in pieces)
        return phrase if is_sentence and phrase.weight >= SENTENCE else None

    @property
    def weight(self) -> int:
        """How much it says: of two that fit, the one that says more is it."""
        return sum(map(len, self.pieces))

    def fits(self, said: str) -> bool:
        """Return whether a reason says this: all pieces, in this order.

        Parameters
        ----------
        said
            The reason, as `plain` makes it: it is held against hundreds.
        """
        at = 0
        for piece in self.pieces:
            found = said.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def plain(text: str) -> str:
    """Return text as something to compare: in one case, without what a
    sentence ends with, of one as of many.
    """
    return alike(re.sub(r"\s+", " ", text).strip(" .,;:").lower())


BLOCKS = {"list_item_open", "paragraph_open", "tr_open"}
"""What a link may lead to, beside headings."""

WORDS_OF_AN_ANCHOR = 8
"""Enough to distinguish sentences, and short enough to be read in a link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading of the runbook."""

    level: int
    """2 for that of a check."""

    text: str
    anchor: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RunbookAnchor:
    """A paragraph or a row that says what to do about a reason."""

    section: str
    anchor: str
    phrase: Phrase


def make_parser() -> MarkdownIt:
    """Return the parser. It lets no HTML through."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def mark(tokens: Sequence[Token]) -> tuple[list[Heading], list[RunbookAnchor]]:
    """Give every heading, and every block about a reason, its anchor.

    Parameters
    ----------
    tokens
        What the parser made of the runbook. Their attributes are set.

    Notes
    -----
    Headings have the anchors that code hosts give them, so that links within
    the runbook work in both.
    """
    headings: list[Heading] = []
    anchors: list[RunbookAnchor] = []
    used: Counter[str] = Counter()
    section, block = "", None
    for opening, inline in pairwise(tokens):
        # In a list without blank lines paragraphs leave no element behind.
        if opening.type in BLOCKS and not opening.hidden:
            block = opening
        if inline.type != "inline":
            continue
        if opening.type == "heading_open":
            text = "".join(t.content for t in inline.children or ())
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
        anchors += [
            RunbookAnchor(
                section=section, anchor=str(block.attrGet("id")), phrase=p
            )
            for p in phrases
        ]
    return headings, anchors


def _slug(text: str) -> str:
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _unique(slug: str, used: Counter[str]) -> str:
    used[slug] += 1
    return slug if used[slug] == 1 else f"{slug}-{used[slug] - 1}"


TEMPLATE = Path(__file__).parent / "runbook.html"

ADDRESS = "/runbook"

LEADS = re.compile(
    r"(<p[^>]*>)(How sure|How it ends|Causes|"
    r"What (?:it means|to check(?: first)?|to do)):"
)
"""What paragraphs begin with that an eye looks for."""


class Runbook:
    """What to do about each verdict.

    Parameters
    ----------
    text
        The runbook, in Markdown.
    """

    def __init__(self, text: str) -> None:
        parser = make_parser()
        tokens = parser.parse(text)
        headings, self._anchors = mark(tokens)
        self._sections = {h.anchor for h in headings if h.level == 2}
        _unlink_other_pages(tokens)
        body = LEADS.sub(
            r"\g<1><strong>\g<2>:</strong>",
            parser.renderer.render(tokens, parser.options, {}),
        )
        self.page = Template(TEMPLATE.read_text("utf-8")).substitute(
            contents=_contents(headings),
            # In a box of its own, so that a phone scrolls only the table.
            body=body.replace(
                "<table>", '<div class="table" tabindex="0"><table>'
            ).replace("</table>", "</table></div>"),
        )

    @classmethod
    @cache
    def load(cls) -> Self:
        """Return the runbook that came with this version, read once.

        Raises
        ------
        WebError
            Raised if it cannot be read.
        """
        file = bundled_folder("docs") / "runbook.md"
        try:
            return cls(file.read_text("utf-8"))
        except OSError as e:
            raise WebError(f"Cannot read the runbook {file}: {e}") from e

    def link(self, check: str, reason: str = "") -> str:
        """Return the address of what is said about a verdict.

        Parameters
        ----------
        check
            Name of the check.
        reason
            Its sentence: the link leads to what is said about just this, if
            something is, and else to the section of the check.
        """
        said = plain(reason)
        fitting = [
            found
            for found in self._anchors
            if found.section == check and found.phrase.fits(said)
        ]
        if fitting:
            best = max(fitting, key=lambda found: found.phrase.weight)
            return f"{ADDRESS}#{best.anchor}"
        return f"{ADDRESS}#{check}" if check in self._sections else ADDRESS


def _contents(headings: Sequence[Heading]) -> str:
    return "\n".join(
        f'<li><a href="#{heading.anchor}">{escape(heading.text)}</a></li>'
        for heading in headings
        if heading.level == 2
    )


def _unlink_other_pages(tokens: Sequence[Token]) -> None:
    """Leave only the words of links to pages that the agent does not serve."""
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href"))
            if not address.startswith(("#", "https://")):
                token.attrs.clear()
        _unlink_other_pages(token.children or ())
