"""Turns skips into failures where everything must run.

A test that cannot find its server skips and says how to get it: right on a
newcomer's machine, wrong in continuous integration, where a green run must
mean that everything was tried.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["REQUIRE_ALL", "pytest_make_collect_report"]
__all__ += ["pytest_runtest_makereport"]

REQUIRE_ALL = "MIRRORWATCH_REQUIRE_ALL"

MAY_SKIP = ("kapacitor", "chronograf", "linter", "systemd")
"""Markers of the tests whose programs no package registry has, or whose
program belongs to the system."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    expected = hasattr(report, "wasxfail")
    excused = any(item.get_closest_marker(name) for name in MAY_SKIP)
    if not expected and not excused:
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[
    None, pytest.CollectReport, pytest.CollectReport
]:
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: Any) -> None:
    if os.environ.get(REQUIRE_ALL) and report.outcome == "skipped":
        *_, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE_ALL} is set, so nothing skips. {reason}"
