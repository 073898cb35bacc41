"""What failed once, and a few changes of it, for every decoder."""

import pytest

from .run import CORPUS, attempt, corpus_of, run
from .targets import TARGETS

pytestmark = pytest.mark.slow


MOST = 150
"""Inputs of one decoder: a few dozen for each of its examples."""

SEED = 13


def test_every_decoder_has_examples_and_no_others_do() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_of_the_corpus_is_decoded_or_refused(name: str) -> None:
    target = TARGETS[name]
    for file, data in corpus_of(target).items():
        try:
            run(target, data)
        except Exception as e:
            e.add_note(f"input: {CORPUS / name / file}")
            raise


@pytest.mark.parametrize("name", TARGETS)
def test_a_hostile_input_is_decoded_or_refused(name: str) -> None:
    _, failure = attempt(TARGETS[name], MOST, seed=SEED)
    assert failure is None, f"{failure.data!r}\n{failure.traceback}"
