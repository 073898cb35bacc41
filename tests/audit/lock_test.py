"""Only one audit at a time works on a folder of runs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch_audit.store.lock import only_one

HOLD = """
import sys
from mirrorwatch_audit.store.lock import only_one
with only_one(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_a_second_audit_is_refused_until_the_first_one_ends_or_dies(
    tmp_path: Path, other: "subprocess.Popen[str]"
) -> None:
    # A folder is the same one, however it is written.
    for folder in (str(tmp_path), tmp_path.as_uri()):
        with pytest.raises(AuditRefusedError), only_one(folder):
            pass

    other.kill()
    other.wait()
    with only_one(str(tmp_path)):
        pass


def test_a_folder_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(AuditError, match="Cannot use the folder"),
        only_one(str(tmp_path / "file")),
    ):
        pass


def test_a_folder_elsewhere_is_not_held() -> None:
    folder = "hdfs://name/audit"
    with only_one(folder), only_one(folder):
        pass
