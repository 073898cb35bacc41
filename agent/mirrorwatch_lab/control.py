"""The way into a running lab from another terminal."""

import fcntl
import json
import os
import re
import secrets
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from mirrorwatch.exceptions import MirrorwatchError

from .exceptions import LabError
from .lab import Lab
from .menu import inject
from .process import write_private

__all__ = [
    "Control",
    "ask",
    "is_reserved",
    "reserve",
    "running_labs",
    "the_only_lab",
]


_SOCKET = "control.sock"
_KEY = "control.key"


def control_folder(name: str) -> Path:
    """Return where a lab of this name is reached; it may not exist."""
    # Below /tmp, because the path of a socket must fit into 100 bytes.
    root = Path(tempfile.gettempdir()) / f"mirrorwatch-labs-{os.getuid()}"
    return root / name


def running_labs() -> list[str]:
    """Return the names of the labs that can be reached."""
    root = control_folder("x").parent
    names = (path.parent.name for path in root.glob(f"*/{_SOCKET}"))
    return sorted(name for name in names if _reachable(name))


def the_only_lab() -> str:
    """Return the name of the lab that runs, if it is one.

    Raises
    ------
    LabError
        Raised if none is running, or more than one.
    """
    names = running_labs()
    if not names:
        raise LabError("No lab is running; start one by `mirrorwatch lab up`")
    if len(names) > 1:
        raise LabError(
            f"Several labs are running, say which by --name: "
            f"{', '.join(names)}"
        )
    return names[0]


def ask(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Ask a running lab to do something, and return its answer.

    Raises
    ------
    LabError
        Raised if there is no such lab, or if it could not do it.
    """
    folder = control_folder(name)
    try:
        key = (folder / _KEY).read_text(encoding="ascii").encode()
        with Client(str(folder / _SOCKET), "AF_UNIX", authkey=key) as line:
            line.send_bytes(json.dumps(request).encode())
            answer: dict[str, Any] = json.loads(line.recv_bytes())
    except (OSError, EOFError, AuthenticationError) as e:
        raise LabError(
            f"No lab {name} is running; `mirrorwatch lab status` shows them"
        ) from e
    if error := answer.get("error"):
        raise LabError(error)
    return answer


@contextmanager
def reserve(name: str) -> Iterator[Path]:
    """Keep a name for one lab, and give the folder for its control.

    Raises
    ------
    LabError
        Raised if a lab of this name is running, or if it is no name.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,19}", name):
        raise LabError(
            f"{name!r} is no name for a lab: up to 20 small letters, digits "
            "and dashes"
        )
    folder = control_folder(name)
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    # The kernel lets go of it when its owner dies in whatever way.
    with (folder / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise LabError(
                f"A lab {name} is running; end it by `mirrorwatch lab down "
                f"--name {name}`, or take another name"
            ) from e
        yield folder


def is_reserved(name: str) -> bool:
    """Tell whether a lab of this name is running, or about to."""
    try:
        with reserve(name):
            return False
    except LabError:
        return True


class Control:
    """Lets a lab be looked at, broken and ended from another terminal.

    Parameters
    ----------
    lab
        The lab, started.
    name
        Name of the lab there; `reserve` it before the lab starts.

    """

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab = lab
        self._name = name
        self._folder = control_folder(name)
        self._ended = Event()

    def __enter__(self) -> Self:
        for name in (_SOCKET, _KEY):
            (self._folder / name).unlink(missing_ok=True)
        key = secrets.token_hex(32)
        write_private(self._folder / _KEY, key)
        self._listener = Listener(
            str(self._folder / _SOCKET), "AF_UNIX", authkey=key.encode()
        )
        self._thread = Thread(target=self._serve, name="lab-control")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        # Whoever waits for a request is woken by a caller who hangs up. If
        # nobody waits any more, nobody answers: so do not wait for it.
        with suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(self._folder / _SOCKET))
        self._thread.join()
        self._listener.close()
        (self._folder / _KEY).unlink(missing_ok=True)

    def _serve(self) -> None:
        while not self._ended.is_set():
            # Someone without the key, or gone before a word was said.
            with suppress(OSError, EOFError, AuthenticationError):
                line = self._listener.accept()
                # A fault may take long; the next request must not wait.
                Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: Connection) -> None:
        with line, suppress(OSError, EOFError):
            request = json.loads(line.recv_bytes())
            try:
                answer = self._do(request)
            except MirrorwatchError as e:
                answer = {"error": str(e)}
            line.send_bytes(json.dumps(answer).encode())

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "status":
            return _describe(self._lab)
        if request["do"] == "inject":
            self._inject(
                request["fault"], request["arguments"], request["seconds"]
            )
        elif request["do"] == "down":
            # As if from the owner's own terminal.
            os.kill(os.getpid(), signal.SIGTERM)
        return {}

    def _inject(
        self, fault: str, arguments: list[str], seconds: float | None
    ) -> None:
        undo = inject(
            self._lab, fault, arguments, to_be_undone=seconds is not None
        )
        if undo is None or seconds is None:
            return

        def take_back() -> None:
            if not self._ended.wait(seconds):
                with suppress(LabError):
                    undo()

        Thread(target=take_back, daemon=True).start()


def _describe(lab: Lab) -> dict[str, Any]:
    return {
        "kafka": lab.settings.kafka,
        "naming": lab.settings.naming,
        "intervals": lab.settings.intervals,
        "folder": str(lab.folder),
        "logs": str(lab.logs),
        "source": lab.source.bootstrap,
        "target": lab.target.bootstrap,
        "source_for_agent": lab.source.agent_bootstrap,
        "jolokia": lab.mirror.jolokia_url,
        "registries": {r.name: r.url for r in lab.registries.values()},
        "owner": os.getpid(),
        "parts": [
            {
                "name": name,
                "pid": part.pid,
                "state": "frozen"
                if part.frozen
                else "running"
                if part.running
                else "stopped",
            }
            for name, part in lab.parts.items()
        ],
    }


def _reachable(name: str) -> bool:
    try:
        ask(name, {"do": "nothing"})
    except LabError:
        return False
    return True
