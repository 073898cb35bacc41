"""All changes at a site are made, or none."""

import copy
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch_promotion.chronograf import from_chronograf
from mirrorwatch_promotion.exceptions import PromotionError
from mirrorwatch_promotion.item import Item
from mirrorwatch_promotion.push import (
    PlannedChange,
    PushJournal,
    make_plan,
    open_journal,
    push,
    render_change,
    roll_back,
)
from tests.support.grafana import MODEL, Grafanas
from tests.support.memory_product import MemoryProduct, task

PATIENCE = timedelta(seconds=10)
WANTED = [task("a", "new"), task("b", "new"), task("c", "new")]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[PushJournal]:
    with open_journal(tmp_path / "journals", "summit") as opened:
        yield opened


@pytest.fixture
def server() -> MemoryProduct:
    return MemoryProduct(
        task("b", "old", marked=True), task("own", "users own")
    )


class Pushing:
    """One push, its waits and its words."""

    def __init__(self, server: MemoryProduct, journal: PushJournal) -> None:
        self.server, self.journal = server, journal
        self.told: list[str] = []
        self.waits: list[float] = []
        self.back_after = 2

    def plan(self) -> list[PlannedChange]:
        return make_plan(WANTED, self.server.items, "summit")

    def run(self) -> None:
        push(
            self.plan(),
            {"task": self.server},
            self.journal,
            self.told.append,
            patience=PATIENCE,
            wait=self.wait,
        )

    def undo(self) -> None:
        roll_back(
            {"task": self.server},
            self.journal,
            self.told.append,
            patience=PATIENCE,
            wait=self.wait,
        )

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) == self.back_after:
            self.server.come_back()


@pytest.fixture
def pushing(server: MemoryProduct, journal: PushJournal) -> Pushing:
    return Pushing(server, journal)


def test_what_differs_is_made_and_nothing_else(pushing: Pushing) -> None:
    pushing.run()
    assert pushing.told == [
        "created task a",
        "changed task b",
        "created task c",
    ]
    assert state(pushing.server) == {
        "a": ("new", True),
        "b": ("new", True),
        "c": ("new", True),
        "own": ("users own", False),
    }
    assert pushing.plan() == []
    assert not pushing.journal.path.exists()


def test_pushing_again_writes_nothing(pushing: Pushing) -> None:
    pushing.run()
    pushing.run()
    assert pushing.server.writes == 3


def test_what_carries_no_mark_is_in_the_way_and_is_named(
    server: MemoryProduct,
) -> None:
    with pytest.raises(PromotionError, match="task own") as refused:
        make_plan([task("own", "ours"), *WANTED], server.items, "summit")
    assert "Nothing was copied to summit" in str(refused.value)
    assert server.writes == 0


def test_a_diff_shows_what_changes_but_no_secret() -> None:
    old = task("a", "x.token('abc')\ny", marked=True)
    new = task("a", "x.token('def')\nz hunter2")
    lines = render_change(PlannedChange(new, old), "summit", ["hunter2"])
    assert lines[:2] == ["--- a summit: task a", "+++ b summit: task a"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-y",
        "+z **********",
    ]
    only = task("a", "x.token('ghi')\ny")
    assert render_change(PlannedChange(only, old), "summit", [])[2:] == [
        " (differs in secrets)"
    ]


@pytest.mark.parametrize("done_when_lost", [True, False])
@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_server_lost_half_way_has_all_put_back_when_it_answers_again(
    pushing: Pushing, answers: int, done_when_lost: bool
) -> None:
    before = state(pushing.server)
    pushing.server.answers_left = answers
    pushing.server.done_when_lost = done_when_lost
    with pytest.raises(PromotionError, match="All there is as it was before"):
        pushing.run()
    assert state(pushing.server) == before
    assert pushing.waits == [1, 2]
    assert not pushing.journal.path.exists()


def test_a_refusal_half_way_has_all_put_back(pushing: Pushing) -> None:
    before = state(pushing.server)
    pushing.server.refuses = "c"
    with pytest.raises(PromotionError, match="memory refuses c"):
        pushing.run()
    assert state(pushing.server) == before
    assert pushing.told[-2:] == ["put task b back", "deleted task a again"]


def test_a_server_that_stays_away_leaves_the_journal_for_the_next_push(
    pushing: Pushing, server: MemoryProduct
) -> None:
    before = state(server)
    server.answers_left, pushing.back_after = 2, -1
    with pytest.raises(PromotionError, match="half changed") as lost:
        pushing.run()
    assert sum(pushing.waits) == PATIENCE.total_seconds()
    path = pushing.journal.path
    assert str(path) in str(lost.value)
    assert path.stat().st_mode & 0o777 == 0o600
    server.come_back()
    assert state(server) != before
    later = Pushing(server, PushJournal(path))
    later.undo()
    assert state(server) == before
    assert not path.exists()


def test_a_push_killed_half_way_is_undone_by_what_it_left_on_disk(
    pushing: Pushing, server: MemoryProduct
) -> None:
    before = state(server)
    for change in pushing.plan():
        pushing.journal.begin(change)
        server.put(change.wanted, change.there)
    later = Pushing(server, PushJournal(pushing.journal.path))
    later.undo()
    later.undo()
    assert state(server) == before


def test_two_pushes_to_one_site_do_not_run_at_once(tmp_path: Path) -> None:
    with (
        open_journal(tmp_path, "summit"),
        open_journal(tmp_path, "ldf"),
        pytest.raises(PromotionError, match="Another push to summit"),
        open_journal(tmp_path, "summit"),
    ):
        pass


def test_a_server_that_is_configured_no_more_keeps_the_journal(
    journal: PushJournal,
) -> None:
    journal.begin(PlannedChange(task("a"), None))
    with pytest.raises(PromotionError, match="no server any more for task a"):
        roll_back({}, journal, print, patience=PATIENCE, wait=print)
    assert journal.path.exists()


@pytest.mark.parametrize("text", ["[", "[1]", '[{"wanted": {}}]', "{}x"])
def test_a_journal_that_cannot_be_read_stops_the_push(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "summit.json").write_text(text)
    with (
        pytest.raises(PromotionError, match=r"summit\.json: a push was cut"),
        open_journal(tmp_path, "summit"),
    ):
        pass


def state(server: MemoryProduct) -> dict[str, tuple[str, bool]]:
    def describe(item: Item) -> tuple[str, bool]:
        return item.content["script"], item.marked

    return {item.name: describe(item) for item in server.items}


def test_several_sites_are_copied_to_at_once(grafanas: Grafanas) -> None:
    pushed = grafanas.run("push", "--to", "ldf")
    assert pushed.exit_code == 0, pushed.output
    there = (grafanas.summit, grafanas.ldf)
    sources = [
        g.dashboards["dome"]["model"]["panels"][0]["datasource"]["uid"]
        for g in there
    ]
    assert sources == ["summit-uid", "ldf-uid"]


def test_what_stops_one_site_stops_all_before_anything_is_written(
    grafanas: Grafanas,
) -> None:
    own = {**MODEL, "tags": []}
    grafanas.ldf.dashboards["dome"] = {"model": own, "folder": ""}
    refused = grafanas.run("push", "--to", "ldf")
    assert refused.exit_code == 1
    assert "Nothing was copied to ldf" in refused.output
    assert grafanas.summit.writes == grafanas.ldf.writes == 0


def test_a_site_that_fails_leaves_those_before_done_and_says_so(
    grafanas: Grafanas,
) -> None:
    grafanas.ldf.may_write = False
    before = copy.deepcopy(grafanas.ldf.dashboards)
    failed = grafanas.run("push", "--to", "ldf")
    assert failed.exit_code == 1
    told = " ".join(failed.output.split())
    assert "All there is as it was before. Done before, and kept so: sum" in (
        told
    )
    assert grafanas.ldf.dashboards == before
    assert "dome" in grafanas.summit.dashboards
    # The second attempt does the rest, and nothing twice.
    writes = grafanas.summit.writes
    grafanas.ldf.may_write = True
    assert grafanas.run("push", "--to", "ldf").exit_code == 0
    assert "dome" in grafanas.ldf.dashboards
    assert grafanas.summit.writes == writes


def test_sites_that_were_not_begun_are_named(grafanas: Grafanas) -> None:
    grafanas.summit.may_write = False
    failed = grafanas.run("push", "--to", "ldf")
    assert "All there is as it was before. Not begun: ldf." in " ".join(
        failed.output.split()
    )
    assert grafanas.ldf.writes == 0


def test_a_dry_run_leaves_nothing_behind(grafanas: Grafanas) -> None:
    tried = grafanas.run("push", "--dry-run")
    assert tried.output.endswith("1 to change\n")
    assert not (grafanas.file.parent / "journal").exists()
    assert grafanas.summit.writes == 0


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
