"""Dashboards and alert rules are found in a checkout and in a wheel."""

from pathlib import Path

import pytest

from mirrorwatch.exceptions import ConfigError
from mirrorwatch_promotion.bundled_files import bundled_folder

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["alerts", "dashboards"])
def test_a_checkout_ships_what_is_kept_at_its_top(kind: str) -> None:
    assert bundled_folder(kind) == ROOT / kind


def test_an_installed_package_ships_its_own(tmp_path: Path) -> None:
    for parent in ("share", "checkout"):
        (tmp_path / parent / "alerts").mkdir(parents=True)
    found = bundled_folder(
        "alerts",
        installed=tmp_path / "share",
        checkout=tmp_path / "checkout",
    )
    assert found == tmp_path / "share" / "alerts"


def test_an_installation_without_them_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Install mirrorwatch from its"):
        bundled_folder(
            "alerts", installed=tmp_path / "a", checkout=tmp_path / "b"
        )
