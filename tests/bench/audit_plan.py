"""What an audit of 20 TB takes to plan: `python -m tests.bench.audit_plan`.

Offsets only: topics are empty, and nobody reads. Spark plans the reading of
one side as it would be, within a driver of 2 GiB.
"""

import argparse
import gc
import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab, LabSettings
from tests.support.footprint import describe_machine
from tests.support.logs import make_pair

SIZE = 250
"""Bytes of a record."""

TERABYTE = 10**12


def heap_mib(session: SparkSession) -> float:
    """Return what the heap holds once it was cleared."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - no other way
    gc.collect()
    jvm.java.lang.System.gc()
    beans = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    return float(beans.getHeapMemoryUsage().getUsed()) / 2**20


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--terabytes", type=int, default=20)
    parser.add_argument("--topics", type=int, default=250)
    parser.add_argument("--partitions", type=int, default=8)
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
        session = make_session("local[2]", memory="2g")
        try:
            read = KafkaReader(session, {"summit": servers, "ldf": servers})
            session.range(1).count()
            before = heap_mib(session)
            begin = time.perf_counter()
            table = read(pairs, "source")
            java: Any = table._jdf  # noqa: SLF001 - no other way
            tasks = java.queryExecution().toRdd().getNumPartitions()
            took = time.perf_counter() - begin
            grown = heap_mib(session) - before
            print(
                f"{tasks} tasks of up to {end * logs / tasks:,.0f} records "
                f"on average, planned in {took:.1f} s; the heap of the driver "
                f"grew from {before:.0f} MiB by {grown:.0f} MiB",
                flush=True,
            )
        finally:
            session.stop()


if __name__ == "__main__":
    main()
