"""The runbook as a page of the agent: for people without the repository."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..domain.runbook import runbook_page

__all__ = ["runbook_html"]

TEMPLATE = Path(__file__).parent / "runbook.html"


@cache
def runbook_html() -> str:
    """Render the runbook as HTML.

    Notes
    -----
    Headings have the anchors that code hosts give them, so that links work in
    docs/runbook.md as well.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(runbook_page())
    sections = list(_anchored(tokens))
    _unlink_other_pages(tokens)
    body: str = parser.renderer.render(tokens, parser.options, {})
    return Template(TEMPLATE.read_text("utf-8")).substitute(
        contents="\n".join(
            f'<li><a href="#{anchor}">{escape(title)}</a></li>'
            for anchor, title in sections
        ),
        # In a box of its own, so that a phone scrolls only the table.
        body=body.replace(
            "<table>", '<div class="table" tabindex="0"><table>'
        ).replace("</table>", "</table></div>"),
    )


def _anchored(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Give every heading its anchor; yield those of sections."""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = "".join(t.content for t in inline.children or ())
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                yield anchor, title


def _unlink_other_pages(tokens: Sequence[Token]) -> None:
    """Leave only the words of links to pages that the agent does not serve."""
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href"))
            if not address.startswith(("#", "https://")):
                token.attrs.clear()
        _unlink_other_pages(token.children or ())
