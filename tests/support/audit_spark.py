"""A small Spark for tests, without Kafka."""

import gc
import json
import os
import signal
import subprocess
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

import pyspark
import pytest
from confluent_kafka import Producer
from pyspark import SparkContext
from pyspark.sql import DataFrame, Row, SparkSession

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.facts import (
    AuditFound,
    FirstSince,
    Log,
    Lookup,
    PairedLogs,
    Question,
    SourceLog,
)
from mirrorwatch.domain.audit.nightly import NightlyInputs, plan_night
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    PartitionPair,
    Plan,
    ends_after,
)
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from mirrorwatch.domain.audit.result import (
    AuditFinding,
    AuditResult,
    TopicCount,
)
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.compare.digests import DigestComparison
from mirrorwatch_audit.digest.records import SIDES
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab
from mirrorwatch_lab.link import LOOPBACK, Ports
from tests.support.lab import FLUSH_SECONDS
from tests.support.watch import wait_until

from .builders import NOON
from .logs import BUCKET, Logs, Record, make_pair, make_plan, millis

__all__ = [
    "CONFIGS",
    "KEYS",
    "PARTITIONS",
    "SETTLE",
    "SHARES",
    "SLACK",
    "SPARK",
    "SPARK_HOME",
    "Audited",
    "Cases",
    "SparkCluster",
    "World",
    "a_copied_world",
    "end_spark",
    "fill",
    "pair_of",
    "records",
    "small_spark",
]


SPARK = [
    pytest.mark.spark,
    # PySpark leaves sockets that results came through to the collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # On some hundred rows, making plans and code takes longer than running.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Else each word of a query is looked up in Python's stack.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        # Spark's thousands of classes were verified by who built them.
        "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
}


@contextmanager
def small_spark() -> Iterator[SparkSession]:
    """Run a session for tables of some hundred rows.

    Notes
    -----
    It is kept for the next file: a Java that has just been started takes most
    of a minute for an audit that a warm one does in seconds. So it has the
    Kafka connector, which few need. `end_spark` ends it at last.
    """
    session = make_session("local[2]", memory="1g", extra=SETTINGS)
    try:
        yield session
    finally:
        session.catalog.clearCache()
        # While the marks of these tests still hold.
        gc.collect()


def end_spark() -> None:
    """End the session that was kept, if there is one."""
    session = SparkSession.getActiveSession()
    if session is None:
        return
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        session.stop()
        _end_java()


def _end_java() -> None:
    """End the JVM too, and close the sockets to it, or pytest complains.

    PySpark keeps both for a next session, and has no word for ending them.
    """
    context: Any = SparkContext
    gateway = context._gateway  # noqa: SLF001 - the only way to it
    context._gateway = context._jvm = None  # noqa: SLF001
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    gc.collect()


SPARK_HOME = Path(pyspark.__file__).parent
"""PySpark brings all of Spark, its programs too."""

_DEPLOY = "org.apache.spark.deploy"

NOWHERE = "/no/python/here"


class SparkCluster:
    """Processes of Spark's own, started by its own `spark-class`.

    Parameters
    ----------
    folder
        Where it keeps logs and what executors are sent.
    workers
        How many; each has one core.
    """

    def __init__(self, folder: Path, workers: int = 3) -> None:
        self._folder = folder
        self._workers = workers
        self._running: list[subprocess.Popen[bytes]] = []
        self._open = ExitStack()

    def __enter__(self) -> Self:
        ports = self._open.enter_context(closing(Ports()))
        port, self._page = ports.take(), ports.take()
        self.url = f"spark://{LOOPBACK}:{port}"
        try:
            self._start(
                "master.Master",
                *("--port", str(port), "--webui-port", str(self._page)),
            )
            for number in range(self._workers):
                work = self._folder / f"worker-{number}"
                worker = self._start(
                    "worker.Worker",
                    *("--cores", "1", "--memory", "1g", "--webui-port", "0"),
                    *("--work-dir", str(work), self.url),
                )
                self._running.append(worker)
            wait_until(
                lambda: self.state().get("aliveworkers") == self._workers,
                what=self.state,
            )
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def kill_worker(self) -> None:
        """Kill one worker and its executors, as a lost machine does."""
        worker = self._running.pop()
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(60)
        self._workers -= 1

    @property
    def environment(self) -> dict[str, str]:
        """What a program that submits to it needs: executors find no Python,
        so that a step which starts one fails.
        """
        return {
            **os.environ,
            "SPARK_LOCAL_IP": LOOPBACK,
            "PYSPARK_PYTHON": NOWHERE,
        }

    def state(self) -> dict[str, Any]:
        """Return what the master tells of itself; nothing if it is not up."""
        page = f"http://{LOOPBACK}:{self._page}/json/"
        try:
            with urlopen(page, timeout=10) as answer:
                return dict(json.load(answer))
        except (URLError, OSError):
            return {}

    def _start(
        self, program: str, *arguments: str
    ) -> "subprocess.Popen[bytes]":
        log = self._open.enter_context(
            (self._folder / f"{program}.log").open("a")
        )
        process = subprocess.Popen(
            [
                *(SPARK_HOME / "bin" / "spark-class", f"{_DEPLOY}.{program}"),
                *("--host", LOOPBACK, *arguments),
            ],
            env=self.environment | {"SPARK_HOME": str(SPARK_HOME)},
            stdout=log,
            stderr=log,
            # With what it starts, to be killed as one.
            start_new_session=True,
        )
        self._open.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(60)


PARTITIONS = {
    "nights.telemetry": 3,
    "nights.headers": 2,
    "nights.nulls": 1,
    "nights.compacted": 1,
    "nights.transactions": 1,
    "nights.large": 1,
    "nights.stamped": 1,
    "nights.unordered": 1,
}

CONFIGS = {
    "nights.compacted": {"cleanup.policy": "compact"},
    "nights.stamped": {"message.timestamp.type": "LogAppendTime"},
}

SHARES = {
    "nights.telemetry": 600,
    "nights.headers": 100,
    "nights.nulls": 50,
    "nights.compacted": 50,
    "nights.transactions": 40,
    "nights.large": 5,
    "nights.stamped": 55,
    "nights.unordered": 100,
}

KEYS = 1000

BATCH = 500
"""Records of a transaction; one in four is aborted."""

SPREAD = timedelta(hours=6)
"""How far out of time order records are."""

Make = Callable[[int], dict[str, Any]]


def telemetry(n: int) -> dict[str, Any]:
    return {"key": b"%d" % (n % 97), "value": b"%0200d" % n}


def with_headers(n: int) -> dict[str, Any]:
    headers = [("unit", b"deg"), ("seq", b"%d" % n), ("none", None)]
    return {"value": b"%050d" % n, "headers": headers}


def nulls(n: int) -> dict[str, Any]:
    keys, values = (None, b"", b"k"), (None, b"", b"%d" % n)
    return {"key": keys[n % 3], "value": values[n // 3 % 3]}


def compacted(n: int) -> dict[str, Any]:
    # Every tenth record of a key is its tombstone.
    value = None if n // KEYS % 10 == 9 else b"%040d" % n
    return {"key": b"%d" % (n % KEYS), "value": value}


def large(n: int) -> dict[str, Any]:
    return {"value": b"%010d" % n * 1000}


def unordered(n: int) -> dict[str, Any]:
    back = SPREAD * ((n * 7919) % 1000) / 1000
    at = round((utc_now() - back).timestamp() * 1000)
    return {"value": b"%060d" % n, "timestamp": at}


MAKERS: Mapping[str, Make] = {
    "nights.telemetry": telemetry,
    "nights.headers": with_headers,
    "nights.nulls": nulls,
    "nights.compacted": compacted,
    "nights.large": large,
    "nights.stamped": telemetry,
    "nights.unordered": unordered,
}


def fill(lab: Lab, topic: str, first: int, last: int) -> None:
    """Write records of one kind, numbered, in order."""
    properties: dict[str, Any] = {
        "bootstrap.servers": lab.source.bootstrap,
        "log_level": 0,
        "linger.ms": 20,
        "queue.buffering.max.messages": 200_000,
    }
    if topic == "nights.transactions":
        _fill_in_transactions(properties, topic, first, last)
        return
    make, partitions = MAKERS[topic], PARTITIONS[topic]
    producer = Producer(properties)
    for n in range(first, last):
        record = {"partition": n % partitions, **make(n)}
        while True:
            try:
                producer.produce(topic, **record)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(FLUSH_SECONDS) == 0


def _fill_in_transactions(
    properties: dict[str, Any], topic: str, first: int, last: int
) -> None:
    producer = Producer({**properties, "transactional.id": f"{topic}-{first}"})
    producer.init_transactions(FLUSH_SECONDS)
    for number, begin in enumerate(range(first, last, BATCH)):
        producer.begin_transaction()
        for n in range(begin, min(begin + BATCH, last)):
            producer.produce(topic, b"%050d" % n, partition=0)
        if number % 4 == 3:
            # Sent, so that it is in the log: MirrorMaker 2 copies it.
            producer.flush(FLUSH_SECONDS)
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)


SETTLE = timedelta(minutes=15)
SLACK = timedelta(hours=6)


def looking(
    answer: Callable[[Collection[Question]], Mapping[Question, AuditFound]],
) -> Lookup:
    """Return what answers one question at once."""
    return lambda question: answer({question})[question]


@dataclass
class World:
    """A source partition, its mirror and its target partition."""

    timestamps: bool = True
    syncs_every: int | None = 3
    now: datetime = NOON
    source: list[datetime | None] = field(default_factory=list)
    """Timestamps of records by offset; `None` for a marker."""

    target: list[int] = field(default_factory=list)
    stamps: list[datetime] = field(default_factory=list)
    position: int = 0
    """Next source offset that the mirror reads."""

    read_committed: bool = False
    """Isolation level of the mirror is `read_committed`."""

    starts_at_end: bool | None = False
    aborted: set[int] = field(default_factory=set)
    """Source offsets that readers of committed records do not see."""

    dropped: set[int] = field(default_factory=set)
    """Source offsets that were read and not copied."""

    committed: int | None = None
    syncs: list[tuple[int, int]] = field(default_factory=list)
    source_start: int = 0
    target_start: int = 0
    ids: tuple[str, str] = ("source", "target")
    ends: AuditedEnds = field(default_factory=AuditedEnds)

    def write(self, count: int, *, early: timedelta = timedelta()) -> None:
        """Write records, one a second."""
        for _ in range(count):
            self.now += timedelta(seconds=1)
            self.source.append(self.now - early)

    def mark(self) -> None:
        """Write a transaction's marker."""
        self.source.append(None)

    def copy(self, count: int) -> None:
        """Copy the next records."""
        for _ in range(count):
            while (
                self.position < len(self.source)
                and self.source[self.position] is None
            ):
                self.position += 1
            if self.position >= len(self.source):
                return
            written_at = self.source[self.position]
            assert written_at is not None
            pair = (self.position, len(self.target))
            if self.syncs_every and len(self.target) % self.syncs_every == 0:
                self.syncs.append(pair)
            self.target.append(self.position)
            self.stamps.append(written_at if self.timestamps else self.now)
            self.position += 1

    def drop(self, count: int) -> None:
        """Read records without copying them."""
        end = min(self.position + count, len(self.source))
        self.dropped |= set(range(self.position, end))
        self.position = end

    def commit(self) -> None:
        """Commit the position, as MirrorMaker 2 does: behind the last copy."""
        if self.target:
            self.committed = self.target[-1] + 1

    def do(self, deed: str, count: int) -> None:
        """Do something by its name, so many times."""
        match deed:
            case "write":
                self.write(count)
            case "late":
                self.write(1, early=timedelta(minutes=count))
            case "copy":
                self.copy(count)
            case "mark":
                self.mark()
            case "commit":
                self.commit()
            case "drop":
                self.drop(count)
            case "rewind":
                self.position = max(0, self.position - count)
            case "wait":
                self.now += timedelta(seconds=count)
            case "expire source":
                self.source_start = min(
                    self.source_start + count, self.position, len(self.source)
                )
            case _:
                self.target_start = min(
                    self.target_start + count, len(self.target)
                )

    def freeze(
        self,
        *,
        write: int = 0,
        copy: int = 0,
        early: timedelta = timedelta(),
    ) -> PairedLogs:
        """Freeze offsets, while records are written and copied."""
        end = len(self.source)
        self.write(write, early=early)
        self.copy(copy)
        syncs = tuple(self.syncs)
        known = [self.committed, syncs[-1][0] + 1 if syncs else None]
        self.copy(copy)
        return PairedLogs(
            flow="flow",
            topic="t",
            cluster="ldf",
            topic_partition=("t", 0),
            sources=(
                SourceLog(
                    flow="flow",
                    log=self._log("source", end),
                    steady=write == 0,
                    position=max(
                        (p for p in known if p is not None), default=None
                    ),
                    syncs=tuple(s for s in syncs if s[0] >= self.source_start),
                    read_committed=self.read_committed,
                    later_end=len(self.source),
                ),
            ),
            target=self._log("target", len(self.target)),
            timestamps=self.timestamps,
            starts_at_end=self.starts_at_end,
        )

    def night(
        self,
        *,
        write: int = 0,
        copy: int = 0,
        early: timedelta = timedelta(),
        there: bool = True,
    ) -> PlanningOutcome:
        """Plan a night, and take it for carried out; whether the target is
        `there`.
        """
        night = NightlyInputs(
            now=self.now,
            settle=SETTLE,
            slack=SLACK,
            ends=self.ends.by_partition(),
        )
        pair = self.freeze(write=write, copy=copy, early=early)
        if not there:
            pair = replace(pair, target=None)
        outcome = plan_night(looking(self.answer), pair, night)
        plan = Plan(
            id="night",
            at=self.now,
            window=None,
            pairs=() if outcome.pair is None else (outcome.pair,),
        )
        self.ends = ends_after(plan, self.ends)
        return outcome

    def answer(
        self, questions: Collection[Question]
    ) -> Mapping[Question, AuditFound]:
        return {question: self._answer(question) for question in questions}

    def sides(self, pair: PartitionPair) -> tuple[list[int], list[int]]:
        """Return the source offsets of what is compared, on both sides."""
        (source,) = pair.sources
        return (
            [o for o in _range(source.span) if self.source[o] is not None],
            [self.target[o] for o in _range(pair.span)],
        )

    def _log(self, side: str, end: int) -> Log:
        source = side == "source"
        start = self.source_start if source else self.target_start
        return Log(
            side="source" if source else "target",
            cluster=side,
            topic_partition=("t", 0),
            topic_id=self.ids[not source],
            retained=AuditSpan(start, end),
        )

    def _answer(self, question: Question) -> AuditFound:
        source = question.log.side == "source"
        stamps = self.source if source else self.stamps
        start = self.source_start if source else self.target_start
        if isinstance(question, FirstSince):
            wanted = (
                offset
                for offset in range(start, len(stamps))
                if (at := stamps[offset]) is not None and at >= question.time
            )
        else:
            wanted = (
                offset
                for offset in range(question.offset, len(stamps))
                if stamps[offset] is not None
                and not (question.read_committed and offset in self.aborted)
            )
        found = next(wanted, None)
        return AuditFound(found, None if found is None else stamps[found])


def a_copied_world(count: int = 30, **settings: object) -> World:
    """Return a world that rests, with some records that were all copied."""
    world = World(**settings)  # type: ignore[arg-type]
    world.write(count)
    world.copy(count)
    world.commit()
    world.now += timedelta(hours=1)
    return world


def pair_of(outcome: PlanningOutcome) -> PartitionPair:
    """Return what is compared, of a plan that compares something."""
    assert outcome.pair is not None
    return outcome.pair


def _range(span: AuditSpan) -> range:
    return range(span.start, span.end)


def records(first: int, end: int) -> list[Record]:
    """Return records of which no two are equal, one each second."""
    return [
        Record(
            key=b"k%d" % (n % 3), value=b"v%d" % n, timestamp=millis(9999 - n)
        )
        for n in range(first, end)
    ]


class Cases:
    """Topics with what stands in them, and what is compared of them."""

    def __init__(self) -> None:
        self._logs: dict[str, tuple[Sequence[Record], Sequence[Record]]] = {}
        self._pairs: dict[str, list[PartitionPair]] = {}
        self._removed: dict[str, Mapping[str, Collection[int]]] = {}

    def add(
        self,
        topic: str,
        source: Sequence[Record],
        target: Sequence[Record],
        *nights: dict[str, Any],
        removed: Mapping[str, Collection[int]] | None = None,
    ) -> str:
        """Add a topic; both logs begin at 0.

        Without nights everything is compared, and was copied. What is
        `removed` of a side is by compaction.
        """
        whole = {
            "source": (0, len(source)),
            "target": (0, len(target)),
            "position": len(source),
        }
        self._logs[topic] = (source, target)
        self._removed[topic] = removed or {}
        self._pairs[topic] = [
            make_pair(**{**whole, **night}, topic=topic)
            for night in (nights or ({},))
        ]
        return topic

    def audit(self, session: SparkSession) -> list["Audited"]:
        """Audit all topics, night by night."""
        logs = Logs(session)
        for topic, (source, target) in self._logs.items():
            logs.write("source", source, topic=topic)
            logs.write("target", target, topic=topic)
            for side in SIDES:
                logs.remove(
                    side, self._removed[topic].get(side, ()), topic=topic
                )
        nights: list[Audited] = []
        carry: DataFrame | None = None
        for night in range(max(map(len, self._pairs.values()))):
            pairs = [
                of[night] for of in self._pairs.values() if night < len(of)
            ]
            result = audit(logs, make_plan(*pairs), bucket=BUCKET, carry=carry)
            nights.append(Audited(result, result.carry))
            carry = result.carry
        return nights


class Audited:
    """What one night found, by topic."""

    def __init__(
        self, found: DigestComparison | AuditResult, carry: DataFrame
    ) -> None:
        self._all = found
        self._carry = carry.collect()

    def findings(self, topic: str) -> list[AuditFinding]:
        return [f for f in self._all.findings if f.topic == topic]

    def found(self, topic: str) -> list[tuple[object, ...]]:
        return [
            (f.kind, f.count, f.source_offsets, f.target_offsets)
            for f in self.findings(topic)
        ]

    def stated(self, topic: str) -> dict[str, int]:
        return {s.kind: s.count for s in self._all.stated if s.topic == topic}

    def unverifiable(self, topic: str) -> list[int | None]:
        return [u.records for u in self._all.unverifiable if u.topic == topic]

    def topic(self, topic: str) -> TopicCount:
        (count,) = (c for c in self._all.topics if c.topic == topic)
        return count

    def counts(self, topic: str) -> tuple[int, int]:
        count = self.topic(topic)
        return count.source_count, count.target_count

    def carry(self, topic: str) -> list[tuple[str, int]]:
        """Return side and offset of what is left to the next night."""
        return sorted(
            (row["side"], row["offset"])
            for row in self._carry
            if _topic(row) == topic
        )


def _topic(row: Row) -> str:
    return str(row["target_topic"])
