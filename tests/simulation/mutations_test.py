"""Every mutation still breaks something."""

import pytest

from .mutations import DOMAIN, MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_is_broken_is_there_once(mutation: Mutation) -> None:
    text = (ROOT / DOMAIN / mutation.file).read_text()
    assert text.count(mutation.old) == 1


def test_no_two_have_a_name() -> None:
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)
