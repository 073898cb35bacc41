"""Shows an item, and what changes in it, without its secrets."""

import json
from collections.abc import Collection
from difflib import unified_diff

from ..domain.promotion.hiding import hide, hide_in
from .item import Item
from .plan import Change

__all__ = ["render", "render_change"]


def render(item: Item, secrets: Collection[str]) -> str:
    """Return an item as text: what is not a script as JSON.

    Parameters
    ----------
    item
        What to show.
    secrets
        Values that must not be shown, beside those that look secret.
    """
    rest = {k: v for k, v in item.content.items() if k != "script"}
    text = json.dumps(
        hide_in(rest), indent=2, sort_keys=True, ensure_ascii=False
    )
    return hide(f"{text}\n{item.content.get('script', '')}", secrets)


def render_change(
    change: Change, site: str, secrets: Collection[str]
) -> list[str]:
    """Return the lines of a unified diff.

    Parameters
    ----------
    change
        What changes.
    site
        Where.
    secrets
        Values that must not be shown, beside those that look secret.
    """
    old = render(change.there, secrets) if change.there else ""
    new = render(change.wanted, secrets)
    name = f"{site}: {change.wanted}"
    lines = list(
        unified_diff(
            old.splitlines(),
            new.splitlines(),
            f"a {name}" if change.there else "nothing",
            f"b {name}",
            lineterm="",
        )
    )
    if not lines:
        lines = [f"--- a {name}", f"+++ b {name}", " (differs in secrets)"]
    return lines
