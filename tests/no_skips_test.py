"""A green run must mean that everything ran, where that is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

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


@pytest.mark.parametrize(
    ("required", "outcome"),
    [
        ("", "1 passed, 3 skipped, 1 xfailed"),
        ("1", "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error"),
    ],
)
def test_skips_fail_where_nothing_may_skip(
    required: str, outcome: str, tmp_path: Path
) -> None:
    assert outcome in _run(SKIPPING, required, tmp_path)


def test_a_file_that_skips_as_a_whole_fails_too(tmp_path: Path) -> None:
    text = "import pytest\npytest.importorskip('no_such_module')"
    assert "1 error" in _run(text, "1", tmp_path)


def _run(text: str, required: str, folder: Path) -> str:
    (folder / "some_test.py").write_text(text)
    (folder / "pytest.ini").write_text(
        "[pytest]\npython_files = *_test.py\nmarkers = kapacitor: x\n"
    )
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.support.no_skips"),
            *("-p", "no:cacheprovider", "--rootdir", str(folder)),
            *("-c", str(folder / "pytest.ini"), str(folder)),
        ],
        env=os.environ
        | {"MIRRORWATCH_REQUIRE_ALL": required, "PYTHONPATH": str(ROOT)}
        | {"PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ran.stdout + ran.stderr
