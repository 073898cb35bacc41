"""Everything that mirrorwatch raises on purpose."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Literal

from .secrets import hide_secrets

__all__ = [
    "AuditError",
    "AuditRefusedError",
    "ConfigError",
    "InternalError",
    "Layer",
    "LayerError",
    "MavenError",
    "MirrorwatchError",
    "PlacedProblem",
    "SinkError",
    "SinkRejectedError",
    "SourceDeniedError",
    "SourceError",
    "SourceUnavailableError",
    "StateError",
    "StateInUseError",
    "StateUnusableError",
    "WebError",
]


class MirrorwatchError(Exception):
    """Base class for all mirrorwatch errors.

    Parameters
    ----------
    message
        Cause of the error. It may quote libraries and servers: what the
        configuration hides is redacted.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(hide_secrets(message))

    def to_logging_context(self) -> dict[str, Any]:
        """Return fields to bind to a log message about this error."""
        return {"error": str(self), "error_type": type(self).__name__}

    def to_document(self) -> dict[str, Any]:
        """Return what ``--json`` prints of this error."""
        return {"type": type(self).__name__, "message": str(self)}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedProblem:
    """Problem in a configuration file, with its location."""

    file: str
    line: int | None
    """Line of the nearest key, counted from 1, if it is known."""

    path: str
    """Key, as ``flows[0].mirror.kind``; empty for the whole file."""

    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(filter(None, (where, self.path, self.message)))


class ConfigError(MirrorwatchError):
    """The configuration cannot be used. Retrying will not help.

    Parameters
    ----------
    message
        Problems, one a line.
    problems
        The same one by one, where they have a place in a file.
    """

    def __init__(
        self, message: str = "", problems: Sequence[PlacedProblem] = ()
    ) -> None:
        super().__init__(message)
        self.problems = tuple(
            replace(p, message=hide_secrets(p.message)) for p in problems
        )

    def to_document(self) -> dict[str, Any]:
        return super().to_document() | {
            "problems": [asdict(problem) for problem in self.problems]
        }


class StateError(MirrorwatchError):
    """The state file cannot be read or written."""


class StateInUseError(StateError):
    """Another mirrorwatch has the state file."""


class StateUnusableError(StateError):
    """The state file is damaged, or not one that this mirrorwatch can read."""


class AuditError(MirrorwatchError):
    """An audit did not come to an end, so nothing is known of its ranges."""


class AuditRefusedError(AuditError):
    """Another audit is running on the folder of all runs: try again later."""

    STATUS = 5


class InternalError(MirrorwatchError):
    """A part of mirrorwatch crashed: a bug, or an answer beyond all bounds.

    Parameters
    ----------
    part
        Part that crashed: a source, a check, a sink, a worker.
    what
        Class and place of the exception. Not its words, which may quote
        anything.
    """

    def __init__(self, part: str, what: str) -> None:
        super().__init__(
            f"Internal error in {part}: {what}. Report it with the agent's log"
        )
        self.part = part


class WebError(MirrorwatchError):
    """The web page cannot be served, or a running agent not be asked."""


class MavenError(MirrorwatchError):
    """A jar cannot be fetched, or is not the one that was expected."""


Layer = Literal["tcp", "tls"]
"""Connection layer that failed."""


class LayerError(MirrorwatchError):
    """A connection failed, and this is why.

    Parameters
    ----------
    layer
        Where.
    cause
        Cause of the failure.
    remedy
        Remedy.
    """

    def __init__(self, layer: Layer, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.layer = layer
        self.remedy = hide_secrets(remedy)


class SourceError(MirrorwatchError):
    """Reading from the outside world failed.

    Parameters
    ----------
    message
        Cause of the failure, and its remedy.
    source
        Name of the source.
    cluster
        Alias of the cluster being read.
    """

    def __init__(self, message: str, *, source: str, cluster: str) -> None:
        super().__init__(message)
        self.source = source
        self.cluster = cluster

    def to_logging_context(self) -> dict[str, Any]:
        context = super().to_logging_context()
        return context | {"source": self.source, "cluster": self.cluster}


class SourceDeniedError(SourceError):
    """A cluster refused the agent. Somebody has to grant a right.

    Parameters
    ----------
    message
        Request that was refused.
    source
        Name of the source.
    cluster
        Alias of the cluster.
    right
        Missing right, as Kafka's ACLs name it.
    """

    def __init__(
        self, message: str, *, source: str, cluster: str, right: str
    ) -> None:
        super().__init__(message, source=source, cluster=cluster)
        self.right = right

    def to_logging_context(self) -> dict[str, Any]:
        return super().to_logging_context() | {"right": self.right}


class SourceUnavailableError(SourceError):
    """A cluster could not be reached. The next try may succeed."""


class SinkError(MirrorwatchError):
    """A report could not be published.

    Parameters
    ----------
    message
        Cause of the failure.
    sink
        Name of the sink.
    retry_after
        Pause that the server asks for, if it does.
    busy
        The server refuses for a reason of its own, whatever it was sent. True
        also if it asks for a pause.
    """

    def __init__(
        self,
        message: str,
        *,
        sink: str,
        retry_after: timedelta | None = None,
        busy: bool = False,
    ) -> None:
        super().__init__(message)
        self.sink = sink
        self.retry_after = retry_after
        self.busy = busy or retry_after is not None

    def to_logging_context(self) -> dict[str, Any]:
        return super().to_logging_context() | {"sink": self.sink}


class SinkRejectedError(SinkError):
    """The data itself was refused. Sending it again will not help.

    Parameters
    ----------
    message
        Cause of the failure.
    sink
        Name of the sink.
    points
        Number of refused points, where the server says so; `None` means all
        that were sent.
    """

    def __init__(
        self,
        message: str,
        *,
        sink: str,
        points: int | None = None,
    ) -> None:
        super().__init__(message, sink=sink)
        self.points = points
