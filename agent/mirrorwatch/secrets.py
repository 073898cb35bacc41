"""Redaction of secrets in all that leaves the agent, in one place.

One list of names that speak of secrets, because a word that one place knows
and another does not is a leak; and the values that the configuration keeps
out of the file, whoever quotes them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "DATA_KEY",
    "HIDDEN",
    "SECRET_WORD",
    "hide_in",
    "hide_secrets",
    "looks_secret",
    "may_quote",
    "never_show",
]

HIDDEN = "**********"
"""Shown instead of a value that may be secret (as pydantic's own secrets)."""

SECRET_WORD = re.compile(
    r"pass?w|secret|token|credential|authori[sz]ation|private|jaas|cookie"
    r"|key|pem",
    re.IGNORECASE,
)
"""Anywhere in a name. Rather one word too many: `ssl.key.location` is only a
path. `pass?w` also finds `sasl.pasword`, which librdkafka would refuse, and
an error message would show."""

DATA_KEY = re.compile(r"(?:tag|field)?[-_]?keys?", re.IGNORECASE)
"""Whole names of what data goes by: a record's key, a tag's, a field's."""


KNOWN_SECRET = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|hvs\.)[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"
    r"|-----BEGIN [A-Z ]+-----[\s\S]*",
)
"""Keys of AWS, GitHub, GitLab, Slack, OpenAI and Vault; JWTs; PEM."""

USER_IN_ADDRESS = re.compile(r"(?<=://)[^/\s]+@")
"""The user and password of an address. A password may hold ``@``."""

QUERY = re.compile(r"(://[^\s?#]*)[?#][^\s'\">)\]]+")

SHORTEST = 4
"""Characters of a value that is looked for in texts: a shorter one is part of
too many words, and no secret."""

HARMLESS = re.compile(
    r"\d+(?:\.\d+)? ?[a-z%]{0,3}|true|false|mirrorwatch"
    r"|localhost|127\.0\.0\.1|0\.0\.0\.0",
    re.IGNORECASE,
)
"""Numbers, sizes and durations are in texts of their own accord; so is the
agent's name, which is often that of its user, and this machine's addresses."""

SERVER = re.compile(r"(?:\w+://)?(?P<host>[^/\s:]{4,})(?::\d+)?(?:/\S*)?")

_never_shown: re.Pattern[str] | None = None
"""Finds what the configuration of this process hides."""


def never_show(values: Iterable[str], shown: Iterable[str] = ()) -> None:
    """Hide these values from now on, and those of the call before no more.

    Parameters
    ----------
    values
        Secrets, and whatever the configuration refers to. Of a list with
        commas each item is hidden, of an address its host too.
    shown
        Texts that are no secret: a host in one of them is none either.
    """
    global _never_shown  # noqa: PLW0603 - one process, one configuration
    clear = " ".join(shown)
    hidden = set()
    for value in values:
        for text in {value, *value.split(",")}:
            hidden.add(text.strip())
            server = SERVER.fullmatch(text.strip())
            if server and server["host"] not in clear:
                # Libraries quote it in lower case, too.
                hidden |= {server["host"], server["host"].lower()}
    found = sorted(
        (
            text
            for text in hidden
            if len(text) >= SHORTEST and not HARMLESS.fullmatch(text)
        ),
        key=len,
        reverse=True,
    )
    _never_shown = (
        re.compile("|".join(map(_to_pattern, found))) if found else None
    )


def _to_pattern(text: str) -> str:
    """Return what finds a value: a single word only where it stands alone,
    as ``kafka`` is a host's name and also a part of other words.
    """
    escaped = re.escape(text)
    return rf"\b{escaped}\b" if text.isalpha() else f"(?i:{escaped})"


def may_quote(text: str) -> bool:
    """Return whether a text may be quoted of which nothing is known.

    Not an address, which may hold a password, nor anything that has the form
    of a known key.
    """
    return not (
        "://" in text or "@" in text or KNOWN_SECRET.search(text) is not None
    )


def hide_secrets(text: str) -> str:
    """Return a text without secrets.

    Hidden are the values that the configuration hides, users, passwords and
    queries of addresses, and known kinds of keys.
    """
    if _never_shown is not None:
        text = _never_shown.sub(HIDDEN, text)
    if "://" in text:
        text = USER_IN_ADDRESS.sub(f"{HIDDEN}@", text)
        text = QUERY.sub(rf"\1?{HIDDEN}", text)
    return KNOWN_SECRET.sub(HIDDEN, text)


def hide_in(value: Any) -> Any:
    """Return a document without secrets in its texts, at any depth."""
    match value:
        case str():
            return hide_secrets(value)
        case Mapping():
            return {key: hide_in(part) for key, part in value.items()}
        case list() | tuple():
            return [hide_in(part) for part in value]
        case _:
            return value


def looks_secret(name: str, *, in_data: bool = False) -> bool:
    """Return whether the value that goes by a name may be a secret.

    Parameters
    ----------
    name
        Name of a setting, a header or a field.
    in_data
        The name is of a part of data, such as a log line or a dashboard, where
        `key` alone is a record's or a tag's. In a configuration it hides its
        value like any other word.
    """
    if in_data and DATA_KEY.fullmatch(name):
        return False
    return SECRET_WORD.search(name) is not None
