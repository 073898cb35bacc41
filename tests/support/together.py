"""Tests that run in one process when several share the work."""

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = ["TOGETHER", "pytest_xdist_make_scheduler"]

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: object
) -> LoadFileScheduling | None:
    if config.option.dist != "loadfile":
        return None
    # Without this log the scheduler prints a line for each test.
    return Together(config, log)
