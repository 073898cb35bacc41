"""What moves on a site that is measured: records, scrapes, consumer groups."""

import gzip
import re
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from threading import Event, Thread
from types import TracebackType
from typing import Self

import httpx
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Place

from mirrorwatch_lab import Lab

__all__ = ["Movement", "Scrapes", "make_groups"]

ROUND_SECONDS = 1.0
"""Between two records of each topic: telemetry comes about so often."""

SCRAPE_SECONDS = 15.0
"""Between two scrapes, as Prometheus is often told."""

FLUSH_SECONDS = 60.0
END_SECONDS = 30.0


class _InBackground(AbstractContextManager["_InBackground"]):
    """Does something again and again in a thread, until the block ends."""

    def __init__(self, every: float) -> None:
        self._every = every
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            self._do()

    def _do(self) -> None:
        raise NotImplementedError


class Movement(_InBackground):
    """Writes a record to each of some topics every second.

    Parameters
    ----------
    lab
        Where they are written: at its source.
    topics
        Topics that move; none is a site at rest.
    """

    def __init__(self, lab: Lab, topics: Sequence[str]) -> None:
        super().__init__(ROUND_SECONDS)
        self._topics = topics
        self._producer = Producer(
            {
                **lab.source.client_properties(),
                "log_level": 0,
                "linger.ms": 50,
            }
        )
        self.written = 0

    def _do(self) -> None:
        for topic in self._topics:
            self._producer.produce(topic, str(self.written), partition=0)
            self.written += 1
        self._producer.flush(FLUSH_SECONDS)


@dataclass(frozen=True, slots=True)
class _Scraped:
    seconds: float
    packed: int
    """Bytes that were sent."""

    whole: int
    """Bytes of the text."""

    series: int
    tick: float
    """Seconds of the agent's tick before."""


TICK = re.compile(rb"^mirrorwatch_tick_seconds ([\d.e-]+)$", re.MULTILINE)


class Scrapes(_InBackground):
    """Asks for the metrics as Prometheus does, which keeps its connection.

    Parameters
    ----------
    url
        Where the agent answers.

    Notes
    -----
    A client for each scrape would load certificates each time: 50 ms that no
    scraper takes. Nor does a scraper count what it takes to unpack the answer.
    """

    def __init__(self, url: str) -> None:
        super().__init__(SCRAPE_SECONDS)
        self._client = httpx.Client(
            base_url=url,
            headers={"Accept-Encoding": "gzip"},
            timeout=END_SECONDS,
        )
        self.taken: list[_Scraped] = []

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self._client.close()

    def _do(self) -> None:
        begin = time.monotonic()
        with self._client.stream("GET", "/metrics") as answer:
            answer.raise_for_status()
            packed = b"".join(answer.iter_raw())
        taken = time.monotonic() - begin
        text = gzip.decompress(packed)
        self.taken.append(
            _Scraped(
                taken,
                len(packed),
                len(text),
                sum(line[:1] not in {b"#", b""} for line in text.split(b"\n")),
                max((float(x) for x in TICK.findall(text)), default=0.0),
            )
        )

    def __str__(self) -> str:
        if not self.taken:
            return "no scrape"
        ms = [1000 * each.seconds for each in self.taken]
        ticks = [1000 * each.tick for each in self.taken]
        last = self.taken[-1]
        return (
            f"a scrape {median(ms):.0f} ms, at most {max(ms):.0f}, "
            f"{last.packed / 1000:.0f} kB compressed of "
            f"{last.whole / 1000:.0f}, {last.series} series; "
            f"a tick {median(ticks):.1f} ms, at most {max(ticks):.1f}"
        )


def make_groups(lab: Lab, topics: Sequence[str], number: int) -> None:
    """Make consumer groups at the source, each with offsets of ten topics."""
    admin = lab.source.topics.admin
    for n in range(number):
        places = [
            Place(topics[(n + k) % len(topics)], 0, 0)
            for k in range(min(10, len(topics)))
        ]
        asked = ConsumerGroupTopicPartitions(f"bench-{n:04}", places)
        for future in admin.alter_consumer_group_offsets([asked]).values():
            future.result(FLUSH_SECONDS)
