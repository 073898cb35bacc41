"""Records what happens to the canary's books."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from mirrorwatch.sources.canary.bookkeeper import Bookkeeper
from mirrorwatch.sources.canary.decoding import decode
from mirrorwatch.sources.canary.events import AtEnd

from .seam_canary import from_ledgers, from_survey
from .seam_values import CODEC

__all__ = ["canary_wrappers"]

Wrap = Callable[[Any, Callable[..., Any]], Any]

STATE_EVERY = 5
"""After how many settlements the whole state is written down."""


def _follow(recorder: Any, original: Callable[..., Any]) -> Any:
    def follow(self: Any, survey: Any) -> Any:
        unread = original(self, survey)
        recorder.put(
            "canary survey",
            survey=from_survey(survey),
            warmup=_span(self.books.warmup),
            returned={"unread": sorted(unread)},
        )
        return unread

    return follow


def _make_probe(recorder: Any, original: Callable[..., Any]) -> Any:
    def make_probe(self: Any, partition: int, now: Any) -> Any:
        message = original(self, partition, now)
        probe = self.books.ledgers[partition].outstanding[message.sequence]
        recorder.put(
            "canary send",
            partition=partition,
            at=now.isoformat(),
            returned={"sequence": probe.sequence, "warming": probe.warming},
        )
        return message

    return make_probe


def _hear(recorder: Any, original: Callable[..., Any]) -> Any:
    def hear(self: Any, outcome: Any, now: Any) -> Any:
        gap = original(self, outcome, now)
        at, became = now, "unknown"
        if outcome.source_offset is not None:
            at, became = outcome.message.sent_at + outcome.took, "acked"
        elif outcome.refused is not None:
            became = "failed"
        recorder.put(
            "canary sent",
            partition=outcome.message.partition,
            sequence=outcome.message.sequence,
            became=became,
            source_offset=outcome.source_offset,
            at=at.isoformat(),
            returned=None if gap is None else CODEC.encode(gap),
        )
        return gap

    return hear


def _read(recorder: Any, original: Callable[..., Any]) -> Any:
    def read(self: Any, event: Any) -> None:
        before = len(self._arrivals)
        original(self, event)
        place = {"partition": event.partition, "target_offset": event.offset}
        if isinstance(event, AtEnd):
            recorder.put("canary end", **place, returned=None)
            return
        probe = decode(event.value)
        ours = (self._store.run, self._settings.flow.name)
        new = self._arrivals[before:]
        recorder.put(
            "canary arrival",
            **place,
            sequence=probe.sequence
            if probe is not None and (probe.run, probe.flow) == ours
            else None,
            at=event.seen_at.isoformat(),
            absent_until=event.absent_until.isoformat(),
            returned=CODEC.encode(new[0]) if new else None,
        )

    return read


def _skip(recorder: Any, original: Callable[..., Any]) -> Any:
    def skip(self: Any, partition: int, offset: int) -> None:
        original(self, partition, offset)
        recorder.put(
            "canary skip",
            partition=partition,
            target_offset=offset,
            returned=None,
        )

    return skip


def _settle(recorder: Any, original: Callable[..., Any]) -> Any:
    settled = 0

    def settle(self: Any, now: Any, grace: Any) -> None:
        nonlocal settled
        before = len(self._losses)
        original(self, now, grace)
        recorder.put(
            "canary settle",
            at=now.isoformat(),
            grace=None if grace is None else _span(grace),
            returned=[CODEC.encode(loss) for loss in self._losses[before:]],
        )
        settled += 1
        if settled % STATE_EVERY == 0:
            state = from_ledgers(self.books.ledgers.values())
            recorder.put("canary state", returned=state)

    return settle


def canary_wrappers() -> Iterator[tuple[type, str, Wrap]]:
    """Return what to wrap: class, name of the method, how."""
    yield Bookkeeper, "follow", _follow
    yield Bookkeeper, "make_probe", _make_probe
    yield Bookkeeper, "hear", _hear
    yield Bookkeeper, "read", _read
    yield Bookkeeper, "skip", _skip
    yield Bookkeeper, "settle", _settle


def _span(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)
