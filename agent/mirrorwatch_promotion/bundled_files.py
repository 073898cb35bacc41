"""Folders of the dashboards and alert rules of this version."""

from pathlib import Path

from mirrorwatch.exceptions import ConfigError

__all__ = ["bundled_folder"]

PACKAGE = Path(__file__).parent

INSTALLED = PACKAGE / "share"
"""Parent folder in the wheel (``force-include`` in pyproject.toml)."""

CHECKOUT = PACKAGE.parent.parent
"""Parent folder in a git checkout: the top, for people to find them."""


def bundled_folder(
    kind: str, *, installed: Path = INSTALLED, checkout: Path = CHECKOUT
) -> Path:
    """Return the folder of what is shipped of one kind.

    Parameters
    ----------
    kind
        ``dashboards`` or ``alerts``.
    installed
        Folder in an installed package.
    checkout
        Folder in a checkout.

    Raises
    ------
    ConfigError
        Raised if neither has it: the package was put together by hand.
    """
    for parent in (installed, checkout):
        if (folder := parent / kind).is_dir():
            return folder
    raise ConfigError(
        f"This installation has no {kind}: neither {installed / kind} nor"
        f" {checkout / kind} is there. Install mirrorwatch from its wheel."
    )
