"""Pins what leaves the process today: `python -m tests.pins.record NAME ...`.

Only for what is meant to change. Read the difference before it is committed:
each line of it is one that somebody's program, panel or alert reads.
"""

import argparse
import logging

import structlog

from .answers import answers
from .commands import commands
from .notices import notices
from .pinned import keep, write
from .texts import texts

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


def record_texts() -> None:
    """Pin the texts of findings that docs/runbook.md does not have."""
    keep("texts", texts())


RECORDERS = {
    "answers": record_answers,
    "notices": record_notices,
    "commands": record_commands,
    "texts": record_texts,
}


def main() -> None:
    """Record what is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.pins.record")
    parser.add_argument("names", nargs="*", help=", ".join(RECORDERS))
    level = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=level)
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - RECORDERS.keys():
        parser.error(f"no such pins: {', '.join(sorted(unknown))}")
    for name in chosen.names:
        RECORDERS[name]()


if __name__ == "__main__":
    main()
