"""What holds for every test."""

from tests.support.no_skips import (
    pytest_make_collect_report,
    pytest_runtest_makereport,
)

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]
