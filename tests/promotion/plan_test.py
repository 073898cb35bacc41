"""Comparison of items with those at a site, and the diff."""

import pytest

from mirrorwatch_promotion.chronograf import from_chronograf
from mirrorwatch_promotion.exceptions import PromotionError
from mirrorwatch_promotion.item import Item
from mirrorwatch_promotion.plan import (
    PlannedChange,
    make_plan,
    render_change,
)


def task(name: str, script: str = "stream", ref: str = "") -> Item:
    content = {"type": "stream", "script": script}
    return Item(kind="task", name=name, title=name, content=content, ref=ref)


def test_items_that_are_missing_or_differ_are_changed_and_no_others() -> None:
    wanted = [task("a"), task("b", "new"), task("c")]
    there = [task("b", "old"), task("c", ref="9"), task("own")]
    assert [
        (change.verb, change.wanted.name)
        for change in make_plan(wanted, there, "summit")
    ] == [("create", "a"), ("change", "b")]
    assert make_plan(wanted, wanted, "summit") == []


@pytest.mark.parametrize(
    ("wanted", "there"),
    [([task("a"), task("a")], []), ([task("a")], [task("a"), task("a")])],
    ids=["copied", "at the site"],
)
def test_two_items_of_one_name_are_refused(
    wanted: list[Item], there: list[Item]
) -> None:
    with pytest.raises(PromotionError, match="summit"):
        make_plan(wanted, there, "summit")


def test_a_diff_shows_changes_but_no_secret() -> None:
    old = task("a", "x.token('abc')\ny")
    new = task("a", "x.token('def')\nz hunter2")
    lines = render_change(PlannedChange(new, old), "summit", ["hunter2"])
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-y",
        "+z **********",
    ]
    only = task("a", "x.token('ghi')\ny")
    hidden = render_change(PlannedChange(only, old), "summit", [])
    assert len(hidden) == 3
    assert "ghi" not in "".join(hidden)


EMPTY = {"base": "", "scale": "", "label": ""}
SET = {"base": "10", "scale": "linear", "label": ""}


def test_a_dashboard_of_a_file_is_as_the_server_has_it_that_was_given_it() -> (
    None
):
    in_a_file = {
        "id": "7000",
        "name": "Dome",
        "cells": [
            {
                "i": "a",
                "w": 4,
                "type": "",
                "axes": {"x": EMPTY},
                "queries": [{"query": "SELECT x FROM m"}],
                "fieldOptions": None,
            }
        ],
        "templates": [{"tempVar": ":a:", "type": "csv"}],
    }
    given = {
        "id": "1",
        "name": "Dome",
        "cells": [
            {
                "i": "b",
                "w": 4,
                "type": "line",
                "axes": {"x": SET},
                "queries": [
                    {
                        "query": "SELECT x FROM m",
                        "source": "",
                        "type": "influxql",
                        "queryConfig": {"raw": ""},
                    }
                ],
                "fieldOptions": [],
                "colors": [],
                "note": "",
                "noteVisibility": "default",
                "links": {},
            }
        ],
        "templates": [
            {"tempVar": ":a:", "type": "csv", "values": []}
            | {"sourceID": "dynamic", "links": {}}
        ],
    }
    one, other = from_chronograf(in_a_file), from_chronograf(given)
    assert one.content == other.content
    assert one.ref != other.ref
