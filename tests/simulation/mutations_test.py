"""Every mutation still breaks something."""

from pathlib import Path

import pytest

from .mutations import DOMAIN, FILES, MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_is_broken_is_there_once(mutation: Mutation) -> None:
    text = (ROOT / DOMAIN / mutation.file).read_text()
    assert text.count(mutation.old) == 1


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_found_it_before_is_there(mutation: Mutation) -> None:
    files = (*FILES, Path("tests/simulation/script.py"))
    assert any(mutation.by in (ROOT / file).read_text() for file in files)


def test_no_two_have_a_name() -> None:
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)
