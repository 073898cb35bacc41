"""Rewrites what variables of Grafana's dashboards can be, and are."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from .rewriter import Rewriter
from .slots import fill, slots_of
from .values import Kind

__all__ = ["is_variable", "rewrite_variable"]

Json = Mapping[str, Any]

Rewrite = Callable[[str], str]

LISTED = {"custom", "constant", "textbox"}
"""Types whose choices stand in the dashboard itself."""

ASKED = {"query", "datasource", "interval"}
"""Types whose choices are found when it is looked at."""

COMMA = re.compile(r"(?<!\\),")
"""What separates choices; each may have a label before `` : ``."""


def is_variable(node: Json) -> bool:
    """Tell whether a part of a dashboard is one of its variables."""
    return "name" in node and node.get("type") in LISTED | ASKED


def rewrite_variable(variable: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return what is not left to the rules of other parts.

    Parameters
    ----------
    variable
        Its declaration.
    rewriter
        Knows the values and what variables stand for, and collects what it
        does not know.
    """
    slots = slots_of(variable["name"], rewriter)

    def rewrite(value: str) -> str:
        if value.startswith("$__"):
            return value  # all of them, or as Grafana thinks fit
        if variable["type"] != "datasource":
            return fill(slots, value, rewriter)
        if value == "default":
            return value
        return rewriter.exact(Kind.DATASOURCE, value)

    result: dict[str, Any] = {}
    with rewriter.at("query"):
        query = variable.get("query")
        if variable["type"] in LISTED and isinstance(query, str):
            result["query"] = _rewrite_listed(query, variable, rewrite)
        elif variable["type"] != "query" and "query" in variable:
            result["query"] = query  # a type of sources, or times
    if isinstance(variable.get("regex"), str):
        with rewriter.at("regex"):
            result["regex"] = rewriter.regex(variable["regex"])
    with rewriter.at("current"):
        if isinstance(variable.get("current"), dict):
            result["current"] = _rewrite_choice(variable["current"], rewrite)
    with rewriter.at("options"):
        if isinstance(variable.get("options"), list):
            result["options"] = [
                _rewrite_choice(option, rewrite)
                for option in variable["options"]
            ]
    return result


def _rewrite_listed(query: str, variable: Json, rewrite: Rewrite) -> str:
    if variable["type"] != "custom":
        return rewrite(query)
    choices = []
    for choice in COMMA.split(query):
        label, colon, value = choice.rpartition(" : ")
        bare = value.strip()
        choices.append(label + colon + value.replace(bare, rewrite(bare), 1))
    return ",".join(choices)


def _rewrite_choice(choice: Json, rewrite: Rewrite) -> dict[str, Any]:
    """Rewrite a value, or several of them; a label is for people."""
    value, text = choice.get("value"), choice.get("text")
    new = value
    if isinstance(value, str):
        new = rewrite(value)
    elif isinstance(value, list):
        new = [rewrite(v) if isinstance(v, str) else v for v in value]
    result = dict(choice)
    if "value" in choice:
        result["value"] = new
    if "text" in choice and text == value:
        result["text"] = new
    return result
