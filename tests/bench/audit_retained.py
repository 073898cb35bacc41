"""What one duplicate costs beside much that is retained.

`python -m tests.bench.audit_retained`: logs of several lengths, of each of
which the last thousand records are audited. At the target one of them is
there twice. What is read, what is kept and how long it takes must not grow
with the log.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.plan import AuditSpan, PartitionPair, Side
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.digest.records import Times
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab, LabSettings
from tests.bench.kafka_tools import KafkaTools
from tests.support.footprint import describe_machine
from tests.support.logs import BUCKET, make_pair, make_plan

NEW = 1000

SIZE = 100
"""Bytes of a record."""


class Counted:
    """Reads Kafka, and counts the offsets that are read.

    Parameters
    ----------
    read
        Reads Kafka.
    """

    def __init__(self, read: KafkaReader) -> None:
        self._read = read
        self.offsets = 0

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        for pair in pairs:
            spans: list[AuditSpan] = (
                [pair.span]
                if side == "target"
                else [source.span for source in pair.sources]
            )
            self.offsets += sum(len(span) for span in spans)
        return self._read(pairs, side)

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        return self._read.since(pairs, side, times)


def newest_table(session: SparkSession) -> int:
    """Return a number that is above those of all tables so far."""
    return session.sparkContext.emptyRDD().id()


def stored_bytes(session: SparkSession, since: int) -> int:
    """Return what Spark keeps of newer tables, in memory and on disk."""
    context: Any = session.sparkContext
    kept = context._jsc.sc().getRDDStorageInfo()  # noqa: SLF001 - no other way
    return sum(
        int(rdd.memSize() + rdd.diskSize()) for rdd in kept if rdd.id() > since
    )


@contextmanager
def spark() -> Iterator[SparkSession]:
    session = make_session("local[2]", memory="1g")
    try:
        yield session
    finally:
        session.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--retained", type=int, nargs="+", default=[10_000, 10**6, 10**7]
    )
    options = parser.parse_args(arguments)
    topics = {f"retained.{number}": 1 for number in options.retained}
    print(f"On {describe_machine()}", flush=True)
    with Lab(LabSettings(topics=topics, start_mirror=False)) as lab:
        tools = KafkaTools(lab.source.bootstrap)
        for number in options.retained:
            tools.produce(f"retained.{number}", number, SIZE)
        # Another call, so that these are younger.
        producer = Producer(
            {"bootstrap.servers": lab.source.bootstrap, "log_level": 0}
        )
        now = round(utc_now().timestamp() * 1000)
        for number in options.retained:
            tools.produce(f"retained.{number}", NEW - 1, SIZE)
            for _ in range(2):
                producer.produce(
                    f"retained.{number}", b"twice", timestamp=now + 60_000
                )
            assert producer.flush(60) == 0
        servers = {"bootstrap.servers": lab.source.bootstrap}
        with spark() as session:
            own = KafkaReader(session, {"summit": servers, "ldf": servers})
            # The first warms Java, and is not shown.
            for turn, number in enumerate(
                [options.retained[0], *options.retained]
            ):
                counted, before = Counted(own), newest_table(session)
                end = number + NEW + 1
                # One log is both sides: the target has its last record twice.
                pair = make_pair(
                    (number, end - 1),
                    (number, end),
                    topic=f"retained.{number}",
                    position=end - 1,
                    retained=((0, end - 1), (0, end)),
                )
                begin = time.perf_counter()
                found = audit(counted, make_plan(pair), bucket=BUCKET)
                took = time.perf_counter() - begin
                said = [(f.kind, f.count) for f in found.findings]
                assert said == [("duplicated", 1)], said
                if turn:
                    print(
                        f"{number:>10,} retained: {counted.offsets:,} offsets "
                        f"read, {stored_bytes(session, before):,} bytes "
                        f"stored, {took:.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
