"""Only one audit at a time works on a folder in an object store."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.s3 import BUCKET, S3Server

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1200)]

HOLD = """
import json, sys
from mirrorwatch.exceptions import AuditError
from mirrorwatch_audit.session import make_session
from mirrorwatch_audit.store.lock import only_one
from mirrorwatch_audit.store.store import HadoopFolder

folder, properties = sys.argv[1], json.loads(sys.stdin.readline())
session = make_session("local[1]", memory="512m", extra=properties)
files = HadoopFolder(session, folder)
assert files.read("audit.lock") is None
print("ready", flush=True)
sys.stdin.readline()
try:
    with only_one(folder, files) as still_held:
        print("held", flush=True)
        sys.stdin.readline()
        still_held()
        files.create("audit.lock", "of another", anew=False)
        still_held()
except AuditError as e:
    print(e, flush=True)
"""


LOST = "This audit no longer holds s3a://audit/"


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    server = S3Server(tmp_path / "s3")
    server.start()
    yield server
    server.kill()


def begun(properties: dict[str, str]) -> "subprocess.Popen[str]":
    """Start another process that is to hold the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, f"s3a://{BUCKET}/of both"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    say(process, json.dumps(properties))
    return process


def say(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def heard(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_two_audits_that_begin_together_one_holds_the_folder(
    s3: S3Server,
) -> None:
    with ExitStack() as stack:
        both = [stack.enter_context(begun(s3.spark)) for _ in range(2)]
        for process in both:
            stack.callback(process.kill)
        assert [heard(process) for process in both] == ["ready"] * 2
        for process in both:
            say(process, "go")
        said = sorted(heard(process) for process in both)
        assert said[0].startswith("Another audit is running on s3a://audit/")
        assert said[1] == "held"
        assert s3.keys("of both/audit.lock")
        left = [
            process.communicate("on\n", timeout=300)[0] for process in both
        ]
        assert [text.startswith(LOST) for text in sorted(left)] == [
            False,
            True,
        ]
        # It is another's now.
        assert s3.keys("of both/audit.lock")
