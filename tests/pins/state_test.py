"""A state file of an agent of 2026-11-22 is read, and loses nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from .pinned import DATA, kept, pinned, plain
from .seam_agent import build_on, counted_on, kept_audits
from .seam_state import contents

KNOWN = pinned("state")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "state.db", tmp_path))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("state")
    return plain(contents(Path(shutil.copy(DATA / "state.db", folder))))


@pytest.mark.parametrize("part", sorted(KNOWN.keys() - {"counted_on"}))
def test_nothing_that_is_in_it_is_lost(found: Any, part: str) -> None:
    assert kept(found[part], KNOWN[part]) == KNOWN[part]


def test_an_agent_that_is_wired_on_it_changes_nothing(
    state: Path, tmp_path: Path
) -> None:
    build_on(state, tmp_path / "audits")
    found = plain(contents(state)) | {"counted_on": KNOWN["counted_on"]}
    assert kept(found, KNOWN) == KNOWN


def test_nothing_that_is_in_it_is_counted_again(state: Path) -> None:
    assert counted_on(state) == KNOWN["counted_on"]


def test_results_of_its_audits_are_read(tmp_path: Path) -> None:
    audits = Path(shutil.copytree(DATA / "audits", tmp_path / "audits"))
    known = pinned("audits")
    assert kept(plain(kept_audits(audits)), known) == known
