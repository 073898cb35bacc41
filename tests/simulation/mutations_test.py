"""Every mutation still breaks something."""

import ast
from pathlib import Path

import pytest

from .mutations import DOMAIN, FILES, MUTATIONS, ROOT, Mutation, draw_mutants

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_is_broken_is_there_once(mutation: Mutation) -> None:
    source = (ROOT / DOMAIN / mutation.file).read_text()
    assert mutation.broken(source) != ast.unparse(ast.parse(source))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_found_it_before_is_there(mutation: Mutation) -> None:
    files = (*FILES, Path("tests/simulation/script.py"))
    assert any(mutation.by in (ROOT / file).read_text() for file in files)


def test_mutants_are_broken() -> None:
    for mutant in draw_mutants():
        source = (ROOT / DOMAIN / mutant.file).read_text()
        assert mutant.broken(source) != ast.unparse(ast.parse(source))
