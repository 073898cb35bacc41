"""Changes that make a site's items equal to those that are copied to it."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from .exceptions import PromotionError
from .item import Item, hide, hide_in

__all__ = ["PlannedChange", "make_plan", "render_change"]


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """Change to a site: an item to be created or changed."""

    wanted: Item
    there: Item | None

    @property
    def verb(self) -> str:
        """``create`` or ``change``."""
        return "create" if self.there is None else "change"


def make_plan(
    wanted: Iterable[Item], there: Sequence[Item], site: str
) -> list[PlannedChange]:
    """Compare items with those of the same kind and name at a site.

    Raises
    ------
    PromotionError
        Raised if two items have one name, on either side.
    """
    changes = []
    seen = set[tuple[str, str]]()
    for item in wanted:
        key = (item.kind, item.name)
        same = [i for i in there if (i.kind, i.name) == key]
        if len(same) > 1:
            raise PromotionError(f"{site} has two of {item}: rename one there")
        if key in seen:
            raise PromotionError(
                f"two items would be {item} at {site}: rename one, or leave "
                "it out with --only"
            )
        seen.add(key)
        old = same[0] if same else None
        if old is None or old.content != item.content:
            changes.append(PlannedChange(item, old))
    return changes


def _render(item: Item, secrets: Collection[str]) -> str:
    rest = {k: v for k, v in item.content.items() if k != "script"}
    text = json.dumps(
        hide_in(rest), indent=2, sort_keys=True, ensure_ascii=False
    )
    return hide(f"{text}\n{item.content.get('script', '')}", secrets)


def render_change(
    change: PlannedChange, site: str, secrets: Collection[str]
) -> list[str]:
    """Return the lines of a unified diff without secrets.

    Parameters
    ----------
    change
        Change to show.
    site
        Name of the site that is changed.
    secrets
        Values to hide, beside those that look secret.
    """
    old = _render(change.there, secrets) if change.there else ""
    new = _render(change.wanted, secrets)
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
