"""How fast an audit reads: `make bench-audit`.

The same records are read by Kafka's own ConsumerPerformance and digested, one
after the other, so that what else the machine does slows both down: each of
`CASES`, or one by `--only lz4`. Then what the digest's steps cost, topics of
other sizes and partitions, and fewer cores.
"""

import argparse
import os
import re
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import Plan
from mirrorwatch_audit.compare.audit import digest_side
from mirrorwatch_audit.digest.digest import hashed
from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab, LabSettings
from tests.support.footprint import Footprint, describe_machine
from tests.support.kafka_tools import KafkaTools
from tests.support.logs import BUCKET, make_pair, make_plan

SIZE = 250
"""Bytes of a record, about what a sensor's is."""

AIM = 0.85
"""Least ratio of the digest's rate to the plain consumer's, once warm."""


class Bench:
    """Topics of one broker, and an audit that reads them.

    Parameters
    ----------
    lab
        The lab.
    session
        Spark.
    """

    def __init__(self, lab: Lab, session: SparkSession) -> None:
        self._lab = lab
        self._session = session
        servers = {"bootstrap.servers": lab.source.bootstrap}
        self._read = KafkaReader(session, {"summit": servers, "ldf": servers})

    def plan(self, *topics: str) -> Plan:
        return make_plan(
            *(
                make_pair((0, 0), end, topic=topic, partition=partition)
                for topic in topics
                for partition, end in self._lab.source.topics.ends(
                    topic
                ).items()
            )
        )

    def digest(self, *topics: str, records: int | None = None) -> float:
        """Return records a second of a digest, and check that it is whole.

        Parameters
        ----------
        topics
            What is digested.
        records
            How many there are, unless each offset has one.
        """
        plan = self.plan(*topics)
        begin = time.perf_counter()
        rows = digest_side(self._read, plan, "target", bucket=BUCKET).collect()
        took = time.perf_counter() - begin
        if records is None:
            records = sum(len(pair.span) for pair in plan.pairs)
        assert sum(row["records"] for row in rows) == records
        return records / took

    def steps(self, topic: str) -> Iterator[tuple[str, float]]:
        """Return records a second of what a digest is made of."""
        pairs = self.plan(topic).pairs
        records = sum(len(pair.span) for pair in pairs)
        whole = self._read(pairs, "target")
        steps: dict[str, Callable[[], DataFrame]] = {
            "read": lambda: whole.agg(sf.max("offset")),
            "read and look at the bytes": lambda: whole.agg(
                sf.sum(
                    sf.length("value")
                    + sf.coalesce(sf.length("key"), "partition")
                )
            ),
            "read and hash": lambda: hashed(whole, timestamps=True).agg(
                sf.max("h1"), sf.max("h2"), sf.sum("bytes")
            ),
        }
        for name, step in steps.items():
            begin = time.perf_counter()
            step().collect()
            yield name, records / (time.perf_counter() - begin)
        yield "digest", self.digest(topic)

    @property
    def java(self) -> Footprint:
        """What the JVM has cost so far."""
        jvm = self._session.sparkContext._jvm  # noqa: SLF001 - no other way
        assert jvm is not None
        return Footprint.of(jvm.java.lang.ProcessHandle.current().pid())

    def heap_mib(self) -> float:
        """Return the most that the heap has held since the last question."""
        jvm = self._session.sparkContext._jvm  # noqa: SLF001 - no other way
        assert jvm is not None
        factory = jvm.java.lang.management.ManagementFactory
        peak = 0
        for pool in factory.getMemoryPoolMXBeans():
            if pool.getType().toString() == "Heap memory":
                peak += pool.getPeakUsage().getUsed()
                pool.resetPeakUsage()
        return peak / 2**20


@contextmanager
def bench(lab: Lab, cores: int) -> Iterator[Bench]:
    session = make_session(f"local[{cores}]", memory="1g")
    try:
        yield Bench(lab, session)
    finally:
        session.stop()


def rate(records_per_second: float) -> str:
    return f"{records_per_second / 1000:5.0f} k/s"


def children_seconds() -> float:
    """Return the processor time of programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, kw_only=True)
class Case:
    """Records that may be read at another speed."""

    topics: int = 1
    compression: str = "none"
    keyed: bool = False
    transactional: bool = False

    def names(self, case: str) -> list[str]:
        prefix = case.replace(" ", "-")
        return [f"{prefix}.{number}" for number in range(self.topics)]

    def write(
        self, tools: KafkaTools, bootstrap: str, case: str, records: int
    ) -> int:
        """Write about so many records; return how many."""
        names = self.names(case)
        if self.keyed or self.topics > 1:
            each = records // self.topics
            produce(bootstrap, names, each, keyed=self.keyed)
            return each * self.topics
        (topic,) = names
        tools.produce(
            topic,
            records,
            SIZE,
            compression=self.compression,
            transactional=self.transactional,
        )
        return records


PLAIN = "plain"

CASES = {
    PLAIN: Case(),
    "keys and headers": Case(keyed=True),
    "lz4": Case(compression="lz4"),
    "zstd": Case(compression="zstd"),
    "200 topics": Case(topics=200),
    "transactions": Case(transactional=True),
}

PARTITIONS = 4


def produce(
    bootstrap: str, topics: Sequence[str], records: int, *, keyed: bool
) -> None:
    """Fill topics with so many records each."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "batch.size": 262_144,
            "queue.buffering.max.messages": 200_000,
        }
    )
    values = [os.urandom(SIZE) for _ in range(1000)]
    for topic in topics:
        for number in range(records):
            more: dict[str, Any] = {}
            if keyed:
                headers = [("unit", b"deg"), ("seq", b"%d" % number)]
                more = {"key": b"sensor-%d" % (number % 997)}
                more |= {"headers": headers}
            while True:
                try:
                    producer.produce(
                        topic,
                        values[number % len(values)],
                        partition=number % PARTITIONS,
                        **more,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
    assert producer.flush(600) == 0


def compare(
    bench: Bench, tools: KafkaTools, case: str, records: int, rounds: int
) -> float:
    """Print the rates of both, alternating; return the ratio once warm."""
    names = CASES[case].names(case)
    bench.digest(*names, records=records)
    bench.heap_mib()
    ratios = []
    for number in range(1, rounds + 1):
        before = children_seconds()
        plain = tools.consume(
            "|".join(map(re.escape, names)), records, read_committed=True
        )
        theirs, before = children_seconds() - before, bench.java.cpu_seconds
        ours = bench.digest(*names, records=records)
        own = bench.java.cpu_seconds - before
        ratios.append(ours / plain)
        print(
            f"{case}, round {number}: consumer {rate(plain)}, "
            f"digest {rate(ours)}, "
            f"ratio {ours / plain:.2f}; processor seconds for a million: "
            f"{1e6 * theirs / records:.2f} (with a start of Java), "
            f"{1e6 * own / records:.2f}",
            flush=True,
        )
    warm = median(ratios[1:] or ratios)
    print(
        f"{case}: ratio once warm {warm:.2f}, heap {bench.heap_mib():.0f} MiB",
        flush=True,
    )
    return warm


def show_other_sizes(
    bench: Bench, tools: KafkaTools, sizes: Mapping[str, tuple[int, int]]
) -> None:
    """Print what the digest's steps cost, and topics of other sizes."""
    for name, (partitions, records) in sizes.items():
        tools.produce(name, records, SIZE)
        bench.digest(name)
        bench.heap_mib()
        print(
            f"{partitions} partitions, {records} records: "
            f"{rate(bench.digest(name))}, heap {bench.heap_mib():.0f} MiB",
            flush=True,
        )
    (plain,) = CASES[PLAIN].names(PLAIN)
    for step, reached in bench.steps(plain):
        print(f"{step}: {rate(reached)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args(arguments)
    cases = [options.only] if options.only else list(CASES)
    few = options.records // 4
    sizes = {f"of.{n}": (n, few) for n in (1, 4, 16)}
    topics = {name: size[0] for name, size in sizes.items()}
    for case in cases:
        topics |= dict.fromkeys(CASES[case].names(case), PARTITIONS)
    settings = LabSettings(topics=topics, start_mirror=False)
    print(f"On {describe_machine()}", flush=True)
    ratios = {}
    with Lab(settings) as lab:
        tools = KafkaTools(lab.source.bootstrap)
        with bench(lab, 2) as both:
            for case in cases:
                written = CASES[case].write(
                    tools, lab.source.bootstrap, case, options.records
                )
                ratios[case] = compare(
                    both, tools, case, written, options.rounds
                )
            if options.only is None:
                show_other_sizes(both, tools, sizes)
        if options.only is None:
            with bench(lab, 1) as one:
                one.digest("of.4")
                print(f"1 core: {rate(one.digest('of.4'))}")
    print(f"In the end: {describe_machine()}")
    for case, ratio in ratios.items():
        verdict = "reached" if ratio >= AIM else "MISSED"
        print(f"{case}: {ratio:.2f}; the aim of {AIM} is {verdict}")


if __name__ == "__main__":
    main()
