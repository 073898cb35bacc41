import itertools
import re
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.config import Config
from mirrorwatch.config.overlap import (
    CommonTopics,
    UndecidedError,
    find_common_topic,
    rename,
)
from mirrorwatch.config.root import find_undecided
from mirrorwatch.domain.topics import (
    DefaultNaming,
    FormatNaming,
    IdentityNaming,
    Selection,
)
from mirrorwatch.exceptions import ConfigError
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
    [r"(a)\1", r"(?<=a)b", r"\bab", r"a++a.*b", r"(?=(?:.*x.{40}))a.*b"],
)
def test_what_cannot_be_decided_is_said(pattern: str) -> None:
    other = Selection(include=(r"a.*b.*", r"[.]*-"), exclude=(r".*x.{40}",))
    with pytest.raises(UndecidedError, match="cannot be decided"):
        find_common_topic((Selection(include=(pattern,)), other))


@pytest.mark.parametrize(
    ("pattern", "common"),
    [
        (r"a|^ab", "ab"),
        (r".*x.{12}", "abxaaaaaaaaaaaa"),
        (r"a$|b", None),
        (r"(?:(?!ab).)*", None),
        (r"(?=.*c)(?=.*d).*", "abcd"),
        (r"(?!.*[c-z]).{5}", "abaaa"),
        (r"((a*)*b)*", "ab"),
    ],
)
def test_anchors_and_look_ahead_are_decided(
    pattern: str, common: str | None
) -> None:
    other = Selection(include=(r"ab.*",))
    assert find_common_topic((Selection(include=(pattern,)), other)) == common


def alternatives(letters: str) -> tuple[str, ...]:
    """Return patterns that make exponentially many states together."""
    return tuple(f".*{letter}.*" for letter in letters)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (alternatives("ABCDEFGHIJ"), alternatives("KLMNOPQRST")),
        ((f"({'|'.join(alternatives('ABCDEFGHIJ'))})",), ("x.*",)),
        (("".join(f"(?=.*{x})" for x in "ABCDEFGHIJKLMNOP") + ".*",), ("a*",)),
        ((r".*x.{200}",), (r".*y.{200}",)),
        ((r"(.*a){50}",), (r"(.*b){50}",)),
        ((r"((a{1,200}){1,200}){1,200}",), ("b.*",)),
        ((r"(([a-z]+)+)+",), (r"(([A-Z]+)+)+",)),
        (alternatives("ABCDEFGHIJ"), (r"[^A-J]*",)),
    ],
)
def test_no_question_takes_longer_than_its_bound(
    one: tuple[str, ...], two: tuple[str, ...]
) -> None:
    before = time.process_time()
    with suppress(UndecidedError):
        find_common_topic((Selection(include=one), Selection(include=two)))
    # Work is counted; this is the time of a slow machine.
    assert time.process_time() - before < 5


def test_all_questions_of_a_configuration_have_one_bound() -> None:
    topics = CommonTopics()
    before = time.process_time()
    undecided = 0
    for number in range(60, 100):
        one = Selection(include=(f".*x.{{{number}}}",))
        two = Selection(include=(f"[^x]*y.{{{number}}}",), exclude=one.include)
        try:
            topics.find(one, two)
        except UndecidedError:
            undecided += 1
    assert undecided > 30
    assert time.process_time() - before < 20


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


def mesh(sites: int, **flow: Any) -> dict[str, Any]:
    """Return a configuration in which every site copies from every other."""
    names = [f"site{number}" for number in range(sites)]
    return {
        "clusters": {
            n: {"kafka": {"bootstrap.servers": f"{n}:9092"}} for n in names
        },
        "flows": [
            {
                "source": one,
                "target": two,
                "topics": {"include": [f"{one}[.].*"]},
                "canary": {"topic": f"{one}.canary"},
                "naming": "identity",
                **flow,
            }
            for one, two in itertools.permutations(names, 2)
        ],
    }


def test_a_mesh_of_nine_clusters_loads_at_once() -> None:
    before = time.process_time()
    config = Config.from_mapping(mesh(9))
    assert find_undecided(config.flows) == []
    assert len(config.flows) == 72
    assert time.process_time() - before < 5


def test_a_mesh_whose_topics_replicate_in_loops_is_refused_at_once() -> None:
    before = time.process_time()
    with pytest.raises(ConfigError) as caught:
        Config.from_mapping(mesh(9, topics={"include": ["a.*"]}))
    lines = [x for x in str(caught.value).splitlines() if "in a loop" in x]
    assert len(lines) >= 36
    assert time.process_time() - before < 5
    with pytest.raises(ConfigError, match="the canary topic replicates in a"):
        Config.from_mapping(mesh(9, canary={"topic": "canary"}))


def test_a_mesh_beyond_the_bound_is_noted() -> None:
    before = time.process_time()
    data = mesh(9)
    for number, flow in enumerate(data["flows"]):
        source = flow["source"]
        flow["topics"]["include"] = [
            f"{source}[.](?:[^x]*x.{{{50 + number}}}|.*)(?<!b)",
        ]
    config = Config.from_mapping(data)
    notes = find_undecided(config.flows)
    assert "whether their topics overlap cannot be decided" in notes[0]
    assert len(notes) == 21
    assert notes[-1].endswith("more of these questions cannot be decided")
    assert time.process_time() - before < 5
