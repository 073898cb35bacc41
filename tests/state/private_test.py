"""What the state file is, to other users of the machine."""

import os
from pathlib import Path

from mirrorwatch.state import Database


def test_nobody_else_can_read_the_state(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.db"
    before = os.umask(0)
    try:
        database = Database(path)
        with database.transaction() as connection:
            connection.execute("CREATE TABLE x (y)")
        modes = {
            f.name: f.stat().st_mode & 0o777 for f in path.parent.iterdir()
        }
    finally:
        os.umask(before)
    database.close()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert set(modes.values()) == {0o600}
    assert len(modes) == 4
    path.chmod(0o644)
    Database(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
