"""Turns pydantic's errors into problems that a person can act on."""

import difflib
import re
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..domain.selection import PatternError
from .problems import Problem, ProblemsError, YamlPath
from .references import Referenced, smells_secret

__all__ = ["NEVER_SHOWN", "show_value", "translate"]

NEVER_SHOWN = "never_shown"
"""Type of errors whose value must not be shown, whatever its key."""

PLAIN = {
    "missing": "is missing, and is required",
    "string_type": "must be text (numbers and dates need quotes)",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "path_type": "must be the path of a file",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "byte_size": "must be a size in bytes, such as 100000 or 512KiB",
    "byte_size_unit": "must be a size in bytes, such as 100000 or 512KiB",
}
"""Our words for pydantic's types of errors."""

BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}

MILLISECONDS = re.compile("(?<=[0-9])000 microseconds")
"""The end of what pydantic calls a tenth of a second."""

VALUELESS = {"missing", "extra_forbidden", NEVER_SHOWN}
"""Errors where the value is beside the point, or secret."""

FOLLOWING = {"default_factory_not_called"}
"""Errors that only follow from another one."""


def translate(
    error: ValidationError, data: Any, model: type[BaseModel]
) -> list[Problem]:
    """Translate pydantic's errors.

    Parameters
    ----------
    error
        What pydantic found.
    data
        What it was given, for the values and to know which keys exist.
    model
        Model of the whole.
    """
    details = error.errors(include_url=False, include_input=False)
    problems: list[Problem] = []
    for detail in details:
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ProblemsError):
            problems += [
                show_value(
                    Problem(detail["loc"] + p.path, p.message), data, inner
                )
                for p in inner.problems
            ]
        elif not _follows(detail, details):
            problems.append(_translate_one(detail, data, model))
    return problems


def _find_value(data: Any, path: YamlPath) -> tuple[YamlPath, Any]:
    """Return the value at a path, or the scalar that stands in its way."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict | list):
            return path[:depth], data
        try:
            data = data[part]  # type: ignore[index]
        except (KeyError, IndexError):
            return path, None
    return path, data


def _is_secret(path: YamlPath, value: Any) -> bool:
    """Tell whether a value must not be shown."""
    return isinstance(value, Referenced) or any(
        isinstance(part, str) and smells_secret(part) for part in path
    )


def _follows(detail: ErrorDetails, others: Sequence[ErrorDetails]) -> bool:
    """Tell whether an error only follows from another."""
    loc = detail["loc"]
    return detail["type"] in FOLLOWING or (
        # A list whose only item is wrong counts as empty.
        detail["type"] == "too_short"
        and any(o["loc"][: len(loc)] == loc != o["loc"] for o in others)
    )


def _translate_one(
    detail: ErrorDetails, data: Any, model: type[BaseModel]
) -> Problem:
    kind, loc = detail["type"], detail["loc"]
    context = detail.get("ctx", {})
    inner = context.get("error")
    if kind == "extra_forbidden":
        message = _describe_unknown(loc, model)
    elif kind == "literal_error":
        message = f"must be {context['expected']}"
    elif kind in BOUNDS:
        key, words = BOUNDS[kind]
        bound = MILLISECONDS.sub("ms", str(context[key]))
        message = f"must be {words} {bound}"
    elif inner is not None:
        message = str(inner)
    else:
        message = PLAIN.get(kind, detail["msg"])
    problem = Problem(loc, message, shows_value=kind not in VALUELESS)
    return show_value(problem, data, inner)


def show_value(problem: Problem, data: Any, inner: object = None) -> Problem:
    """Add the value if it is a scalar and no secret."""
    path, value = _find_value(data, problem.path)
    message = problem.message
    if _is_secret(path, value):
        if isinstance(inner, PatternError):
            message = "not a usable regex"
    elif problem.shows_value and isinstance(value, str | int | float):
        message += f" (is {value!r})"
    return Problem(path, message)


def _describe_unknown(loc: YamlPath, model: type[BaseModel]) -> str:
    known = sorted(_model_at(model, loc[:-1]).model_fields)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown key; {hint}allowed are {', '.join(known)}"


def _model_at(model: type[BaseModel], loc: YamlPath) -> type[BaseModel]:
    """Return the model of the block at a path."""
    found: Any = model
    for part in loc:
        if isinstance(found, type) and issubclass(found, BaseModel):
            found = _strip(found.model_fields[str(part)].annotation)
        else:
            # A tuple's items, or a dictionary's values.
            arguments = [a for a in get_args(found) if a is not Ellipsis]
            found = _strip(arguments[-1])
    model_found: type[BaseModel] = found
    return model_found


def _strip(annotation: Any) -> Any:
    """Take ``| None`` off an annotation."""
    arguments = get_args(annotation)
    if type(None) in arguments:
        return next(a for a in arguments if a is not type(None))
    return annotation
