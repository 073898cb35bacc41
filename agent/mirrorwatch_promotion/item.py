"""Items that are copied, and the servers that keep them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mirrorwatch.secrets import (
    DATA_KEY,
    HIDDEN,
    SECRET_WORD,
    looks_secret,
)

from .exceptions import PromotionError

__all__ = [
    "Item",
    "Product",
    "hide",
    "hide_in",
    "write_folder",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """Item at a server: a dashboard, rule, template or topic handler."""

    kind: str
    name: str
    title: str
    content: Mapping[str, Any]
    ref: str = field(default="", compare=False)

    def __str__(self) -> str:
        known = f" ({self.title})" if self.title != self.name else ""
        return f"{self.kind} {self.name}{known}"


class Product(Protocol):
    """A server at a site."""

    def list(self) -> Sequence[Item]:
        """Return everything there.

        Raises
        ------
        PromotionError
            Raised if it cannot be read.
        """
        ...

    def put(self, item: Item, replaced: Item | None) -> None:
        """Create an item, or change the one of its name.

        Parameters
        ----------
        item
            The item as it shall be.
        replaced
            The item at the server, if there is one.

        Raises
        ------
        PromotionError
            Raised if the server refuses.
        """
        ...


UNFIT = re.compile(r"[^\w.-]+")
"""Characters that are not used in names of files."""


def write_folder(items: Iterable[Item], folder: Path) -> Iterator[Path]:
    """Write each item, and yield the files.

    Parameters
    ----------
    items
        Items, each written as JSON, and its script as a ``.tick``.
    folder
        Folder, created if it is missing.

    Raises
    ------
    PromotionError
        Raised if a file cannot be written, or two items would have one
        file.
    """
    written = set[Path]()
    for item in items:
        name = UNFIT.sub("_", item.title)
        parts = dict(item.content)
        script = parts.pop("script", None)
        texts = {f"{name}.json": json.dumps(parts, indent=2) + "\n"}
        if script is not None:
            texts[f"{name}.tick"] = script
        for file_name, text in texts.items():
            file = folder / item.kind / file_name
            if file in written:
                raise PromotionError(
                    f"{file}: two items would have this file; give --only"
                )
            written.add(file)
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch(mode=0o600)  # scripts may hold tokens
                file.write_text(text, "utf-8")
            except OSError as e:
                raise PromotionError(
                    f"{file}: cannot be written: {e.strerror}"
                ) from e
            yield file


SHOWN = frozenset({"type", "description"})
"""Fields of a variable that are shown, unlike its value."""

_QUOTED = r"""(?P<open>["']+)(?P<value>(?:\\.|(?!(?P=open)).)*)(?P=open)"""

_PATTERNS = (
    # .token('...'), "token": "...", var password = '...', 'Authorization', ''
    re.compile(
        rf"(?<![\w-])(?!(?:{DATA_KEY.pattern})(?![\w-]))"
        rf"(?P<before>[\w-]*(?:{SECRET_WORD.pattern})[\w-]*[\"']*"
        rf"\s*[:=(,]\s*)"
        rf"{_QUOTED}",
        re.IGNORECASE,
    ),
    # http://user:password@host
    re.compile(r"(?P<before>://[^/\s:@'\"]*:)(?P<value>[^/\s@'\"]+)(?=@)"),
    # Whoever knows such an address may write to the channel.
    re.compile(
        r"(?P<before>hooks\.slack\.com/(?:services|workflows)/|"
        r"\.webhook\.office\.com/|discord(?:app)?\.com/api/webhooks/)"
        r"(?P<value>[^\s'\"]+)"
    ),
    # Tokens that say themselves what they are: Slack's, JWT, bearers.
    re.compile(
        r"(?P<before>\bxox[a-z]-|\beyJ|\b(?:Bearer|Basic|Token) )"
        r"(?P<value>[\w.=+/-]{8,})"
    ),
)


def hide(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text that may be shown.

    Parameters
    ----------
    text
        Part of a dashboard or a rule.
    secrets
        Known secrets.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        escaped = json.dumps(secret, ensure_ascii=False)[1:-1]
        text = text.replace(secret, HIDDEN).replace(escaped, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_cover, text)
    return text


def hide_in(node: Any, *, secret: bool = False) -> Any:
    """Return content without the values of secret names.

    Parameters
    ----------
    node
        Part of an item's content, as JSON has it.
    secret
        The name that holds it is a secret's.

    Notes
    -----
    A variable's value stands below its name, a list's items further down:
    `hide`, which sees the text only, does not find them.
    """
    match node:
        case dict():
            return {
                key: hide_in(
                    value,
                    secret=(secret and key not in SHOWN)
                    or looks_secret(key, in_data=True),
                )
                for key, value in node.items()
            }
        case list():
            return [hide_in(item, secret=secret) for item in node]
        case str() if secret and node:
            return HIDDEN
        case _:
            return node


def _cover(match: re.Match[str]) -> str:
    if not match["value"]:
        return match[0]
    mark = match.groupdict().get("open") or ""
    return match["before"] + mark + HIDDEN + mark
