"""Rules that the proof of the audit breaks are where it looks for them."""

import pytest

from tests.support.audit_mutations import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_what_is_broken_is_there_once(mutation: Mutation) -> None:
    assert mutation.code != mutation.function.__code__


def test_no_two_have_a_name() -> None:
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)
