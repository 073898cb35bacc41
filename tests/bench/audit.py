"""How fast an audit reads: `make bench-audit`.

The same topic is read by Kafka's own ConsumerPerformance and digested, one
after the other, so that what else the machine does slows both down. Then what
the digest's steps cost, topics of other sizes and partitions, and fewer cores.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import Plan
from mirrorwatch_audit.compare.audit import digest_side
from mirrorwatch_audit.digest.digest import hashed
from mirrorwatch_audit.digest.reader import KafkaReader
from mirrorwatch_audit.session import make_session
from mirrorwatch_lab import Lab, LabSettings
from tests.bench.kafka_tools import KafkaTools
from tests.support.footprint import Footprint, describe_machine
from tests.support.logs import BUCKET, make_pair, make_plan

SIZE = 250
"""Bytes of a record, about what a sensor's is."""

AIM = 0.5
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

    def plan(self, topic: str) -> Plan:
        ends = self._lab.source.topics.ends(topic)
        return make_plan(
            *(
                make_pair((0, 0), end, topic=topic, partition=partition)
                for partition, end in ends.items()
            )
        )

    def digest(self, topic: str) -> float:
        """Return records a second of a digest, and check that it is whole."""
        plan = self.plan(topic)
        begin = time.perf_counter()
        rows = digest_side(self._read, plan, "target", bucket=BUCKET).collect()
        took = time.perf_counter() - begin
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


def compare(bench: Bench, tools: KafkaTools, topic: str, rounds: int) -> float:
    """Print the rates of both, alternating; return the ratio once warm."""
    records = sum(len(pair.span) for pair in bench.plan(topic).pairs)
    ratios = []
    for number in range(1, rounds + 1):
        before = children_seconds()
        plain = tools.consume(topic, records)
        theirs, before = children_seconds() - before, bench.java.cpu_seconds
        ours = bench.digest(topic)
        own = bench.java.cpu_seconds - before
        ratios.append(ours / plain)
        print(
            f"round {number}: consumer {rate(plain)}, digest {rate(ours)}, "
            f"ratio {ours / plain:.2f}; processor seconds for a million: "
            f"{1e6 * theirs / records:.2f} (with a start of Java), "
            f"{1e6 * own / records:.2f}",
            flush=True,
        )
    return median(ratios[1:] or ratios)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args(arguments)
    many, few = options.records, options.records // 4
    sizes = {"large": (4, many), "small": (4, few)}
    sizes |= {f"of {n}": (n, few) for n in (1, 16)}
    topics = {name.replace(" ", "."): size for name, size in sizes.items()}
    settings = LabSettings(
        topics={name: size[0] for name, size in topics.items()},
        start_mirror=False,
    )
    print(f"On {describe_machine()}", flush=True)
    with Lab(settings) as lab:
        tools = KafkaTools(lab.source.bootstrap)
        for name, (partitions, records) in topics.items():
            tools.produce(name, records, SIZE)
            print(f"{name}: {records} records in {partitions} partitions")
        with bench(lab, 2) as both:
            for name in ("small", "large"):
                both.digest(name)
                both.heap_mib()
                both.digest(name)
                heap, whole = both.heap_mib(), both.java.peak_mib
                print(f"{name}: heap {heap:.0f} MiB, JVM {whole:.0f} MiB")
            ratio = compare(both, tools, "large", options.rounds)
            for step, reached in both.steps("large"):
                print(f"{step}: {rate(reached)}", flush=True)
            for name in ("of.1", "small", "of.16"):
                print(
                    f"{topics[name][0]} partitions: {rate(both.digest(name))}"
                )
        with bench(lab, 1) as one:
            one.digest("small")
            print(f"1 core: {rate(one.digest('small'))}")
    print(f"In the end: {describe_machine()}")
    verdict = "reached" if ratio >= AIM else "MISSED"
    print(f"Ratio once warm {ratio:.2f}; the aim of {AIM} is {verdict}")


if __name__ == "__main__":
    main()
