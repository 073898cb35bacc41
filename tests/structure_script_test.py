"""What `tests.bench.structure` measures, on trees of a few lines."""

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from tests.bench.references import References
from tests.bench.source_tree import Tree
from tests.bench.structure import find_rules_broken, main, structure
from tests.bench.trips import TRIPS, Crossing, Leg, Trip, cross

AGENT = {
    "agent/mirrorwatch/__init__.py": '"""Watches."""\n',
    "agent/mirrorwatch/daemon.py": """
        from .domain import Tracker
        from .ports import Sink

        def run(sinks: list[Sink]) -> None:
            tracker = Tracker()
            for sink in sinks:
                sink.publish(tracker.step())
    """,
    "agent/mirrorwatch/ports.py": """
        from typing import Protocol

        class Sink(Protocol):
            def publish(self, report: str) -> None: ...

        class Clock(Protocol):
            def now(self) -> float: ...

        class Judge(Protocol):
            def __call__(self, report: str) -> bool: ...
    """,
    "agent/mirrorwatch/domain/__init__.py": """
        from .tracker import Tracker

        __all__ = ["Tracker"]
    """,
    "agent/mirrorwatch/domain/tracker.py": '''
        """Tracks."""

        from .counts import Counts, add


        class Tracker:
            """Counts steps."""

            total: Counts
            """All of them."""

            def step(self) -> str:
                # One more.
                self.total = add(self.total)
                return self._show()

            def _show(self) -> str:
                return self.total.show()
    ''',
    "agent/mirrorwatch/domain/counts.py": """
        class Counts:
            def show(self) -> str:
                return _text(1)

        def add(counts: Counts) -> Counts:
            return counts

        def _text(number: int) -> str:
            return _twice(str(number)) + _twice("")

        def _twice(text: str) -> str:
            return text + text
    """,
    "agent/mirrorwatch/sinks/log.py": """
        class LogSink:
            def publish(self, report: str) -> None:
                print(report)

        class _Part: ...
    """,
    "agent/mirrorwatch/sinks/web.py": """
        class WebSink:
            def publish(self, report: str) -> None:
                from ..factory import make

                make(report)

        class _Part: ...
    """,
    "agent/mirrorwatch/factory.py": """
        from .sinks.web import WebSink

        def make(report: str) -> WebSink:
            return WebSink()
    """,
    "agent/mirrorwatch/lab/site.py": "class Site: ...\n",
    "sparkjobs/submit.py": "class Site: ...\n",
    "sparkjobs/mirrorwatch_audit/__init__.py": "",
    "tests/one_test.py": "def test_one() -> None:\n    assert True\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path, AGENT)


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"))
    return root


def test_files_and_lines_of_code_are_counted_by_package(tree: Path) -> None:
    rows = {row.name: row for row in structure(tree).rows}
    assert {name: row.files for name, row in rows.items()} == {
        "agent proper": 9,
        "lab": 1,
        "all but audit jobs": 10,
        "audit jobs": 2,
        "whole product": 12,
        "tests": 1,
    }
    assert rows["lab"].lines == 1
    assert rows["tests"].lines == 2


def test_comments_docstrings_and_blanks_are_no_code(tree: Path) -> None:
    tracker = Tree(tree).modules["mirrorwatch.domain.tracker"]
    assert (tracker.lines, tracker.length) == (8, 18)


def test_a_part_of_the_agent_may_be_a_package_of_its_own(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "agent/mirrorwatch/cli/lab.py": "a = 1\n",
            "agent/mirrorwatch_lab/site.py": "b = 2\n",
            "lab/__init__.py": "c = 3\n",
        },
    )
    rows = {row.name: row.files for row in structure(tmp_path).rows}
    assert rows["lab"] == 3
    assert rows["agent proper"] == 0


def test_a_module_is_followed_through_the_package_that_passes_it_on(
    tree: Path,
) -> None:
    (row,) = [r for r in structure(tree).rows if r.name == "agent proper"]
    # counts.py is of tracker.py alone; tracker.py is of daemon.py, which is
    # in another folder, and ports.py of daemon.py, which is beside it.
    assert (row.single_siblings, row.short_single_siblings) == (2, 2)
    assert find_rules_broken(Tree(tree))[
        "short modules with a single sibling"
    ] == (
        (
            "agent/mirrorwatch/domain/counts.py (12 lines): "
            "mirrorwatch.domain.tracker"
        ),
        "agent/mirrorwatch/ports.py (10 lines): mirrorwatch.daemon",
    )


def test_private_functions_that_are_used_once_are_counted(tree: Path) -> None:
    (row,) = [r for r in structure(tree).rows if r.name == "agent proper"]
    assert (row.private_functions, row.private_functions_used_once) == (2, 1)
    assert (row.private_methods, row.private_methods_used_once) == (1, 1)


def test_class_names_of_several_classes_are_counted(tree: Path) -> None:
    rows = {row.name: row for row in structure(tree).rows}
    both = rows["whole product"]
    assert (both.public_class_names, both.private_class_names) == (1, 1)
    assert rows["agent proper"].public_class_names == 0
    assert find_rules_broken(Tree(tree))[
        "public class names that are not unique"
    ] == ("Site: agent/mirrorwatch/lab/site.py, sparkjobs/submit.py",)


def test_a_protocol_needs_two_classes_that_have_all_of_it(
    tree: Path,
) -> None:
    broken = find_rules_broken(Tree(tree))
    assert broken["protocols with fewer than two implementations"] == (
        "mirrorwatch.ports.Clock: no class",
    )


def test_circles_are_found_inside_functions_too(tree: Path) -> None:
    assert find_rules_broken(Tree(tree))["circles of imports"] == (
        "mirrorwatch.factory <-> mirrorwatch.sinks.web",
    )


def crossing(tree: Path, *legs: Leg, stops: tuple[str, ...] = ()) -> Crossing:
    trip = Trip(name="", legs=legs, stops=stops)
    return cross(trip, References(Tree(tree)))


def test_a_trip_crosses_protocols_and_methods(tree: Path) -> None:
    assert crossing(tree, Leg("daemon.run")).modules == (
        "mirrorwatch.daemon",
        "mirrorwatch.domain.counts",
        "mirrorwatch.domain.tracker",
        "mirrorwatch.factory",
        "mirrorwatch.ports",
        "mirrorwatch.sinks.log",
        "mirrorwatch.sinks.web",
    )


def test_a_leg_with_an_end_crosses_what_lies_between(tree: Path) -> None:
    assert crossing(tree, Leg("daemon.run", "Counts.show")).modules == (
        "mirrorwatch.daemon",
        "mirrorwatch.domain.counts",
        "mirrorwatch.domain.tracker",
    )


def test_nothing_is_followed_behind_a_stop(tree: Path) -> None:
    found = crossing(
        tree, Leg("daemon.run"), stops=("Sink.publish", "WebSink.publish")
    )
    assert "mirrorwatch.sinks.web" in found.modules
    assert "mirrorwatch.factory" not in found.modules


def test_an_anchor_has_old_and_new_names(tree: Path) -> None:
    old = crossing(tree, Leg("Tracker.step"))
    assert old == crossing(tree, Leg("StepCounter.step|Tracker.step"))


def test_an_anchor_that_is_missing_or_ambiguous_is_told(tree: Path) -> None:
    found = crossing(tree, Leg("Tracker.steps|step"), Leg("publish"))
    assert found.problems == (
        (
            "anchor publish names mirrorwatch.ports.Sink.publish, "
            "mirrorwatch.sinks.log.LogSink.publish, "
            "mirrorwatch.sinks.web.WebSink.publish"
        ),
    )
    assert crossing(tree, Leg("gone|lost")).problems == (
        "anchor gone|lost names nothing",
    )


def test_a_value_inside_a_generic_class_keeps_its_type(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "agent/mirrorwatch/mailbox.py": """
                from typing import Generic, TypeVar

                T = TypeVar("T")

                class Mailbox(Generic[T]):
                    def take(self) -> T: ...
            """,
            "agent/mirrorwatch/survey.py": """
                class Survey:
                    def judge(self) -> None: ...

                class Other:
                    def judge(self) -> None: ...
            """,
            "agent/mirrorwatch/worker.py": """
                from .mailbox import Mailbox
                from .survey import Survey

                class Worker:
                    def __init__(self) -> None:
                        self._surveys = Mailbox[Survey]()

                    def step(self) -> None:
                        self._surveys.take().judge()
            """,
        },
    )
    found = crossing(tmp_path, Leg("Worker.step", "Survey.judge"))
    assert found.modules == ("mirrorwatch.survey", "mirrorwatch.worker")


def test_files_of_one_name_are_not_mistaken_for_each_other(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"agent/a/b.py": "", "sparkjobs/a/b.py": ""})
    with pytest.raises(ValueError, match="clash"):
        Tree(tmp_path)


def test_the_table_says_which_anchors_are_missing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(tree)])
    printed = capsys.readouterr().out
    assert "agent proper" in printed
    assert "to InfluxDB: unknown files" in printed
    assert "anchor Pipeline.tick names nothing" in printed


def test_programs_get_json(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(tree), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["rows"][0]["name"] == "agent proper"
    assert list(report["trips"]) == [trip.name for trip in TRIPS]
    main([str(tree), "--rules", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 4
