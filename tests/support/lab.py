"""Labs for tests: shared where nothing is broken, and what to ask them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Self

import pytest
from confluent_kafka import Producer

from mirrorwatch_lab import Lab, LabSettings
from mirrorwatch_lab.waiting import wait_until

__all__ = [
    "FLUSH_SECONDS",
    "LabPool",
    "carry",
    "copied",
    "mirus_lab",
    "produce",
    "show_logs",
    "values",
]

_COPY_LIMIT = timedelta(seconds=400)
"""For a mirror that was just started, on a machine that does other things."""


FLUSH_SECONDS = 120
"""Longest until a broker has taken what is written, for the same reason."""


class LabPool:
    """One lab at a time, kept for as long as tests want the same settings.

    Two would need the memory and the cores of two.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._lab: Lab | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def lab_for(self, settings: LabSettings) -> Lab:
        if self._lab and self._lab.settings == settings and _whole(self._lab):
            return self._lab
        self._open.close()
        self._lab = self._open.enter_context(Lab(settings))
        return self._lab


def _whole(lab: Lab) -> bool:
    return all(
        part.running and not part.frozen
        for part in (lab.source, lab.target, lab.mirror)
        if part is not lab.mirror or lab.settings.start_mirror
    )


@contextmanager
def mirus_lab(
    topics: Sequence[tuple[str, int]], properties: Mapping[str, str]
) -> Iterator[Lab]:
    """A lab whose mirror is Mirus, with topics and how many partitions they
    have. It creates none at the target, and waits for those that are missing.
    """
    settings = LabSettings(
        mirror="mirus",
        kafka="3.9.2",
        intervals="fast",
        topics=dict(topics),
        mirror_properties=dict(properties),
        start_mirror=False,
    )
    with Lab(settings) as lab:
        for topic, partitions in topics:
            lab.target.topics.create(topic, partitions, {})
        lab.mirror.start()
        yield lab


def show_logs(item: pytest.Item, lab: Lab) -> None:
    """Add the ends of a lab's logs to the report of its test."""
    for log in sorted(lab.logs.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()[-15:]
        item.add_report_section("teardown", log.name, "\n".join(lines))


def produce(
    lab: Lab,
    topic: str,
    sent: Iterable[str],
    *,
    partition: int = 0,
    headers: Mapping[str, bytes] | None = None,
) -> None:
    """Write records at the source, and wait until they are written."""
    producer = Producer(
        {
            "bootstrap.servers": lab.source.bootstrap,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    refused: list[str] = []
    for value in sent:
        producer.produce(
            topic,
            value.encode(),
            partition=partition,
            headers=dict(headers or {}),
            on_delivery=lambda error, _: (
                refused.append(str(error)) if error else None
            ),
        )
    assert producer.flush(FLUSH_SECONDS) == 0
    assert refused == []


def numbered(name: str, first: int, end: int) -> list[str]:
    """Return values of records that can be told apart."""
    return [f"{name} {n}" for n in range(first, end)]


def values(lab: Lab, side: str, topic: str) -> list[str]:
    """Return the values of all records, in the order of each partition."""
    site = lab.source if side == "source" else lab.target
    found = (record.value() for record in site.topics.read(topic))
    return [value.decode() for value in found if value is not None]


def copied(lab: Lab, topic: str, wanted: Iterable[str]) -> None:
    """Wait until the target holds all of these values."""
    expected = set(wanted)
    name = lab.target_name(topic)
    wait_until(
        lambda: expected <= set(values(lab, "target", name)),
        limit=_COPY_LIMIT,
        what=f"{name} has not got {sorted(expected)[:3]} ... at the target",
        pause=timedelta(seconds=0.1),
    )


def carry(lab: Lab, topic: str, sent: Sequence[str]) -> None:
    """Write records at the source, and wait until they are copied."""
    produce(lab, topic, sent)
    copied(lab, topic, sent)
