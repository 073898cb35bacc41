"""Runbook made from the catalogue: front page, then an entry for each code.

``python -m mirrorwatch.domain.runbook > docs/runbook.md``
"""

import re
import sys
from collections.abc import Iterator

from . import cause_texts
from .checks import CHECKS, CODES, codes_of
from .finding import Code
from .texts import AGENT, FRONT

__all__ = ["runbook_link", "runbook_page"]


def runbook_link(code: str | None, check: str) -> str:
    """Return the path of a finding's entry, below the page's address.

    Parameters
    ----------
    code
        Code of the finding; `None` if there is none.
    check
        Name of its check: its section is linked where there is no code.
    """
    entry = None if code is None else CODES.get(code)
    return f"/runbook#{check if entry is None else entry.anchor}"


def runbook_page() -> str:
    """Return the runbook as Markdown."""
    return "\n".join([FRONT, *_sections(), AGENT])


def _sections() -> Iterator[str]:
    yield f"## Cause\n\n{cause_texts.ABOUT}\n"
    yield from map(_entry, codes_of(cause_texts))
    for name, check in CHECKS.items():
        yield f"## `{name}`\n\n{check.texts.ABOUT}\n"
        yield from map(_entry, filter(_has_entry, codes_of(check.texts)))


def _has_entry(code: Code) -> bool:
    return bool(code.meaning)


def _entry(code: Code) -> str:
    parts = (f"### `{code.name}`", f"**{_pattern(code.title)}**")
    return "\n\n".join(filter(None, [*parts, code.meaning, code.steps])) + "\n"


def _pattern(title: str) -> str:
    named = title.replace("{mirror}", "MirrorMaker")
    plural = re.sub(r"\{\w+:([a-z ]+)\|([a-z ]+)\}", r"… \2", named)
    nouns = re.sub(r"\{\w+:(?!duration\})([a-z][a-z ]+)\}", r"… \1s", plural)
    filled = re.sub(r"\{[^}]*\}", "…", nouns).replace("][", " / ")
    return filled.replace("[", "").replace("]", "")


if __name__ == "__main__":
    sys.stdout.write(runbook_page())
