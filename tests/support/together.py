"""Tests that run in one process when several share the work."""

from collections import Counter

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = [
    "TOGETHER",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
]

TOGETHER = ("tests/audit/", "tests/web/")
"""Folders whose files share what takes long to start: Spark, a browser."""


class Together(LoadFileScheduling):  # type: ignore[misc]
    """Gives a process a file at a time, or one of these folders."""

    def _split_scope(self, nodeid: str) -> str:
        for folder in TOGETHER:
            if nodeid.startswith(folder):
                return folder
        file: str = super()._split_scope(nodeid)
        return file


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print which files take longest: with `--durations`, as many."""
    most = config.getoption("durations") or 0
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration  # type: ignore[assignment]
    if most > 0:
        terminalreporter.section("slowest files")
        for file, duration in seconds.most_common(most):
            terminalreporter.write_line(f"{duration:7.0f} s  {file}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: object
) -> LoadFileScheduling | None:
    if config.option.dist != "loadfile":
        return None
    # Without this log the scheduler prints a line for each test.
    return Together(config, log)
