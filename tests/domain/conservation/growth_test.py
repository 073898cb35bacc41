"""Partitions that a topic gets while it is watched."""

from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.skips.matching import RangeContent
from mirrorwatch.domain.skips.model import SkipEvent, SkipKind
from mirrorwatch.domain.skips.tracker import SkipTracker

START = datetime(2026, 1, 1, tzinfo=UTC)


class Growing:
    """A topic of one partition, copied to its end, that gets a second."""

    def __init__(self) -> None:
        self.books = SkipTracker()
        self.at = START
        self.source, self.target = [20], [20]
        self.starts = [0]
        self.look()
        self.source.append(0)
        self.starts.append(0)
        # The mirror gives it to the target only later.
        self.look()
        self.target.append(0)
        self.look()

    def look(self, *syncs: Sync) -> None:
        self.at += timedelta(seconds=1)
        view = FlowView(
            flow="f",
            at=self.at,
            committed={},
            syncs={("t", 0): self.sync(0, 19, 19)},
            caught_up=True,
            target=self._cluster("b", self.target),
            source=self._cluster("a", self.source),
            names={"t": "t"},
        )
        self.books.follow(view, syncs)

    def sync(self, partition: int, upstream: int, downstream: int) -> Sync:
        return Sync(
            topic="t",
            partition=partition,
            upstream=upstream,
            downstream=downstream,
            written_at=self.at,
        )

    def copy(self, records: int, *, first: int) -> list[SkipEvent]:
        """Let the mirror begin somewhere in the second partition."""
        self.source[1], self.target[1] = records, records - first
        self.look(self.sync(1, first, 0))
        self.look()
        for inquiry in self.books.inquiries():
            source = {
                n: n
                for span in inquiry.source
                for n in range(span.first, span.end)
            }
            span = inquiry.target
            target = {n: n + first for n in range(span.first, span.end)}
            start = self.starts[1]
            kept = {n: look for n, look in source.items() if n >= start}
            reading = RangeContent(
                source=kept, target=target, source_start=start
            )
            self.books.answer(inquiry, reading, self.at)
        return self.books.happenings

    def _cluster(self, alias: str, ends: list[int]) -> ClusterView:
        topic = TopicFacts(
            id=f"id of {alias}", partitions=len(ends), replication_factor=1
        )
        return ClusterView(
            alias=alias,
            id=alias,
            at=self.at,
            topics={"t": topic},
            ends={("t", p): end for p, end in enumerate(ends)},
            starts={("t", p): s for p, s in enumerate(self.starts)},
        )


def test_a_new_partition_that_is_copied_from_its_start_is_no_loss() -> None:
    assert Growing().copy(60, first=0) == []


def test_the_beginning_of_a_new_partition_that_was_missed_is_named() -> None:
    (head,) = Growing().copy(60, first=50)
    assert (head.kind, head.partition) == (SkipKind.HEAD, 1)
    assert (head.ranges, head.count) == (((0, 49),), 50)


def test_what_expired_of_a_new_partition_before_is_left_to_position() -> None:
    growing = Growing()
    growing.starts[1] = 50
    assert growing.copy(60, first=50) == []
