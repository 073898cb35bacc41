"""How the agent logs: structured lines on stderr, without secrets."""

import logging
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from .secrets import hide_secrets, looks_secret

__all__ = ["configure_logging", "redact_secrets"]

REDACTED = "***"


def configure_logging(*, json: bool, level: str = "info") -> None:
    """Set up logging for the process, that of the libraries included.

    Parameters
    ----------
    json
        Whether to write JSON lines; else lines for a person at a terminal.
    level
        Least level that is written: ``debug``, ``info``, ``warning``, ...

    Notes
    -----
    Everything goes to stderr: stdout belongs to the commands. Tracebacks are
    plain, because the pretty ones print local variables, secrets included.
    Loggers are not cached on first use, so that tests can capture them. The
    libraries' lines never go below warning: at debug they show requests.
    """
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
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
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
