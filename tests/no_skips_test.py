"""A green run must mean that everything ran, where that is asked for."""

import pytest

from tests.support import no_skips
from tests.support.no_skips import REQUIRE_ALL

pytestmark = pytest.mark.slow


pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

def test_runs():
    pass

def test_skips():
    pytest.skip("no server")

@pytest.mark.skipif(True, reason="no such system")
def test_skips_by_a_marker():
    pass

@pytest.mark.kapacitor
def test_may_skip():
    pytest.skip("no kapacitord")

@pytest.mark.xfail(reason="known")
def test_fails_as_expected():
    assert False
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nmarkers = kapacitor: needs it")
    pytester.makeconftest("from tests.support.no_skips import *")
    return pytester


def test_tests_skip_where_they_may(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(REQUIRE_ALL, raising=False)
    project.makepyfile(SKIPPING)
    ran = project.runpytest_inprocess()
    ran.assert_outcomes(passed=1, skipped=3, xfailed=1)


def test_skips_fail_where_nothing_may_skip(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUIRE_ALL, "1")
    project.makepyfile(SKIPPING)
    ran = project.runpytest_inprocess()
    ran.assert_outcomes(passed=1, failed=1, errors=1, skipped=1, xfailed=1)
    ran.stdout.fnmatch_lines(["*so nothing skips. *no server"])


def test_a_file_that_skips_as_a_whole_fails_too(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUIRE_ALL, "1")
    project.makepyfile("import pytest; pytest.importorskip('no_such_module')")
    project.runpytest_inprocess().assert_outcomes(errors=1)


def test_these_tests_are_run_so(pytestconfig: pytest.Config) -> None:
    hook = pytestconfig.hook.pytest_runtest_makereport
    used = [found.function for found in hook.get_hookimpls()]
    assert no_skips.pytest_runtest_makereport in used
