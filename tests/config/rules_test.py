import itertools
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.config.overlap import (
    UndecidedError,
    find_common_topic,
    rename,
)
from mirrorwatch.domain.topics import (
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Selection,
)
from tests.support.examples import examples

ALL_NAMES = [
    "".join(letters)
    for length in range(1, 6)
    for letters in itertools.product("ab.", repeat=length)
]
"""Every name of up to five characters, for the oracle."""

ATOMS = st.sampled_from(
    ["a", "b", r"\.", "[.]", ".", "[ab]", "[^a]", r"\w", "(?:ab)", "a|b"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "*?"])
PATTERNS = st.builds(
    "".join,
    st.lists(
        st.builds(lambda a, r: f"(?:{a}){r}", ATOMS, REPEATS),
        min_size=1,
        max_size=4,
    ),
)
SELECTIONS = st.builds(
    lambda include, exclude: Selection(
        include=tuple(include), exclude=tuple(exclude)
    ),
    st.lists(PATTERNS, min_size=1, max_size=3),
    st.lists(PATTERNS, max_size=2),
)


@examples(300)
@given(st.lists(SELECTIONS, min_size=1, max_size=3))
def test_the_answer_is_what_trying_all_names_says(
    selections: list[Selection],
) -> None:
    found = find_common_topic(selections)
    known = [n for n in ALL_NAMES if all(s.matches(n) for s in selections)]
    if found is None:
        assert known == []
    else:
        assert all(s.matches(found) for s in selections)
        assert re.fullmatch(r"[\w.-]+", found, re.ASCII)


@pytest.mark.parametrize(
    ("one", "two", "common"),
    [
        (r"lsst[.]sal[.].*", r".*logevent_.*", "lsst.sal.logevent_"),
        (r"lsst[.]sal[.]A.*", r"lsst[.]sal[.]B.*", None),
        (r"lsst\.sal\.(?!AT).*", r"lsst\.sal\.AT.*", None),
        (r"^orders$", r"orders", "orders"),
        (r"(?i)ORDERS", r"orders", "orders"),
        (r"a{3}", r"a{2,4}b?", "aaa"),
        (r"[a-f]+", r"[e-z]+", "e"),
        (r"\d+", r"[0-4]x?", "0"),
        (r"a#b", r"a.b", None),
    ],
)
def test_overlaps_are_found_and_nothing_else(
    one: str, two: str, common: str | None
) -> None:
    first, second = Selection(include=(one,)), Selection(include=(two,))
    assert find_common_topic((first, second)) == common
    assert (find_common_topic((second, first)) is None) == (common is None)


def test_exclusion_keeps_two_selections_apart() -> None:
    telemetry = Selection(exclude=(r"cmd\..*", r"event\..*"))
    commands = Selection(include=(r"cmd\..*", r"event\..*"))
    assert find_common_topic((telemetry, commands)) is None


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", r"(?<=a)b", r"\bab", r"a|^b", r".*x.{12}", r"a++a.*b"],
)
def test_what_cannot_be_decided_is_said(pattern: str) -> None:
    other = Selection(include=(r"a.*b.*", r"[.]*-"))
    with pytest.raises(UndecidedError, match="cannot reason"):
        find_common_topic((Selection(include=(pattern,)), other))


def test_a_name_that_is_spelled_out_is_tried_even_beside_odd_regexes() -> None:
    odd = Selection(include=(r"(?<=a)b", r".*x.{30}", r"\bab"))
    assert find_common_topic((odd, Selection(include=("ab",)))) == "ab"


@pytest.mark.slow
def test_lists_of_hundreds_of_topics_take_seconds_at_most() -> None:
    before = time.monotonic()
    one = Selection(include=tuple(f"lsst.sal.A{n}" for n in range(400)))
    two = Selection(include=tuple(f"lsst.sal.B{n}.*" for n in range(400)))
    assert find_common_topic((one, two)) is None
    assert time.monotonic() - before < 30


@pytest.mark.parametrize(
    "naming",
    [
        DefaultNaming(alias="summit"),
        IdentityNaming(alias="summit"),
        FormatNaming(format="up.${topic}.x"),
    ],
)
def test_a_renamed_selection_carries_the_target_names(
    naming: DefaultNaming | IdentityNaming | FormatNaming,
) -> None:
    selection = Selection(include=("a|b", "^c.*$"), exclude=("cx",))
    renamed = rename(selection, naming)
    for topic in ("a", "b", "c", "cd", "cx", "d", "ab"):
        carried = renamed.matches(naming.remote(topic))
        assert carried == selection.matches(topic)
