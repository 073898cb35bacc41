"""Hides what looks like a secret in what is shown of scripts."""

import re
from collections.abc import Iterable

__all__ = ["HIDDEN", "SECRET", "hide"]

HIDDEN = "**********"

SECRET = re.compile(
    r"pass?w|secret|token|credential|authorization|"
    r"(api|app|integration|routing|service|user|private|access)[-_]?key",
    re.IGNORECASE,
)
"""Names of settings that hold secrets."""

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
        text = text.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_cover, text)
    return text


def _cover(match: re.Match[str]) -> str:
    if not match["value"]:
        return match[0]
    mark = match.groupdict().get("open") or ""
    return match["before"] + mark + HIDDEN + mark
