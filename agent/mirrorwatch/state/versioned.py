"""Values of an audit as JSON documents that carry their version."""

import json
from typing import Any, TypeVar

from ..exceptions import AuditError
from .codec import from_json, to_json

__all__ = ["SCHEMA_VERSION", "check_version", "from_versioned", "to_versioned"]

T = TypeVar("T")

SCHEMA_VERSION = 1
"""Of everything that audits keep. Changes when a reader of the version before
could misunderstand something."""


def to_versioned(value: Any) -> str:
    """Return a dataclass of the domain on one line, with the version."""
    return f'{{"schema_version":{SCHEMA_VERSION},"value":{to_json(value)}}}'


def from_versioned(kind: type[T], text: str, where: str) -> T:
    """Read what `to_versioned` wrote.

    Parameters
    ----------
    kind
        Dataclass of the value.
    text
        The document.
    where
        Where it is from, for errors.

    Raises
    ------
    AuditError
        Raised if it was written by another version, or is something else.
    """
    try:
        document = json.loads(text)
        check_version(document["schema_version"], where)
        return from_json(kind, json.dumps(document["value"]))
    # What cattrs raises is a group of what went wrong with each field.
    except (ValueError, TypeError, KeyError, ExceptionGroup) as e:
        raise AuditError(f"{where} is not what an audit keeps there") from e


def check_version(
    version: object, where: str, *, wanted: int = SCHEMA_VERSION
) -> None:
    """Refuse what another version wrote.

    Raises
    ------
    AuditError
        Raised with the remedy.
    """
    if version != wanted:
        raise AuditError(
            f"{where} has version {version!r}, and this mirrorwatch reads "
            f"version {wanted}: use the one that wrote it, or another folder "
            "(audit.out)"
        )
