"""A recorded stretch of real faults means today what it meant then."""

from functools import cache

from .pinned import pinned
from .replay import Said, differences

CHANGED = "python -m tests.pins.record sentences pins them anew"


@cache
def now() -> tuple[list[str], Said]:
    return differences()


def test_trackers_and_checks_conclude_what_they_did() -> None:
    wrong, _ = now()
    assert wrong == []


def test_reasons_are_what_they_were() -> None:
    _, said = now()
    assert said.reasons == pinned("reasons"), CHANGED


def test_sentences_of_trackers_are_what_they_were() -> None:
    _, said = now()
    assert said.others == pinned("facts.said"), CHANGED
