"""The process lives on where answers come while a thread still asks.

An administrator of librdkafka 2.16 that is asked for offsets ends it within
seconds of this test, as it did an agent of 10,000 partitions on a busy
machine: see `Cluster.list_offsets`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.preload import compiled

pytestmark = pytest.mark.slow


SECONDS = 5
"""It ended within two, in three runs of three."""

ASK = f"""
import time
from threading import Thread
from confluent_kafka import Producer
from confluent_kafka.admin import OffsetSpec
from mirrorwatch.kafka.admin import Cluster

brokers = Producer({{"test.mock.num.brokers": 3, "log_level": 0}})
topics = [f"t{{n}}" for n in range(60)]
for topic in topics:
    brokers.list_topics(topic, timeout=10)
listed = brokers.list_topics(timeout=10).brokers.values()
servers = ",".join(f"{{b.host}}:{{b.port}}" for b in listed)
properties = {{"bootstrap.servers": servers}}
cluster = Cluster("summit", properties)
cluster.metadata()
until, asked = time.monotonic() + {SECONDS}, []

def ask(first: int) -> None:
    for n in range(first, first + 10_000, 7):
        if time.monotonic() > until:
            return
        place = (topics[n % 60], 0)
        both = [place, (f"gone{{n}}", 0)]
        found = cluster.list_offsets(dict.fromkeys(both, OffsetSpec.latest()))
        assert found.keys() == {{place}}
        asked.append(place)

threads = [Thread(target=ask, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(asked))
"""


def test_answers_that_come_while_a_thread_asks_end_no_process(
    tmp_path: Path,
) -> None:
    library = compiled("slow_threads", tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 20
