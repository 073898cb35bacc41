"""Makes of one site's items what another site needs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from mirrorwatch.exceptions import ConfigError

from .chronograf import rewrite_chronograf
from .exceptions import PromotionError
from .grafana import rewrite_grafana
from .item import Item, hide
from .kapacitor import rewrite_handler, rewrite_task
from .values import Rewriter, Translation

__all__ = ["select", "translate"]


Json = Mapping[str, Any]

HINT = "template-script"
"""Where `rewrite_task` looks for the script of a task's template."""

REWRITE: Mapping[str, Callable[[Json, Rewriter], dict[str, Any]]] = {
    "chronograf": rewrite_chronograf,
    "grafana": rewrite_grafana,
    "handler": rewrite_handler,
    "task": rewrite_task,
    "template": rewrite_task,
}


def select(
    items: Sequence[Item],
    site: str,
    only: Iterable[str],
    kind: str | None,
    *,
    unique: bool = True,
) -> list[Item]:
    """Return what is to be copied, templates before the tasks of them.

    Parameters
    ----------
    items
        Everything there.
    site
        Where that is, for messages.
    only
        Names or patterns with ``*`` and ``?``, of names or titles; none
        means all.
    kind
        The one kind that is wanted, if not all are.
    unique
        Whether names must tell items apart.

    Raises
    ------
    ConfigError
        Raised if a pattern fits nothing.
    PromotionError
        Raised if two items cannot be told apart.
    """
    here = [item for item in items if kind in {None, item.kind}]
    chosen = here
    if patterns := tuple(only):
        chosen = [i for i in here if any(_fits(i, p) for p in patterns)]
        for pattern in patterns:
            if not any(_fits(item, pattern) for item in here):
                known = ", ".join(sorted(i.title for i in here)) or "nothing"
                raise ConfigError(
                    f"{site} has nothing called {pattern!r}; it has {known}"
                )
    wanted = {i.content.get("template-id") for i in chosen} - {None}
    chosen = [
        i
        for i in items
        if i in chosen or (i.kind == "template" and i.name in wanted)
    ]
    names = [(item.kind, item.name) for item in chosen]
    for item in chosen if unique else ():
        if names.count((item.kind, item.name)) > 1:
            raise PromotionError(
                f"{site} has two of {item}: rename one, so that they can be "
                "told apart"
            )
    return chosen


def translate(
    items: Iterable[Item],
    translation: Translation,
    target: str,
    secrets: Collection[str] = (),
) -> list[Item]:
    """Return what the other site needs.

    Parameters
    ----------
    items
        What is to be copied.
    translation
        From the values of the one site to those of the other.
    target
        Name of the other site, for messages.
    secrets
        Values that must not be shown.

    Raises
    ------
    ConfigError
        Raised with every value that the map does not know.
    """
    result, stops = [], []
    for item in items:
        rewriter = Rewriter(translation)
        with rewriter.at(str(item)):
            content = REWRITE[item.kind](
                {**item.content, HINT: item.hint}, rewriter
            )
        content.pop(HINT, None)
        stops += rewriter.stops
        name = item.name
        if item.kind == "handler":
            name = f"{content['topic']}/{content['id']}"
        title = item.title if name == item.name else name
        result.append(replace(item, content=content, name=name, title=title))
    if stops:
        lines = dict.fromkeys(hide(f"  {stop}", secrets) for stop in stops)
        told = "\n".join(lines)
        raise ConfigError(
            f"Nothing was copied to {target}, as the map of sites does not "
            f"say what these are called there:\n{told}\nName them in the "
            "sites file, at both sites under values or once under everywhere."
        )
    return result


def _fits(item: Item, pattern: str) -> bool:
    return fnmatchcase(item.name, pattern) or fnmatchcase(item.title, pattern)
