"""Audit job: one running audit, in processes of its own, and its results."""

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from ...domain.audit.result import AuditResult
from ...exceptions import AuditError
from ...secrets import HIDDEN
from ...state.audits import read_audit

__all__ = [
    "AuditProcess",
    "JobSettings",
    "ResultFolder",
    "ResultsSeen",
    "why_not_read",
    "why_not_start",
]


LINES = 20
"""Last lines of its output that are kept: a Java stack trace's beginning."""

WIDTH = 300

READ = 64 * 1024

STOP_SECONDS = 7.0
"""A little longer than the guard takes to kill what does not stop."""


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """Settings of an audit process: command, memory and secrets."""

    command: Sequence[str]
    memory: int
    secrets: Sequence[str] = ()
    """Secrets that are redacted wherever the command's output holds them."""


class AuditProcess:
    """Starts the command and watches over it.

    Parameters
    ----------
    settings
        Command, memory and secrets of the process.
    more
        More arguments.

    Raises
    ------
    AuditError
        Raised if it cannot be started.

    Notes
    -----
    What it writes is always read, or it would stop at a full pipe; only the
    end of it is kept. Results are not taken from there: they are in its
    folder, where one that was started elsewhere leaves them as well.
    """

    def __init__(
        self, settings: JobSettings, more: Sequence[str] = ()
    ) -> None:
        self._secrets = [s for s in settings.secrets if s]
        self._lines: deque[str] = deque(maxlen=LINES)
        guard = Path(__file__).with_name("guard.py")
        # Isolated from modules beside it, and quick to start.
        python = [sys.executable, "-IS", str(guard)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [*python, str(settings.memory), *settings.command, *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Ctrl-C at the agent's terminal is for the agent.
                start_new_session=True,
            )
        except OSError as e:
            raise AuditError(f"Cannot start an audit: {e}") from e
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stderr,), daemon=True
        )
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id of its guard."""
        return self._process.pid

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines that it wrote to standard error."""
        return tuple(self._lines)

    def poll(self) -> int | None:
        """Return its exit status, `None` while it runs."""
        status = self._process.poll()
        if status is not None:
            self._let_go()
        return status

    def ask_to_stop(self) -> None:
        """Make it end within a few seconds, in good order or not."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def stop(self) -> None:
        """Stop it, and wait until nothing of it is left."""
        self.ask_to_stop()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        self.ask_to_stop()
        # Its end is what it wrote last; whatever may hold it open is killed.
        self._reader.join(1)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in _lines_of(stream):
                self._lines.append(self._clean(line))

    def _clean(self, line: str) -> str:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return line[:WIDTH]


def _lines_of(stream: IO[bytes]) -> Iterable[str]:
    """Yield lines; of an endless one only the beginning."""
    while line := stream.readline(READ):
        text = line.decode("utf-8", "replace")
        # A progress bar overwrites its own line.
        text = text.rstrip().rpartition("\r")[2].rstrip()
        if text:
            yield text


def why_not_start(*, has_file: bool) -> str | None:
    """Return why the agent cannot start an audit.

    Parameters
    ----------
    has_file
        The agent's configuration is a file.
    """
    if not has_file:
        return (
            "mirrorwatch cannot start the audit: its configuration is not a "
            "file that another process can read"
        )
    # Asked for, not imported: that would cost the agent 100 MB.
    if find_spec("pyspark") is None:
        return (
            "mirrorwatch cannot start the audit: PySpark is not installed "
            "beside it"
        )
    return None


def why_not_read(folder: str, *, is_local: bool) -> str | None:
    """Return why the agent cannot read results.

    Parameters
    ----------
    folder
        Folder or address of the results.
    is_local
        The results are in a folder of this machine.
    """
    if is_local:
        return None
    return f"mirrorwatch cannot read audit results in {folder}"


FIRST = 20
"""Newest whole nights that are read when the agent starts: what is older is
either known from before, or of no concern any more."""

MOST = 100
"""Runs that are read then at most: parts and pieces of nights are many."""

Version = tuple[int, int]
"""Time of the last change, and size."""


@dataclass(frozen=True, slots=True)
class ResultsSeen:
    """New results in the folder since the last look."""

    results: tuple[AuditResult, ...] = ()
    problems: tuple[str, ...] = ()
    """Reasons why results cannot be read, the newest first."""


class ResultFolder:
    """Finds results that were not there, or were others, before.

    Parameters
    ----------
    folder
        ``audit.out``; it need not exist yet.

    Notes
    -----
    Results of every audit are there, whatever ran it: the agent, another one,
    or a cluster. So there is one truth, and it survives the agent.

    One that cannot be read is tried again with every look: a mounted folder
    may fail for a moment, and a change of rights changes no version.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listed: dict[str, Version] | None = None
        self._known: dict[str, Version] | None = None

    def look(self) -> ResultsSeen:
        """Return what is new.

        Raises
        ------
        AuditError
            Raised if the folder cannot be read.
        """
        versions = self._listed = self._list()
        newest_first = sorted(
            versions, key=lambda r: versions[r], reverse=True
        )
        before = self._known or {}
        is_start = self._known is None
        known = {}
        results: list[AuditResult] = []
        problems: list[str] = []
        for run in newest_first:
            is_old = is_start and _is_enough(results, problems)
            if not is_old and before.get(run) != versions[run]:
                try:
                    audit = read_audit(self._folder, run)
                except AuditError as e:
                    is_latest = run == newest_first[0]
                    which = "The latest" if is_latest else "An earlier"
                    problems.append(
                        f"{which} audit result cannot be read: {e}"
                    )
                    continue
                if audit is None:
                    continue  # deleted since it was listed
                if audit.result.nightly:
                    results.append(audit.result)
            known[run] = versions[run]
        self._known = known
        return ResultsSeen(tuple(results), tuple(problems))

    def has_result(self, run: str) -> bool:
        """Return whether the result of a run was there at the last look."""
        return self._listed is None or run in self._listed

    def has_report(self, run: str) -> bool:
        """Return whether a run left a report for people."""
        if not run:
            return False
        try:
            return (self._folder / "runs" / run / "report.html").is_file()
        except OSError:
            return False

    def _list(self) -> dict[str, Version]:
        found = {}
        try:
            for folder in (self._folder / "runs").iterdir():
                if folder.name.startswith("adhoc-"):
                    continue  # a window that somebody asked for, no night
                try:
                    facts = (folder / "result.json").stat()
                except (FileNotFoundError, NotADirectoryError):
                    continue  # one that still runs, or was given up
                found[folder.name] = (facts.st_mtime_ns, facts.st_size)
        except FileNotFoundError:
            return {}  # before the first audit
        except OSError as e:
            raise AuditError(f"Audit results cannot be read: {e}") from e
        return found


def _is_enough(
    results: Sequence[AuditResult], problems: Sequence[str]
) -> bool:
    """Return whether what was read has the last night of every flow."""
    whole = [r for r in results if not (r.more or r.partial or r.of_flow)]
    return len(whole) >= FIRST or len(results) + len(problems) >= MOST
