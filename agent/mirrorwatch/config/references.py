"""`${env:NAME}` and `${file:/path}`: secrets live outside the YAML file."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ReferenceFailedError", "Referenced", "resolve"]

REFERENCE = re.compile(r"\$(?P<escaped>\$)?\{(?P<kind>\w+):(?P<name>[^}]*)\}")
"""A reference. ``${topic}`` of a naming format has no colon, so it is none;
``$${env:X}`` stands for the text ``${env:X}``."""


class Referenced(str):
    """Text that came, at least in part, from a reference: never shown."""

    __slots__ = ()


class ReferenceFailedError(ValueError):
    """A reference leads nowhere. The message names it, never a value."""


def resolve(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Put the values in the place of the references in a text.

    Parameters
    ----------
    text
        Text that may hold references.
    environment
        Environment variables, by default those of the process.

    Raises
    ------
    ReferenceFailedError
        Raised if a variable is not set, or a file cannot be read.
    """
    known = os.environ if environment is None else environment
    referenced = False

    def replace(match: re.Match[str]) -> str:
        nonlocal referenced
        if match["escaped"]:
            return match[0][1:]
        referenced = True
        return _look_up(match[0], match["kind"], match["name"], known)

    resolved = REFERENCE.sub(replace, text)
    return Referenced(resolved) if referenced else resolved


def _look_up(
    reference: str, kind: str, name: str, environment: Mapping[str, str]
) -> str:
    match kind:
        case "env":
            if name not in environment:
                raise ReferenceFailedError(
                    f"{reference}: the environment variable is not set"
                )
            return environment[name]
        case "file":
            try:
                # Files made by editors and `echo` end in a line feed.
                return Path(name).read_text("utf-8").rstrip("\r\n")
            except OSError as e:
                raise ReferenceFailedError(
                    f"{reference}: cannot read the file ({e.strerror})"
                ) from e
            except ValueError as e:
                raise ReferenceFailedError(
                    f"{reference}: the file is not UTF-8 text"
                ) from e
        case _:
            raise ReferenceFailedError(
                f"{reference}: unknown kind of reference; "
                "allowed are ${env:NAME} and ${file:/path}"
            )
