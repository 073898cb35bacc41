"""Logging of the agent: structured lines on stderr, without secrets."""

import io
import logging
import os
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from threading import Condition, Thread
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from .secrets import hide_secrets, looks_secret

__all__ = ["UnblockedStream", "configure_logging", "redact_secrets"]

REDACTED = "***"


MOST_WAITING = 10_000
"""Lines that wait for whoever reads stderr: more are dropped, and counted."""

FLUSH_SECONDS = 0.5
"""Timeout of the final flush, in case nobody reads stderr."""


class UnblockedStream(io.TextIOBase):
    """A stream whose reader cannot hold up who writes.

    A pipe that nobody empties blocks whoever writes into it: the tick, if it
    logs. Here a thread writes, and only that one waits.

    Parameters
    ----------
    descriptor
        File descriptor for lines. Not a stream of Python's: the interpreter
        would wait for its lock at the end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        with self._changed:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(text)
            else:
                self._dropped += 1
            self._changed.notify_all()
        return len(text)

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def close(self) -> None:
        """Write what waits, as far as time allows."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, FLUSH_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                text = "".join(self._waiting)
                count = len(self._waiting)
                dropped, self._dropped = self._dropped, 0
            if dropped:
                text += f"{dropped} lines of the log were dropped\n"
            left = text.encode(errors="backslashreplace")
            # Whoever read it may be gone.
            with suppress(OSError):
                while left:
                    left = left[os.write(self._descriptor, left) :]
            with self._changed:
                for _ in range(count):
                    self._waiting.popleft()
                self._changed.notify_all()


def configure_logging(
    *,
    json: bool,
    level: str = "info",
    stream: TextIO | UnblockedStream | None = None,
) -> None:
    """Set up logging for the process, that of the libraries included.

    Parameters
    ----------
    json
        Write JSON lines; else lines for a person at a terminal.
    level
        Least level that is written: ``debug``, ``info``, ``warning``, ...
    stream
        Stream; stderr by default.

    Notes
    -----
    Everything goes to stderr: stdout belongs to the commands. Tracebacks are
    plain, because the pretty ones print local variables, secrets included.
    Loggers are not cached on first use, so that tests can capture them. The
    libraries' lines never go below warning: at debug they show requests.
    """
    stream = cast("TextIO", stream or sys.stderr)
    threshold = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_secrets,
    ]
    render = _renderer(json=json)
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                render,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(threshold, logging.WARNING))


def redact_secrets(
    _logger: WrappedLogger, _method: str, event: EventDict
) -> EventDict:
    """Hide what a key's name or an address says is secret, at any depth."""
    return {key: _redacted(key, value) for key, value in event.items()}


def _redacted(key: str, value: Any) -> Any:
    if looks_secret(key, in_data=True):
        return REDACTED
    match value:
        case str():
            return hide_secrets(value)
        case Mapping():
            return {k: _redacted(str(k), v) for k, v in value.items()}
        case list() | tuple():
            return [_redacted("", item) for item in value]
        case _:
            return value


def _renderer(*, json: bool) -> Processor:
    if json:
        return structlog.processors.JSONRenderer(default=str)
    return structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        exception_formatter=structlog.dev.plain_traceback,
    )
