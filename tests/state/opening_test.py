"""The agent starts, whatever became of its state file."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mirrorwatch.exceptions import StateError, StateInUseError
from mirrorwatch.state import Database, use_state
from mirrorwatch.state.database import LAYOUT
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.state.queue import Batch, DurableQueue
from tests.support.builders import NOON, a_verdict

BATCHES = [Batch(f"{n} {n**7} {'x' * n}".encode(), 1) for n in range(300)]


def written(path: Path) -> None:
    """Leave a state file of several pages."""
    database = Database(path)
    VerdictStore(database).save([a_verdict()], NOON)
    DurableQueue(database, "influxdb").append(BATCHES)
    database.close()


def flip(path: Path) -> None:
    """Damage the root page of a table."""
    content = bytearray(path.read_bytes())
    content[4096:4200] = bytes(byte ^ 0xFF for byte in content[4096:4200])
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 - 100])


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def no_database(path: Path) -> None:
    path.write_bytes(os.urandom(10_000))


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("CREATE TABLE album (title TEXT)")


def foreign_by_its_id(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA application_id = 77")
        sql.execute("CREATE TABLE documents (title TEXT)")


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as sql:
        sql.execute(f"PRAGMA user_version = {LAYOUT + 1}")


def older(path: Path) -> None:
    with closing(sqlite3.connect(path)) as sql:
        sql.execute(f"PRAGMA user_version = {LAYOUT - 1}")


UNUSABLE = [flip, cut, cut_short, no_database, foreign, foreign_by_its_id]
UNUSABLE += [newer, older]


def use(database: Database) -> Database:
    """Read and write it, as the wiring of an agent does."""
    VerdictStore(database).newest()
    VerdictStore(database).save([a_verdict()], NOON)
    return database


@pytest.mark.parametrize("damage", UNUSABLE)
def test_an_unusable_file_is_set_aside_and_begun_anew(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "state.db"
    written(path)
    damage(path)
    before = path.read_bytes()
    database = use_state(path, use)
    (problem,) = database.problems()
    (aside,) = [
        file
        for file in tmp_path.glob("state.db.unusable-*")
        if not file.name.endswith(("-wal", "-shm"))
    ]
    assert f"It was set aside as {aside}, and a fresh one is used" in problem
    assert aside.read_bytes() == before
    assert database.lasts
    database.close()
    after = Database(path)  # as any other file from now on
    assert VerdictStore(after).newest() == NOON
    assert after.problems() == ()
    after.close()


def test_an_empty_file_is_told_and_used(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.touch()
    database = use_state(path, use)
    assert database.problems() == (
        f"State file {path} was empty, and a fresh one is used",
    )
    database.close()


def test_a_file_of_today_or_none_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.db"
    for _ in range(2):
        database = use_state(path, use)
        assert database.problems() == ()
        database.close()


def test_a_file_that_another_agent_uses_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    other = Database(path)
    with pytest.raises(StateInUseError):
        use_state(path, use)
    assert [*tmp_path.glob("*unusable*")] == []
    other.close()


def test_a_link_to_a_file_that_is_used_is_that_file(tmp_path: Path) -> None:
    path, link = tmp_path / "state.db", tmp_path / "elsewhere" / "state.db"
    owner = Database(path)
    link.parent.mkdir()
    link.symlink_to(path)
    with pytest.raises(StateInUseError):
        Database(link)
    owner.close()
    again = Database(link)
    assert again.problems() == ()
    again.close()


@pytest.mark.parametrize("kind", ["folder", "parent", "full", "wiring"])
def test_what_cannot_be_written_is_kept_in_memory(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "state.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "parent":
        (tmp_path / "file").touch()
        path = tmp_path / "file" / "state.db"
    if kind == "full":
        path.symlink_to("/dev/full")

    def wire(database: Database) -> Database:
        if kind == "wiring" and database.lasts:
            raise StateError("database or disk is full")
        return use(database)

    database = use_state(path, wire)
    (problem,) = database.problems()
    assert problem.endswith(
        ". The state is kept in memory, and lost at the agent's end"
    )
    assert not database.lasts
    assert VerdictStore(database).newest() == NOON
    database.close()


FULL = """
import resource, signal, sys
from pathlib import Path
from mirrorwatch.state import use_state
from tests.state.opening_test import use
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
database = use_state(Path(sys.argv[1]), use)
print(database.lasts, *database.problems())
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 10, 5000, 20_000])
@pytest.mark.parametrize("exists", [True, False])
def test_on_a_full_disk_it_starts_from_memory(
    tmp_path: Path, room: int, exists: bool
) -> None:
    """A limit for files stands for the disk: to write more fails."""
    assert resource.RLIMIT_FSIZE
    path = tmp_path / "state.db"
    if exists:
        written(path)
        before = path.read_bytes()
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(room)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    lasts, *problem = run.stdout.split()
    assert (lasts == "True") is (problem == [])
    if room < 5000:
        assert "memory," in problem
    if exists:
        assert path.read_bytes() == before
        assert [*tmp_path.glob("*unusable*")] == []


READ_ONLY = """
import sys
from pathlib import Path
from mirrorwatch.state import use_state
from tests.state.opening_test import use
database = use_state(Path(sys.argv[1]), use)
print(database.lasts, *database.problems())
"""

REFUSING = """
import errno, os, pathlib
def refuse(path, *_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
pathlib.Path.touch = pathlib.Path.mkdir = pathlib.Path.open = refuse
"""
"""What a read-only mount does, where none may be made."""


def on_a_read_only_mount(folder: Path) -> list[str]:
    """Return how to run Python where a folder is mounted read-only."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'
    shell = ["sh", "-c", f'{mount} && exec "$@"', str(folder)]
    unshare = shutil.which("unshare")
    for user in ([], ["--map-root-user"]):
        start = [unshare or "unshare", "--mount", *user, *shell]
        if (
            unshare
            and not subprocess.run(
                [*start, "true"], capture_output=True, check=False
            ).returncode
        ):
            return [*start, sys.executable, "-c", READ_ONLY]
    return [sys.executable, "-c", REFUSING + READ_ONLY]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["kept", "state.db", "folder/state.db"])
def test_on_a_read_only_mount_it_starts_from_memory(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / place
    if place == "kept":
        written(path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    run = subprocess.run(
        [*on_a_read_only_mount(tmp_path), str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    lasts, problem = run.stdout.strip().split(" ", 1)
    assert lasts == "False"
    assert problem.startswith(f"Cannot open the state file {path}: ")
    assert "Read-only file system" in problem
    assert problem.endswith(
        ". The state is kept in memory, and lost at the agent's end"
    )
    # What was known before is there once it may be written again.
    after = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert after == before
    if place == "kept":
        again = Database(path)
        assert again.problems() == ()
        assert VerdictStore(again).newest() == NOON
        again.close()


@pytest.mark.parametrize("name", ["state.db", "state.db.lock"])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_is_deleted_meanwhile_is_noticed(
    tmp_path: Path, name: str, replaced: bool
) -> None:
    database = Database(tmp_path / "state.db")
    assert database.problems() == ()
    gone = tmp_path / name
    gone.rename(tmp_path / "elsewhere")
    if replaced:
        gone.touch()
    (problem,) = database.problems()
    assert problem.startswith(f"{gone} was deleted or replaced while")
    database.close()
