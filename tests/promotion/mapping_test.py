"""Replacement of values: whole strings of JSON, and tokens within texts."""

import pytest

from mirrorwatch.exceptions import ConfigError
from mirrorwatch_promotion.item import Item
from mirrorwatch_promotion.mapping import find_leftovers, make_map

STAND = {
    "database": "efd_stand",
    "policy": "week",
    "number": "1",
    "topic": "stand.dome",
    "page": "http://stand:8080",
    "only-here": "nowhere",
}
SUMMIT = {
    "database": "efd",
    "policy": "raw",
    "number": "4",
    "topic": "summit.dome",
    "page": "https://summit",
}
VALUES = make_map(STAND, SUMMIT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("efd_stand", "efd"),
        ("1", "4"),
        ("nowhere", "nowhere"),
        (
            'SELECT x FROM "efd_stand"."week"."stand.dome" WHERE a > 1',
            'SELECT x FROM "efd"."raw"."summit.dome" WHERE a > 1',
        ),
        ("var db = 'efd_stand'\nvar n = '1'", "var db = 'efd'\nvar n = '4'"),
        ('up{instance="stand.dome"}', 'up{instance="summit.dome"}'),
        # Not a whole token, or not between quotes.
        ("efd_stand is the database", "efd_stand is the database"),
        ("'efd_stand_2' or 'my efd_stand'", "'efd_stand_2' or 'my efd_stand'"),
        ("see http://stand:8080/topics.", "see https://summit/topics."),
        ("http://stand:80801 http://stand:8080.b", None),
    ],
)
def test_a_value_is_replaced_where_it_is_a_whole_token(
    text: str, expected: str | None
) -> None:
    assert VALUES.apply(text) == (text if expected is None else expected)


def test_documents_are_replaced_at_any_depth_but_for_their_keys() -> None:
    assert VALUES.apply(
        {"week": ["week", {"x": "efd_stand"}, 1, None, True]}
    ) == {"week": ["raw", {"x": "efd"}, 1, None, True]}


def test_values_that_swap_are_not_replaced_twice() -> None:
    values = make_map({"a": "x", "b": "y"}, {"a": "y", "b": "x"})
    assert values.apply(["x", "y", "'x' 'y'"]) == ["y", "x", "'y' 'x'"]


def test_a_handler_is_named_by_its_topic_at_the_other_site() -> None:
    item = Item(
        kind="handler",
        name="stand.dome/page",
        title="stand.dome/page",
        content={"topic": "stand.dome", "id": "page"},
    )
    assert VALUES.apply_to(item).name == "summit.dome/page"


def test_one_value_with_two_replacements_is_refused() -> None:
    source = {"a": "efd", "b": "efd"}
    assert make_map(source, {"a": "x", "b": "x"}).apply("efd") == "x"
    with pytest.raises(ConfigError, match=r"values\.b"):
        make_map(source, {"a": "x", "b": "y"})


def test_values_that_stay_are_named() -> None:
    text = "nowhere, efd_stand, week-end, stand.dome2 and 1"
    assert list(find_leftovers(text, STAND, SUMMIT)) == [
        "database",
        "only-here",
    ]
    assert list(find_leftovers(text, STAND, STAND)) == []
