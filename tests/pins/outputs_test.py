"""What leaves the process is what it was: metrics, API, notices, statuses."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .answers import answers
from .commands import commands
from .notices import notices
from .pinned import DATA, facts, pinned, plain
from .seam import exposition, invoke, lines
from .texts import texts

GOLDEN = DATA.parent

CHANGED = "python -m tests.pins.record pins it anew, where it was meant"


@cache
def now() -> dict[str, Any]:
    """Return what is pinned as it is now, by name."""
    made: dict[str, Any] = {"commands": commands()}
    for scene, answered in answers().items():
        made[f"api/{scene.replace(' ', '_')}"] = answered
    for receiver, bodies in notices().items():
        made[f"notices/{receiver}"] = bodies
    return {name: plain(document) for name, document in made.items()}


def names(folder: str) -> list[str]:
    files = DATA.glob(f"{folder}/*.json")
    found = {str(f.relative_to(DATA)).partition(".")[0] for f in files}
    return sorted(found)


PINNED = [*names("api"), *names("notices"), "commands"]


@pytest.mark.parametrize("name", PINNED)
def test_facts_are_what_they_were(name: str) -> None:
    assert facts(now()[name]) == pinned(name), CHANGED


def test_texts_that_the_runbook_has_not_are_what_they_were() -> None:
    assert texts() == pinned("texts"), CHANGED


def test_everything_is_pinned() -> None:
    assert sorted(now()) == sorted(PINNED)


def test_metrics_are_what_they_were_whatever_their_help_says() -> None:
    was = (GOLDEN / "full_report.prom").read_text(encoding="utf-8")
    assert series(exposition()) == series(was)


def test_points_are_what_they_were() -> None:
    was = (GOLDEN / "full_report.lp").read_text(encoding="utf-8")
    assert lines() == was.splitlines()


def series(text: str) -> list[str]:
    return [
        line
        for line in text.splitlines()
        if "mirrorwatch_" in line and not line.startswith("# HELP ")
    ]


@pytest.mark.slow
def test_one_look_at_sites_that_do_not_answer_is_unhealthy(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("""
clusters:
  summit: {kafka: {bootstrap.servers: "127.0.0.1:1"}}
  ldf: {kafka: {bootstrap.servers: "127.0.0.1:2"}}
flows: [{source: summit, target: ldf}]
""")
    status, out, _ = invoke(["once", "--config", str(file), "--for", "1s"])
    assert (status, out != "") == (3, True)
