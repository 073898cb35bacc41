"""Rewrites what Kapacitor keeps: tasks, templates, topic handlers.

What is rewritten is the part of the server's answer that was given to it:
see `mirrorwatch.promotion.kapacitor`.
"""

from collections.abc import Mapping
from typing import Any

from .rewriter import Rewriter
from .slots import Slot, Slots, fill, find_slot
from .tickscript import TickScript
from .values import Kind

__all__ = ["rewrite_handler", "rewrite_task"]

Json = Mapping[str, Any]


def rewrite_task(task: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a task, or a template, as the other site needs it.

    Parameters
    ----------
    task
        ``script``, ``vars`` and ``dbrps``, each if it has one; the rest is
        left as it is. A task of a template has the template's script as
        ``template-script``, which tells how its variables are read.
    rewriter
        Knows the values, and collects what it does not know.
    """
    result = dict(task)
    script = TickScript(task.get("script") or task.get("template-script", ""))
    with rewriter.at("script"):
        if "script" in task:
            result["script"] = script.rewrite(rewriter)
    for key, value in task.get("vars", {}).items():
        used = filter(None, [script.property_of(key)])
        with rewriter.at(f"variable {key}", *used):
            slots = script.slots_of(key)
            new = _rewrite_variable(value, slots, rewriter)
            result["vars"] = {**result["vars"], key: new}
    if "dbrps" in task:
        with rewriter.at("dbrps"):
            result["dbrps"] = [
                {
                    "db": rewriter.exact(Kind.DATABASE, pair["db"]),
                    "rp": rewriter.exact(Kind.RETENTION_POLICY, pair["rp"]),
                }
                for pair in task["dbrps"]
            ]
    return result


def rewrite_handler(handler: Json, rewriter: Rewriter) -> dict[str, Any]:
    """Return a topic handler as the other site needs it.

    Parameters
    ----------
    handler
        ``topic``, ``id``, ``kind``, ``options`` and ``match``.
    rewriter
        Knows the values, and collects what it does not know.
    """
    result = dict(handler)
    with rewriter.at("topic"):
        result["topic"] = rewriter.prefixed(handler["topic"])
    with rewriter.at("match"):
        result["match"] = TickScript(handler["match"]).rewrite(rewriter)
    options = handler.get("options") or {}
    with rewriter.at("options"):
        result["options"] = {
            key: _rewrite_option(key, value, rewriter)
            for key, value in options.items()
        }
    return result


def _rewrite_variable(
    variable: Json, slots: Slots, rewriter: Rewriter
) -> dict[str, Any]:
    value = variable.get("value")
    new: Any = value
    match variable.get("type"), value:
        case "string", str():
            new = fill(slots, value, rewriter)
        case "lambda", str():
            new = TickScript(value).rewrite(rewriter)
        case "regex", str():
            new = rewriter.regex(value)
        case "list", list():
            new = [_rewrite_variable(v, slots, rewriter) for v in value]
        case _:
            pass  # numbers, durations and the like name nothing
    return {**variable, "value": new}


def _rewrite_option(key: str, value: Any, rewriter: Rewriter) -> Any:
    with rewriter.at(key):
        match value:
            case str():
                return fill((find_slot(key) or Slot.TEXT,), value, rewriter)
            case list():
                return [_rewrite_option(key, v, rewriter) for v in value]
            case dict():
                return {
                    k: _rewrite_option(k, v, rewriter)
                    for k, v in value.items()
                }
            case _:
                return value
