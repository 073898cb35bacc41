"""What an audit of 20 TB takes to plan: `python -m tests.bench.audit_plan`.

Offsets only: topics are empty, and nobody reads. Spark plans the reading of
one side as it would be, within a driver of 2 GiB. With `--run` a side is then
digested by as many tasks, each of which has one record.
"""

import argparse
import gc
import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from mirrorwatch_audit.compare.audit import digest_side
from mirrorwatch_audit.digest import reader
from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab, LabSettings
from tests.bench.kafka_tools import KafkaTools
from tests.support.footprint import describe_machine
from tests.support.logs import BUCKET, make_pair, make_plan

SIZE = 250
"""Bytes of a record."""

TERABYTE = 10**12


class Heap:
    """What the driver holds.

    Parameters
    ----------
    session
        Spark.
    """

    def __init__(self, session: SparkSession) -> None:
        context: Any = session.sparkContext
        self._jvm = context._jvm  # noqa: SLF001 - no other way
        self._beans = self._jvm.java.lang.management.ManagementFactory

    def kept_mib(self) -> float:
        """Return what is held once it was cleared."""
        gc.collect()
        self._jvm.java.lang.System.gc()
        used = self._beans.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        return float(used) / 2**20

    def peak_mib(self) -> float:
        """Return the most that was held since the last question."""
        peak = 0
        for pool in self._beans.getMemoryPoolMXBeans():
            if pool.getType().toString() == "Heap memory":
                peak += pool.getPeakUsage().getUsed()
                pool.resetPeakUsage()
        return peak / 2**20


def run(
    lab: Lab, read: KafkaReader, topic: str, tasks: int, heap: Heap
) -> None:
    """Digest a topic by so many tasks, of one record each."""
    KafkaTools(lab.source.bootstrap).produce(topic, tasks, SIZE)
    begin = time.perf_counter()
    one_each = lab.source.topics.ends(topic)
    plan = make_plan(
        *(
            make_pair((0, 0), log, topic=topic, partition=number)
            for number, log in one_each.items()
        )
    )
    reader._TASK_RECORDS = 1  # noqa: SLF001 - else a million
    side = digest_side(read, plan, "target", bucket=BUCKET)
    (found,) = side.agg(sf.sum("records")).collect()
    assert found == (tasks,)
    took = time.perf_counter() - begin
    print(
        f"{tasks} tasks of one record each: digested in {took:.1f} s, "
        f"the heap was {heap.peak_mib():.0f} MiB at most, and "
        f"{heap.kept_mib():.0f} MiB in the end",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terabytes", type=int, default=20)
    parser.add_argument("--topics", type=int, default=250)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args(arguments)
    names = [f"plan.{number}" for number in range(options.topics)]
    settings = LabSettings(
        topics=dict.fromkeys(names, options.partitions), start_mirror=False
    )
    logs = options.topics * options.partitions
    end = options.terabytes * TERABYTE // SIZE // logs
    pairs = [
        make_pair((0, end), (0, end), topic=topic, partition=partition)
        for topic in names
        for partition in range(options.partitions)
    ]
    print(f"On {describe_machine()}", flush=True)
    print(f"{logs} partitions of {end} offsets each", flush=True)
    with Lab(settings) as lab:
        servers = {"bootstrap.servers": lab.source.bootstrap}
        session = make_session("local[2]", memory=options.memory)
        try:
            read = KafkaReader(session, {"summit": servers, "ldf": servers})
            session.range(1).count()
            heap = Heap(session)
            before = heap.kept_mib()
            heap.peak_mib()
            begin = time.perf_counter()
            table = read(pairs, "source")
            java: Any = table._jdf  # noqa: SLF001 - no other way
            tasks = java.queryExecution().toRdd().getNumPartitions()
            took = time.perf_counter() - begin
            peak, grown = heap.peak_mib(), heap.kept_mib() - before
            print(
                f"{tasks} tasks of {end * logs / tasks:,.0f} records on "
                f"average, planned in {took:.1f} s; the heap of the driver "
                f"grew from {before:.0f} MiB by {grown:.0f} MiB, and was "
                f"{peak:.0f} MiB at most with what was not yet cleared",
                flush=True,
            )
            if options.run:
                run(lab, read, names[0], tasks, heap)
        finally:
            session.stop()


if __name__ == "__main__":
    main()
