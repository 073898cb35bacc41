"""Hides what looks like a secret in what is shown of scripts."""

import json
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["HIDDEN", "SECRET", "hide", "hide_in"]

HIDDEN = "**********"

SECRET = re.compile(
    r"pass?w|secret|token|credential|authorization|"
    r"(api|app|integration|routing|service|user|private|access)[-_]?key",
    re.IGNORECASE,
)
"""Names of settings that hold secrets."""

SHOWN = frozenset({"type", "description"})
"""What is told of a variable beside its value."""

_QUOTED = r"""(?P<open>["']+)(?P<value>(?:\\.|(?!(?P=open)).)*)(?P=open)"""

_PATTERNS = (
    # .token('...'), "token": "...", var password = '...', 'Authorization', ''
    re.compile(
        rf"(?P<before>[\w-]*(?:{SECRET.pattern})[\w-]*[\"']*\s*[:=(,]\s*)"
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
        Values that are known to be secret.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        escaped = json.dumps(secret, ensure_ascii=False)[1:-1]
        text = text.replace(secret, HIDDEN).replace(escaped, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_cover, text)
    return text


def hide_in(node: Any, *, secret: bool = False) -> Any:
    """Return content that may be shown: without what secret names hold.

    Parameters
    ----------
    node
        Part of an item's content, as JSON has it.
    secret
        Whether the name that holds it is a secret's.

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
                    or bool(SECRET.search(key)),
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
