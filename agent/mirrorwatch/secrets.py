"""Which names speak of secrets: of settings, of log fields, of parts of rules.

One list for everything that is shown, because a word that one place knows and
another does not is a leak.
"""

import re

__all__ = ["DATA_KEY", "HIDDEN", "SECRET_WORD", "looks_secret"]

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
