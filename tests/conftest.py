"""Labs that tests share, labs of their own, and what holds for every test."""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import structlog

from mirrorwatch.secrets import never_show
from mirrorwatch_lab import Lab, LabSettings
from tests.support.examples import load_profile
from tests.support.lab import LabPool, show_logs
from tests.support.no_skips import (
    pytest_make_collect_report,
    pytest_runtest_makereport,
)
from tests.support.together import (
    pytest_runtest_teardown,
    pytest_terminal_summary,
    pytest_xdist_make_scheduler,
)

__all__ = ["fresh_lab", "lab_for", "lab_pool", "process_as_before"]
__all__ += ["pytest_collection_finish"]
__all__ += ["pytest_terminal_summary", "pytest_xdist_make_scheduler"]
__all__ += ["pytest_runtest_teardown"]
# Hooks: where everything must run, a test that skips fails.
__all__ += ["pytest_make_collect_report", "pytest_runtest_makereport"]


load_profile()
# Nothing that is imported or collected is garbage.
gc.disable()
pytest.register_assert_rewrite("tests.support.findings")


def pytest_collection_finish() -> None:
    """Leave imported modules and collected tests out of all searches for
    garbage, of which each took a third of a second.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """Undo what a command or a configuration set up in this process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)
    never_show([])


@pytest.fixture(scope="module")
def lab_pool() -> Iterator[LabPool]:
    # Not for longer: while other files run their own, an idle lab would take
    # a tenth of a core and 1.5 GiB.
    with LabPool() as pool:
        yield pool


@pytest.fixture
def lab_for(lab_pool: LabPool) -> Callable[[LabSettings], Lab]:
    """A lab with these settings, shared: leave every part running."""
    return lab_pool.lab_for


@pytest.fixture
def fresh_lab(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[LabSettings], Lab]]:
    """A lab with these settings, to be broken."""
    with ExitStack() as labs:

        def start(settings: LabSettings) -> Lab:
            lab = labs.enter_context(Lab(settings))
            labs.callback(show_logs, request.node, lab)
            return lab

        yield start
