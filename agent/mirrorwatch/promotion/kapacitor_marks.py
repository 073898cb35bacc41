"""Marks by which Kapacitor's copies are known."""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "has_mark",
    "mark_id",
    "mark_script",
    "mark_vars",
    "unmark_id",
    "unmark_script",
    "unmark_vars",
]

LINE = "// Copied by mirrorwatch. What is changed here is overwritten.\n"
"""First line of a script. Chronograf's form for rules writes a script anew,
without it: what a person has changed there is that person's."""

VARIABLE = "copied_by_mirrorwatch"
"""Variable of a task whose script is a template's."""

SUFFIX = ".by-mirrorwatch"
"""End of a handler's id: Kapacitor refuses options that it does not know."""


def has_mark(script: str) -> bool:
    """Tell whether a script is marked."""
    return script.startswith(LINE)


def mark_script(script: str) -> str:
    """Return a script with the mark."""
    return LINE + script


def unmark_script(script: str) -> str:
    """Return a script without the mark."""
    return script.removeprefix(LINE)


def mark_vars(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables with the mark."""
    mark = {"type": "bool", "value": True, "description": LINE[3:-1]}
    return {**variables, VARIABLE: mark}


def unmark_vars(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables without the mark."""
    return {k: v for k, v in variables.items() if k != VARIABLE}


def mark_id(name: str) -> str:
    """Return a handler's id with the mark."""
    return name + SUFFIX


def unmark_id(name: str) -> str:
    """Return a handler's id without the mark."""
    return name.removesuffix(SUFFIX)
