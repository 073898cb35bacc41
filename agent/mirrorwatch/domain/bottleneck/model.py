"""Metrics that a mirror reports of one flow, and how they were read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from ..offsets import LARGEST

__all__ = [
    "ClassMetrics",
    "ConsumerMetrics",
    "ErrorCounters",
    "FetchProgress",
    "IoMetrics",
    "LastError",
    "MBean",
    "MBeanQuery",
    "MirrorMetrics",
    "MirrorObservation",
    "ProducerMetrics",
    "Rebalances",
    "TaskErrors",
    "TaskMetrics",
    "UnreachableProcess",
    "WorkerTask",
    "parse_name",
    "unquote",
]


# The metrics that a mirror gives of itself. They explain; they never prove.
#
# Every metric is of a window (the last half minute to a minute) where the
# mirror has one: absent when nothing happened in it, and never frozen.


def _metric(unit: str, text: str) -> Any:
    return field(default=None, metadata={"unit": unit, "help": text})


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumerMetrics:
    """The mirror's consumers, which read from the source."""

    fetch_size_average_bytes: float | None = _metric(
        "bytes", "Average size of a fetch from the source (fetch-size-avg)"
    )
    fetch_size_max_bytes: float | None = _metric(
        "bytes", "Largest fetch from the source (fetch-size-max)"
    )
    fetches_per_second: float | None = _metric(
        "fetches per second", "Fetches from the source (fetch-rate)"
    )
    fetch_latency_average_seconds: float | None = _metric(
        "seconds",
        "Average latency of fetches from the source; 0.5 when idle "
        "(fetch-latency-avg)",
    )
    fetch_latency_max_seconds: float | None = _metric(
        "seconds",
        "Largest latency of a fetch from the source (fetch-latency-max)",
    )
    fetch_throttle_average_seconds: float | None = _metric(
        "seconds",
        "Average time for which a source quota throttled fetches "
        "(fetch-throttle-time-avg)",
    )
    fetch_throttle_max_seconds: float | None = _metric(
        "seconds",
        "Longest time for which a source quota throttled a fetch "
        "(fetch-throttle-time-max)",
    )
    consumer_lag_max_records: float | None = _metric(
        "records",
        "Largest lag of MirrorMaker's consumer on a partition "
        "(records-lag-max)",
    )
    consumer_lead_min_records: float | None = _metric(
        "records",
        "Smallest distance to the log start of a partition; at 0 "
        "records are lost (records-lead-min)",
    )
    consumed_bytes_per_second: float | None = _metric(
        "bytes per second",
        "Bytes consumed from the source (bytes-consumed-rate)",
    )
    consumed_records_per_second: float | None = _metric(
        "records per second",
        "Records consumed from the source (records-consumed-rate)",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProducerMetrics:
    """The mirror's producers, which write to the target."""

    batch_size_average_bytes: float | None = _metric(
        "bytes", "Average size of a producer batch (batch-size-avg)"
    )
    batch_size_max_bytes: float | None = _metric(
        "bytes", "Largest producer batch (batch-size-max)"
    )
    requests_in_flight: float | None = _metric(
        "requests",
        "Producer requests in flight to the target (requests-in-flight)",
    )
    retries_per_second: float | None = _metric(
        "records per second",
        "Record sends retried by the producer (record-retry-rate)",
    )
    errors_per_second: float | None = _metric(
        "records per second", "Record sends that failed (record-error-rate)"
    )
    sends_per_second: float | None = _metric(
        "records per second", "Records sent to the target (record-send-rate)"
    )
    request_latency_average_seconds: float | None = _metric(
        "seconds",
        "Average latency of producer requests to the target "
        "(request-latency-avg)",
    )
    request_latency_max_seconds: float | None = _metric(
        "seconds",
        "Largest latency of a producer request to the target "
        "(request-latency-max)",
    )
    record_queue_average_seconds: float | None = _metric(
        "seconds",
        "Average time of batches in the producer's buffer "
        "(record-queue-time-avg)",
    )
    record_queue_max_seconds: float | None = _metric(
        "seconds",
        "Longest time of a batch in the producer's buffer "
        "(record-queue-time-max)",
    )
    produce_throttle_average_seconds: float | None = _metric(
        "seconds",
        "Average time for which a target quota throttled requests "
        "(produce-throttle-time-avg)",
    )
    produce_throttle_max_seconds: float | None = _metric(
        "seconds",
        "Longest time for which a target quota throttled a request "
        "(produce-throttle-time-max)",
    )
    compression_ratio: float | None = _metric(
        "ratio",
        "Compressed size of batches, divided by uncompressed size "
        "(compression-rate-avg)",
    )
    batch_splits_per_second: float | None = _metric(
        "batches per second",
        "Producer batches split because they were too large for the "
        "target (batch-split-rate)",
    )
    buffer_available_bytes: float | None = _metric(
        "bytes", "Smallest free producer buffer (buffer-available-bytes)"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class IoMetrics:
    """Load of the network threads of the mirror's clients."""

    io_ratio: float | None = _metric(
        "ratio", "Share of time spent on I/O by the busiest client"
    )
    io_wait_ratio: float | None = _metric(
        "ratio", "Share of time spent waiting for I/O by the busiest client"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassMetrics:
    """Copy metrics of one class of topics."""

    record_age_min_seconds: float | None = _metric(
        "seconds", "Smallest record age when consumed (record-age-ms-min)"
    )
    record_age_average_seconds: float | None = _metric(
        "seconds", "Average record age when consumed (record-age-ms-avg)"
    )
    record_age_max_seconds: float | None = _metric(
        "seconds", "Largest record age when consumed (record-age-ms-max)"
    )
    replication_latency_min_seconds: float | None = _metric(
        "seconds",
        "Smallest replication latency of records (replication-latency-ms-min)",
    )
    replication_latency_average_seconds: float | None = _metric(
        "seconds",
        "Average replication latency of records (replication-latency-ms-avg)",
    )
    replication_latency_max_seconds: float | None = _metric(
        "seconds",
        "Largest replication latency of records (replication-latency-ms-max)",
    )
    records_per_second: float | None = _metric(
        "records per second", "Records replicated (record-rate)"
    )
    bytes_per_second: float | None = _metric(
        "bytes per second",
        "Bytes of values replicated, without keys and headers (byte-rate)",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskMetrics:
    """The tasks of Connect in which the mirror runs."""

    checkpoint_latency_min_seconds: float | None = _metric(
        "seconds",
        "Smallest checkpoint latency of a consumer group "
        "(checkpoint-latency-ms-min)",
    )
    checkpoint_latency_average_seconds: float | None = _metric(
        "seconds",
        "Average checkpoint latency of consumer groups "
        "(checkpoint-latency-ms-avg)",
    )
    checkpoint_latency_max_seconds: float | None = _metric(
        "seconds",
        "Largest checkpoint latency of a consumer group "
        "(checkpoint-latency-ms-max)",
    )
    offset_commit_success_ratio: float | None = _metric(
        "ratio",
        "Successful offset commits, of the worst task "
        "(offset-commit-success-percentage)",
    )
    offset_commit_failure_ratio: float | None = _metric(
        "ratio",
        "Failed offset commits, of the worst task "
        "(offset-commit-failure-percentage)",
    )
    offset_commit_average_seconds: float | None = _metric(
        "seconds",
        "Average time of an offset commit, of the worst task "
        "(offset-commit-avg-time-ms)",
    )
    offset_commit_max_seconds: float | None = _metric(
        "seconds",
        "Longest time of an offset commit (offset-commit-max-time-ms)",
    )
    active_records: float | None = _metric(
        "records",
        "Records consumed from the source and not yet written "
        "(source-record-active-count)",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskErrors:
    """Errors that a task, or all of them, counted since its start."""

    record_failures: int = 0
    records_skipped: int = 0
    """Records that a transform or a converter failed at, and that were left
    out (``errors.tolerance=all``)."""

    record_errors: int = 0
    """Transforms and conversions that failed for good. Where errors are not
    tolerated the task fails then, and reads the record again."""

    retries: int = 0

    @property
    def not_produced(self) -> int:
        """Records that the producer could not write, and that were left out.

        They are failures, and neither errors nor retries; all other failures
        are one of both (Connect's `RetryWithToleranceOperator`, and
        `producerSendFailed` of its source tasks).
        """
        return max(0, self.record_failures - self.record_errors - self.retries)

    @property
    def lost(self) -> int:
        """Records given up."""
        return self.not_produced + self.records_skipped


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalances:
    """Rebalances of one Connect worker."""

    completed: int | None = None
    last: timedelta | None = None
    """Time since the last rebalance."""

    longest: timedelta | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerTask:
    """State of one task, as reported by its worker."""

    connector: str
    task: int | None
    """Its number; `None` for the connector itself."""

    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorMetrics:
    """Metrics of one flow from all processes of a mirror, combined."""

    consumer: ConsumerMetrics = field(default_factory=ConsumerMetrics)
    producer: ProducerMetrics = field(default_factory=ProducerMetrics)

    io: Mapping[str, IoMetrics] = field(default_factory=dict)
    classes: Mapping[str, ClassMetrics] = field(default_factory=dict)
    tasks: TaskMetrics = field(default_factory=TaskMetrics)

    lags: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """The consumer's lag when it last read a partition, by topic and
    partition. It stands still when the consumer does. Before Kafka 4.1 dots
    in topics are underscores."""

    silent: tuple[str, ...] = ()
    """Consumers that have fetched before and got no answer for a window; an
    idle one gets an answer twice a second. Those of paused tasks do not ask,
    and are left out, here and below."""

    connections: Mapping[str, float] = field(default_factory=dict)
    """Open connections of all clients, by client as in `io`; absent where
    they are not exported, or all tasks are paused."""

    fetches: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[tuple[str, str, int], TaskErrors] = field(
        default_factory=dict
    )
    last_errors: Mapping[tuple[str, str, int], datetime | None] = field(
        default_factory=dict
    )
    """Time of each task's last permanent failure, by the clock of its worker;
    `None` for never since its start."""

    states: tuple[WorkerTask, ...] = ()
    rebalances: Mapping[str, Rebalances] = field(default_factory=dict)

    @property
    def blank(self) -> bool:
        """Return whether there are no copy metrics of this flow."""
        return not self.classes and self.consumer == ConsumerMetrics()


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreachableProcess:
    """A process of the mirror whose metrics do not arrive."""

    url: str
    reason: str
    since: datetime | None
    """Time of the last metrics that were read; `None` if never."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchProgress:
    """Progress of answered fetches, by reading. Even for an idle topic, one
    fetch is answered twice a second.
    """

    fetches: Mapping[str, float]
    """Fetches answered up to the last reading, by consumer."""

    read_at: datetime
    still_since: datetime
    answered_after: datetime | None = None
    """A time after which one was answered for certain; `None` for never."""

    def note(
        self, fetches: Mapping[str, float], at: datetime
    ) -> "FetchProgress":
        """Take a reading.

        Notes
        -----
        Only consumers that were in the reading before say anything: those of
        a process that answers again have fetched whenever they did.
        """
        if at <= self.read_at:
            return self  # it is the same
        both = [
            (fetches[c], n) for c, n in self.fetches.items() if c in fetches
        ]
        still = bool(both) and all(now == before for now, before in both)
        rose = any(now > before for now, before in both)
        return FetchProgress(
            fetches=fetches,
            read_at=at,
            still_since=self.still_since if still else at,
            # Fewer are those of another start.
            answered_after=self.read_at if rose else self.answered_after,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorObservation:
    """Observation of one flow's mirror, from the mirror's own metrics."""

    flow: str
    at: datetime
    metrics: MirrorMetrics
    answering: tuple[str, ...] = ()
    unread: tuple[UnreachableProcess, ...] = ()
    """Processes whose metrics do not arrive."""

    counted: TaskErrors = field(default_factory=TaskErrors)
    last_lost: datetime | None = None
    """Time at which dropped records were last observed."""

    lately: TaskErrors = field(default_factory=TaskErrors)
    """Errors counted then, and less than an hour before another."""

    progress: FetchProgress | None = None
    """Progress of fetches; `None` if that metric is not exported."""


_PROPERTY = re.compile(r'([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, kw_only=True, slots=True)
class MBean:
    """Snapshot of one MBean."""

    domain: str
    """Domain of the MBean: the part of its name before the colon."""

    properties: Mapping[str, str]
    attributes: Mapping[str, float | str]
    """Attribute values. NaN and infinite ones are absent: nothing happened in
    the window, or ever, which is not zero."""

    @property
    def type(self) -> str:
        """Type of the MBean within its domain."""
        return self.properties.get("type", "")


_NUMBERED = {"partition", "task"}

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, kw_only=True, slots=True)
class MBeanQuery:
    """MBeans that are to be read."""

    domain: str
    """Domain of the MBeans: the part of their names before the colon."""

    type: str
    keys: Mapping[str, str] = field(default_factory=dict)
    """Their other properties, exactly these, each with a pattern of values
    as in the names of MBeans: ``*`` is anything."""

    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """The pattern of their names."""
        keys = "".join(f",{key}={value}" for key, value in self.keys.items())
        return f"{self.domain}:type={self.type}{keys}"

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes."""
        return self.numbers + self.texts

    def covers(self, properties: Mapping[str, str]) -> bool:
        """Return whether an MBean of this domain and type is wanted."""
        return properties.keys() == self.keys.keys() and all(
            fnmatchcase(properties[key], unquote(pattern))
            and (key not in _NUMBERED or _NUMBER.fullmatch(properties[key]))
            for key, pattern in self.keys.items()
        )

    def take(self, found: Mapping[str, object]) -> dict[str, float | str]:
        """Return what was wanted of what was found; nothing else is let in.

        Attributes that an MBean lacks or cannot give are left out.
        """
        taken: dict[str, float | str] = {}
        for name in self.numbers:
            value = found.get(name)
            if isinstance(value, int | float) and abs(value) <= LARGEST:
                taken[name] = float(value)
        for name in self.texts:
            value = found.get(name)
            if isinstance(value, str):
                taken[name] = value
        return taken


def parse_name(name: str) -> tuple[str, dict[str, str]]:
    """Return the domain of an MBean's name, and its properties.

    Order does not matter, and quotes that Kafka puts around names with
    unusual letters are taken off.
    """
    domain, _, rest = name.partition(":")
    return domain, {
        match[1]: unquote(match[2]) for match in _PROPERTY.finditer(rest)
    }


def unquote(value: str) -> str:
    """Return the value of a property without the quotes around it."""
    if len(value) < 2 or not value.startswith('"'):
        return value
    return _ESCAPED.sub(
        lambda match: "\n" if match[1] == "n" else match[1], value[1:-1]
    )


APART = timedelta(hours=1)
"""Losses further apart than this are distinguished: as long as a lost probe is
remembered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LastError:
    """Time of a task's last permanent failure, by the clock of its worker."""

    read: datetime
    """As it was last read."""

    known: datetime | None = None
    """As it was read twice with the same numbers. Once is not enough: one of
    both may be of before an error, and the other of after it."""

    def is_another(self, read: datetime) -> bool:
        """Return whether that is later than it was with the same numbers."""
        return (
            self.known is not None and read == self.read and read > self.known
        )

    def note(self, read: datetime) -> "LastError":
        """Take a reading with the same numbers as the one before."""
        return LastError(
            read=read, known=read if read == self.read else self.known
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorCounters:
    """Error counters so far."""

    counted: TaskErrors = field(default_factory=TaskErrors)
    seen: Mapping[str, TaskErrors] = field(default_factory=dict)
    """Last counters reported by each task."""

    last_lost: datetime | None = None
    """Time at which records were last dropped."""

    lately: TaskErrors = field(default_factory=TaskErrors)
    """Errors counted in the last loss, and in earlier losses that are not
    distinguished from it."""

    last_errors: Mapping[str, LastError] = field(default_factory=dict)
    """Last permanent failure of each task that reports it."""

    def count(
        self,
        said: Mapping[tuple[str, str, int], TaskErrors],
        last_errors: Mapping[tuple[str, str, int], datetime | None],
        now: datetime,
        *,
        since: Mapping[str, datetime],
    ) -> "ErrorCounters":
        """Count on.

        Parameters
        ----------
        said
            Error counters of each task that was read anew, by address,
            connector and task.
        last_errors
            Time of the last permanent failure of each of them that reports it;
            `None` for never.
        now
            The time.
        since
            Time of the previous read of the tasks, by address.

        Notes
        -----
        A task counts from 0 at each start. So a number below the one before
        is of a new start, and all of it is new. So is all of it where only
        the time of the last error is another one. Where a task counted more
        since its start than before it, only the rest is counted: nothing
        that is read says that it started.

        While an attempt waits to be retried, it is a failure and not a retry
        yet. What looks like a record that was not produced, without another
        time of the last error, is not counted until it is known which it is.
        """
        seen, times = dict(self.seen), dict(self.last_errors)
        counted, last, lately = self.counted, self.last_lost, self.lately
        for place, errors in said.items():
            key, last_error = task_key(place), last_errors.get(place)
            before = seen.get(key)
            new = _since(errors, before or TaskErrors())
            if new.not_produced and not _has_failed(
                place in last_errors, last_error, times.get(key)
            ):
                continue
            time = times.pop(key, None)
            if last_error is not None and (time is None or errors != before):
                times[key] = LastError(read=last_error)
            elif last_error is not None and time is not None:
                if time.is_another(last_error):
                    new = errors
                times[key] = time.note(last_error)
            seen[key], counted = errors, _add(counted, new)
            if not new.lost:
                continue
            at = last_error or now
            # The worker's clock may be behind ours, or ahead of it.
            at = min(max(at, since.get(place[0], at)), now)
            if last is None or at - last > APART:
                last, lately = at, new
            elif last - at <= APART:
                last, lately = max(at, last), _add(lately, new)
        counters = ErrorCounters(
            counted=counted,
            seen=seen,
            last_lost=last,
            lately=lately,
            last_errors=times,
        )
        return self if counters == self else counters


def _has_failed(
    is_told: bool,  # noqa: FBT001
    at: datetime | None,
    before: LastError | None,
) -> bool:
    """Return whether a task may have failed for good since it was read: not
    if it says that it has not.
    """
    if not is_told or before is None or before.known is None:
        return at is not None or not is_told
    return at is not None and at != before.known


def task_key(place: tuple[str, str, int]) -> str:
    """Return a task's place as one word."""
    url, connector, task = place
    return f"{url} {connector} {task}"


def _add(one: TaskErrors, other: TaskErrors) -> TaskErrors:
    return TaskErrors(
        **{
            f.name: getattr(one, f.name) + getattr(other, f.name)
            for f in fields(TaskErrors)
        }
    )


def _since(now: TaskErrors, before: TaskErrors) -> TaskErrors:
    """Return what was counted since; all of it if the task restarted."""
    pairs = {
        f.name: (getattr(now, f.name), getattr(before, f.name))
        for f in fields(TaskErrors)
    }
    if any(new < old for new, old in pairs.values()):
        return now
    return TaskErrors(
        **{name: new - old for name, (new, old) in pairs.items()}
    )
