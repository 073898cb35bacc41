"""The runbook as a page, and where in it a verdict is explained."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Self

from markdown_it.token import Token

from ...exceptions import WebError
from ...shipped import shipped
from .phrase import plain
from .sections import Heading, Place, make_parser, mark

__all__ = ["Runbook"]

TEMPLATE = Path(__file__).parent / "page.html"

ADDRESS = "/runbook"

LEADS = re.compile(
    r"(<p[^>]*>)(How sure|What (?:it means|to look at(?: first)?|to do)):"
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
        headings, self._places = mark(tokens)
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
        """The page, in HTML."""

    @classmethod
    def load(cls) -> Self:
        """Read the runbook that came with this version.

        Raises
        ------
        WebError
            Raised if it cannot be read.
        """
        file = shipped("docs") / "runbook.md"
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
            place
            for place in self._places
            if place.section == check and place.phrase.fits(said)
        ]
        if fitting:
            best = max(fitting, key=_weight)
            return f"{ADDRESS}#{best.anchor}"
        return f"{ADDRESS}#{check}" if check in self._sections else ADDRESS


def _weight(place: Place) -> int:
    return place.phrase.weight


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
