"""Runbook made from the catalogue: front page, then an entry for each code.

``python -m mirrorwatch.domain.runbook > docs/runbook.md``
"""

import re
import sys
from collections.abc import Iterator

from .checks import CHECKS, CODES
from .finding import Code
from .texts import FRONT

__all__ = ["runbook_page"]


def runbook_page() -> str:
    """Return the runbook as Markdown."""
    return "\n".join([FRONT, *_sections()])


def _sections() -> Iterator[str]:
    for name, check in CHECKS.items():
        yield f"## `{name}`\n\n{check.texts.ABOUT}\n"
        for code in CODES.values():
            if code.check == name and code.meaning:
                yield _entry(code)


def _entry(code: Code) -> str:
    parts = (f"### `{code.name}`", f"**{_pattern(code.title)}**")
    return "\n\n".join(filter(None, [*parts, code.meaning, code.steps])) + "\n"


def _pattern(title: str) -> str:
    named = title.replace("{mirror}", "MirrorMaker")
    plural = re.sub(r"\{\w+:([a-z ]+)\|([a-z ]+)\}", r"… \2", named)
    nouns = re.sub(r"\{\w+:(?!duration\})([a-z][a-z ]+)\}", r"… \1s", plural)
    return re.sub(r"\{[^}]*\}", "…", nouns).replace("[", "").replace("]", "")


if __name__ == "__main__":
    sys.stdout.write(runbook_page())
