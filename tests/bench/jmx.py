"""What reading a large mirror's figures costs: `python -m tests.bench.jmx`.

One mirror with 1,200 partitions, all of them copied; each way reads all that
the agent wants, and the mirror of the flow is made of it.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from statistics import median

from mirrorwatch.mirrors.mirrormaker2_jmx import WANTED
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.waiting import wait_until
from tests.bench.scale import Size, serve
from tests.support.footprint import describe_machine
from tests.support.jmx import interpreter, readers
from tests.support.lab import produce

READY = timedelta(minutes=5)
"""Longest that the mirror may take to have figures of every partition."""


def timed(work: Callable[[], object], times: int) -> tuple[float, float]:
    """Return median and maximum in milliseconds."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append((time.perf_counter() - begin) * 1000)
    return median(took), max(took)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1200)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args(arguments)
    size = Size(options.partitions - 1, 1)
    settings = LabSettings(
        topics={CANARY_TOPIC: 1},
        jmx=("prometheus", "rmi"),
        broker_heap_mib=1024,
        mirror_heap_mib=1024,
        source_properties={"log.cleaner.enable": "false"},
        target_properties={"log.cleaner.enable": "false"},
        start_mirror=False,
    )
    print(f"On {describe_machine()}", flush=True)
    with Lab(settings) as lab:
        # A partition has figures from its first record on.
        produce(lab, CANARY_TOPIC, ["a record"])
        serve(lab, size, busy=size.topics)
        mirror = interpreter(lab, {"lsst": "lsst[.].*"})
        ways = readers(lab)
        first = ways["jolokia"]
        wait_until(
            lambda: (
                len(mirror.metrics({"m": first.read(WANTED)}).lags)
                >= options.partitions
            ),
            limit=READY,
            pause=timedelta(seconds=2),
            what="the mirror has no figures of every partition",
        )
        for name, reader in ways.items():
            mbeans = reader.read(WANTED)
            begin = time.process_time()
            middle, most = timed(partial(reader.read, WANTED), options.times)
            cpu = (time.process_time() - begin) * 1000 / options.times
            meant, _ = timed(
                partial(mirror.metrics, {"m": mbeans}), options.times
            )
            print(
                f"{name:10} {len(mbeans)} MBeans in {middle:.0f} ms, at most "
                f"{most:.0f} ms ({cpu:.0f} ms of CPU); taken together in "
                f"{meant:.1f} ms",
                flush=True,
            )
            reader.close()
    print(f"In the end: {describe_machine()}")


if __name__ == "__main__":
    main()
