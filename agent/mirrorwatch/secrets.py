"""Which names speak of secrets: of settings, of log fields, of parts of rules.

One list for everything that is shown, because a word that one place knows and
another does not is a leak.
"""

import re

__all__ = [
    "DATA_KEY",
    "HIDDEN",
    "SECRET_WORD",
    "hide_secrets",
    "looks_secret",
    "may_quote",
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
"""Query and fragment of an address."""


def may_quote(text: str) -> bool:
    """Return whether a text may be quoted of which nothing is known.

    Not an address, which may hold a password, nor anything that has the form
    of a known key.
    """
    return not (
        "://" in text or "@" in text or KNOWN_SECRET.search(text) is not None
    )


def hide_secrets(text: str) -> str:
    """Return a text without what has the form of a secret.

    Users, passwords and queries of addresses, and known kinds of keys.
    """
    if "://" in text:
        text = USER_IN_ADDRESS.sub(f"{HIDDEN}@", text)
        text = QUERY.sub(rf"\1?{HIDDEN}", text)
    return KNOWN_SECRET.sub(HIDDEN, text)


def looks_secret(name: str, *, in_data: bool = False) -> bool:
    """Return whether the value that goes by a name may be a secret.

    Parameters
    ----------
    name
        Name of a setting, a header or a field.
    in_data
        Whether it names a part of data, such as a log line or a dashboard,
        where `key` alone is a record's or a tag's. In a configuration it
        hides its value like any other word.
    """
    if in_data and DATA_KEY.fullmatch(name):
        return False
    return SECRET_WORD.search(name) is not None
