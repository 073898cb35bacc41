"""Pins what leaves the process today: `python -m tests.pins.record NAME ...`.

Only for what is meant to change. Read the difference before it is committed:
each line of it is one that somebody's program, panel or alert reads.
"""

import argparse
import json
import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from .answers import answers
from .commands import commands
from .notices import notices
from .pinned import DATA, keep, write
from .replay import pack, pin_sentences
from .seam_agent import complete, counted_on, kept_audits
from .seam_state import contents

__all__ = ["main"]


def record_answers() -> None:
    """Pin what the API answers, a file for each scene."""
    for scene, document in answers().items():
        write(f"api/{scene.replace(' ', '_')}", document)


def record_notices() -> None:
    """Pin what receivers of notices are sent."""
    for receiver, bodies in notices().items():
        write(f"notices/{receiver}", bodies)


def record_commands() -> None:
    """Pin how commands end."""
    write("commands", commands())


def record_sentences() -> None:
    """Pin what today's code says of the recorded facts."""
    pin_sentences()


def record_run(folder: Path) -> None:
    """Keep the facts, the state file and the audits of a recorded story.

    They are of the day of the recording, and are not to be made again to
    make a test pass: a later state file would prove nothing of an older one.
    """
    setting = json.loads((folder / "setting.json").read_text(encoding="utf-8"))
    pack(setting, folder / "facts.jsonl")
    pin_sentences()
    state, audits = DATA / "state.db", DATA / "audits"
    shutil.copy(folder / "state.db", state)
    complete(state)
    with closing(sqlite3.connect(state)) as sql:
        sql.execute("VACUUM")
    shutil.rmtree(audits, ignore_errors=True)
    shutil.copytree(folder / "audits", audits)
    with TemporaryDirectory() as temporary:
        copy = Path(shutil.copy(state, temporary))
        on = counted_on(copy)
        copy = Path(shutil.copy(state, temporary))
        keep("state", {**contents(copy), "counted_on": on})
    keep("audits", kept_audits(audits))
    state.with_name("state.db.lock").unlink()


RECORDERS = {
    "answers": record_answers,
    "notices": record_notices,
    "commands": record_commands,
    "sentences": record_sentences,
}


def main() -> None:
    """Record what is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.pins.record")
    parser.add_argument("names", nargs="*", help=", ".join(RECORDERS))
    parser.add_argument(
        "--run", type=Path, help="folder of `python -m tests.pins.story`"
    )
    level = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=level)
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - RECORDERS.keys():
        parser.error(f"no such pins: {', '.join(sorted(unknown))}")
    if chosen.run is not None:
        record_run(chosen.run)
    for name in chosen.names:
        RECORDERS[name]()


if __name__ == "__main__":
    main()
