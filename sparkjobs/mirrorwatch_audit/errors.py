"""What Spark and its Java say, in words of ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mirrorwatch.exceptions import AuditError

__all__ = ["is_missing_path", "translated"]

JAVA_REMEDY = (
    "Spark needs Java 17 or newer: install it (Debian: apt-get install "
    "openjdk-17-jre-headless) and put it on PATH, or set JAVA_HOME"
)

LONGEST = 600
"""Most characters of a sentence of Spark's that are shown: some hold a whole
query."""

_CAUSE = re.compile(
    r"^(?:Caused by|.*most recent failure:.*?executor [^)]*\)|:)[: ]+"
    r"(?:[\w$]+\.)+(?P<kind>[\w$]+)(?:: (?P<words>.*))?$",
    re.MULTILINE,
)
"""A line of Java that says what it comes from; the last one is the root."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise what Spark raises as an error of ours.

    Parameters
    ----------
    doing
        What failed if it fails, as in "Cannot read the topics".

    Raises
    ------
    AuditError
        Raised with Spark's own reason in a sentence.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as e:
        raise AuditError(f"{doing}: {_reason(e)}") from e


def is_missing_path(error: PySparkException) -> bool:
    """Whether Spark says that a file or folder is not there."""
    return error.getCondition() == "PATH_NOT_FOUND"


def _reason(error: Exception) -> str:
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text or "JAVA_HOME is not set" in text:
        return f"Java did not start. {JAVA_REMEDY}"
    if isinstance(error, ConnectionError) or "Answer from Java" in text:
        return "Spark's Java process ended. Was it out of memory, or killed?"
    causes = list(_CAUSE.finditer(text))
    if causes:
        root = causes[-1]
        kind, words = root["kind"], root["words"]
        # The innermost cause may have no words; its name says something.
        return f"{words or 'no reason given'} ({kind})"[:LONGEST]
    return text.strip().partition("\n")[0][:LONGEST] or type(error).__name__
