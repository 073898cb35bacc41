"""What the reader of newest records asks of the library, what it takes for
the end of a range, and what another one takes for a truncated log.
"""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.kafka import reader
from mirrorwatch.kafka.reader import (
    NewestReader,
    OffsetConsumer,
    PartitionEnd,
    RangeReader,
    ReadFailure,
)

pytestmark = pytest.mark.slow

PLACE = ("t", 0)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"message.max.bytes": "20000000"},
        {"fetch.max.bytes": "2000000", "receive.message.max.bytes": "3000000"},
    ],
)
def test_it_reads_whatever_sizes_are_configured(
    properties: dict[str, str],
) -> None:
    """The library refuses sizes that do not go together."""
    nobody = {"bootstrap.servers": "127.0.0.1:1", **properties}
    newest = NewestReader(nobody, "a")
    found, left = newest.read({PLACE: OffsetRange(0, 1)}, patience=0.5)
    newest.close()
    assert (found, left) == ([], {PLACE: None})


def record(offset: int) -> Any:
    return SimpleNamespace(
        topic=lambda: PLACE[0],
        partition=lambda: PLACE[1],
        offset=lambda: offset,
    )


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Any]]:
    """What the library gives, look by look; nothing at the end."""
    given: list[Sequence[Any]] = []

    def follow(*_: object) -> Iterator[Any]:
        yield from given.pop(0) if given else ()

    def consumer(*_: object, **__: object) -> Any:
        def nothing(*_: object) -> None: ...

        return SimpleNamespace(
            follow=follow,
            assign=nothing,
            drop=nothing,
            unassign=nothing,
            close=nothing,
        )

    monkeypatch.setattr(reader, "OffsetConsumer", consumer)
    return given


@pytest.mark.parametrize("is_late", [True, False])
def test_a_replica_that_is_behind_has_not_given_a_range(
    library: list[Sequence[Any]], *, is_late: bool
) -> None:
    """As that of a new leader, or of a rack."""
    end = PartitionEnd(*PLACE, 7)
    library += [[record(5), record(6), end], []]
    library += [[record(7), record(8)]] if is_late else []
    wanted = {PLACE: OffsetRange(5, 9)}
    found, left = NewestReader({}, "a").read(wanted, patience=1.0)
    offsets = [message.offset() for message in found]
    if is_late:
        assert (offsets, left) == ([5, 6, 7, 8], {})
    else:
        assert (offsets, left) == ([5, 6], {PLACE: None})


def test_a_range_without_records_at_its_end_was_read(
    library: list[Sequence[Any]],
) -> None:
    """They were compacted, or are markers of transactions."""
    library += [[record(5), PartitionEnd(*PLACE, 9)]]
    wanted = {PLACE: OffsetRange(5, 9)}
    found, left = NewestReader({}, "a").read(wanted, patience=1.0)
    assert ([message.offset() for message in found], left) == ([5], {})


def test_a_log_that_refuses_an_offset_is_truncated_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that holds records back, or gives some, has the offset."""
    refused = KafkaError(KafkaError._AUTO_OFFSET_RESET)  # noqa: SLF001
    given: list[Sequence[Any]] = [
        [PartitionEnd("t", 1, 7), ReadFailure(refused, "t", 2, 7)],
        [record(7)],
    ]
    dropped: list[set[tuple[str, int]]] = []

    def follow(*_: object) -> Iterator[Any]:
        yield from given.pop(0) if given else ()

    def drop(_: object, places: set[tuple[str, int]]) -> None:
        dropped.append(set(places))

    monkeypatch.setattr(OffsetConsumer, "follow", follow)
    monkeypatch.setattr(OffsetConsumer, "drop", drop)
    nobody = {"bootstrap.servers": "127.0.0.1:1"}
    wanted = {("t", n): 7 for n in range(4)}
    assert RangeReader(nobody, "a").find_truncated(wanted) == {("t", 2)}
    assert dropped == [{("t", 1), ("t", 2)}, {("t", 0)}]
