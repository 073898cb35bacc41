"""One site to several others."""

import copy

from tests.support.grafanas import MODEL, Grafanas


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
