"""Tests that run in one process when several share the work."""

import resource
from collections import defaultdict
from collections.abc import Generator

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = [
    "pytest_runtest_teardown",
    "pytest_terminal_summary",
    "pytest_xdist_make_scheduler",
]

CPU = "cpu_seconds"
"""Name of the processor time in a report."""

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


def _processor_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(
            resource.getrusage,
            (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN),
        )
    )


_reported = 0.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Report how much processor time was used since the test before. A lab's
    counts where it ends, which is in the same file.
    """
    global _reported  # noqa: PLW0603
    yield
    used = _processor_seconds()
    item.user_properties.append((CPU, used - _reported))
    _reported = used


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print which files take longest: with `--durations`, as many."""
    most = config.getoption("durations") or 0
    seconds: dict[str, float] = defaultdict(float)
    processor: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration
                processor[file] += float(
                    dict(report.user_properties).get(CPU, 0.0)  # type: ignore[arg-type]
                )
    if most > 0:
        terminalreporter.section("slowest files, and their processor time")
        for file in sorted(seconds, key=seconds.__getitem__)[: -most - 1 : -1]:
            terminalreporter.write_line(
                f"{seconds[file]:7.0f} s {processor[file]:7.0f} s  {file}"
            )
        terminalreporter.write_line(
            f"{sum(seconds.values()):7.0f} s"
            f" {sum(processor.values()):7.0f} s  all"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: object
) -> LoadFileScheduling | None:
    if config.option.dist != "loadfile":
        return None
    # Without this log the scheduler prints a line for each test.
    return Together(config, log)
