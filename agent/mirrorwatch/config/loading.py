"""From a document to a model: every problem at once, and no secret told."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from .base import Model
from .document import Document
from .messages import show_value, translate
from .problems import Problem, YamlPath
from .references import Referenced, ReferenceFailedError, resolve

__all__ = ["load"]

M = TypeVar("M", bound=Model)


def load(
    model: type[M],
    document: Document,
    check_parts: Callable[[Any], Sequence[Problem]],
) -> M:
    """Validate a document.

    Parameters
    ----------
    model
        Model of the whole.
    document
        What was read.
    check_parts
        Checks the rules between those parts that are right, where others
        are wrong, so that nobody has to mend one problem to see the next.

    Raises
    ------
    ConfigError
        Raised with all problems.
    """
    if document.data is None:
        raise document.to_error(
            [Problem((), "is empty; needed are clusters and flows")]
        )
    problems = list(document.problems)
    data = _resolve_all(document.data, (), problems)
    unresolved = {p.path for p in problems}
    try:
        loaded = model.model_validate(data)
    except ValidationError as e:
        found = translate(e, data, model)
        found += [show_value(p, data) for p in check_parts(data)]
        problems += [p for p in found if p.path not in unresolved]
    if problems:
        # Not `from e`: pydantic's error may quote values.
        raise document.to_error(problems) from None
    return loaded


def _resolve_all(value: Any, path: YamlPath, problems: list[Problem]) -> Any:
    """Put the values in the place of all references."""
    match value:
        case dict():
            return {
                k: _resolve_all(v, (*path, k), problems)
                for k, v in value.items()
            }
        case list() | tuple():
            return [
                _resolve_all(v, (*path, i), problems)
                for i, v in enumerate(value)
            ]
        case str():
            try:
                return resolve(value)
            except ReferenceFailedError as e:
                problems.append(Problem(path, str(e)))
                return Referenced()
        case _:
            return value
