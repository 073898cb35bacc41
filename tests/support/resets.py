"""What an agent says of a mirror's positions on a lab."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from confluent_kafka import Message, Producer

from mirrorwatch.domain.finding import Finding, Health
from mirrorwatch.domain.position.model import (
    PositionObservation,
    Reset,
    ResetKind,
    resets_of,
)
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch_lab import Lab
from mirrorwatch_lab.settings import SOURCE, TARGET

from .findings import find, is_found
from .lab import FLUSH_SECONDS, values
from .watch import Watch, wait_until

__all__ = ["FLOW", "MISSED_AT_ONCE", "OFFSETS", "RETENTION", "all_resets"]
__all__ += ["await_health"]
__all__ += ["await_found", "await_reset", "await_time_to_loss", "health"]
__all__ += ["is_judged", "is_settled", "numbers", "resets", "seen"]
__all__ += ["set_position", "stop_mirror", "uncopied"]

T = TypeVar("T")

OFFSETS = f"mm2-offsets.{SOURCE}.internal"
"""Where a dedicated mirror commits its positions."""

MISSED_AT_ONCE = {
    f"{TARGET}.scheduled.rebalance.max.delay.ms": "0",
    f"{TARGET}.session.timeout.ms": "6000",
    f"{TARGET}.heartbeat.interval.ms": "2000",
}
"""A mirror that was killed is missed at once, not for five minutes; all that
positions depend on is as it is by default."""

RETENTION_SECONDS = 50

RETENTION = {
    "retention.ms": f"{RETENTION_SECONDS}000",
    "segment.ms": "1000",
}
"""Configuration of a topic that is kept shortly."""

FLOW = {
    "limits": {
        # As often as the source's retention is changed.
        "configs": {"every": "2s"},
        # Above the default: what is kept so shortly passes it too soon.
        "retention": {"warning_share": 0.9},
    }
}
"""What an agent that watches such a topic is told of its flow."""

NOTHING = PositionObservation(
    flow="",
    at=datetime.min.replace(tzinfo=UTC),
    source=SOURCE,
    target=TARGET,
    counts={},
)


def seen(watch: Watch) -> PositionObservation:
    """Return what the last report knew of positions."""
    return _observed(watch, PositionObservation) or NOTHING


def all_resets(watch: Watch) -> tuple[Reset, ...]:
    """Return the resets that commits, topic ids, and copies show."""
    return resets_of(seen(watch), _observed(watch, SkipsObservation))


def _observed(watch: Watch, kind: type[T]) -> T | None:
    report = watch.agent.latest.get()
    found = report.observations if report else ()
    return next((o for o in found if isinstance(o, kind)), None)


def is_judged(watch: Watch) -> bool:
    """Tell whether the agent has looked at positions."""
    found = seen(watch)
    return bool(found.partitions) and not found.problems


def resets(watch: Watch, topic: str, kind: ResetKind) -> list[Reset]:
    """Return the resets of one kind in one topic."""
    return [
        reset
        for reset in all_resets(watch)
        if reset.topic == topic and reset.kind is kind
    ]


def health(watch: Watch, check: str = "position") -> Health | None:
    """Return how healthy the flow is by a check."""
    verdict = watch.verdict(check)
    return None if verdict is None else verdict.health


def await_health(
    watch: Watch, wanted: Health, check: str = "position"
) -> None:
    """Wait for a verdict."""
    wait_until(
        lambda: health(watch, check) is wanted,
        what=lambda: watch.verdict(check),
    )


def await_reset(
    watch: Watch,
    topic: str,
    kind: ResetKind,
    is_so: Callable[[Reset], bool] = lambda _: True,
) -> Reset:
    """Wait for a reset that is as wanted."""
    wait_until(
        lambda: any(is_so(r) for r in resets(watch, topic, kind)),
        what=lambda: _tell(watch),
    )
    return next(r for r in resets(watch, topic, kind) if is_so(r))


def await_found(watch: Watch, code: str, **facts: str | float | None) -> None:
    """Wait for a finding of the check `position`, with the facts."""
    wait_until(
        lambda: is_found(
            watch.verdict("position"), f"position.{code}", **facts
        ),
        what=lambda: _tell(watch),
    )


def await_time_to_loss(
    watch: Watch, grade: Health, topic: str, share: float
) -> Finding:
    """Wait until a topic is said to lose records, within this share of what
    it is kept for.
    """
    verdict = watch.wait_for(grade, check="retention")
    found = find(verdict, "retention.expiring", topic=topic)
    left = found.numbers["seconds"]
    print(f"retention {grade.name}: {left} s before the loss")
    assert isinstance(left, (int, float))
    assert 0 < left <= share * RETENTION_SECONDS
    return found


def is_settled(reset: Reset) -> bool:
    """Tell whether the mirror has shown what it made of it."""
    return reset.settled is not None


def numbers(first: int, end: int, word: str = "") -> list[str]:
    """Return values of records, the last number not included."""
    return [f"{word}{n}" for n in range(first, end)]


def uncopied(lab: Lab, topic: str, written: Iterable[str]) -> list[str]:
    """Return what was written and is not at the target."""
    copies = {*values(lab, "target", topic)}
    return [value for value in written if value not in copies]


def stop_mirror(lab: Lab, watch: Watch) -> None:
    """Stop it in good order, and let the agent see its last words."""
    lab.mirror.stop()
    watch.let_pass(3)


def positions_of(lab: Lab, topic: str) -> list[Message]:
    """Return what Connect stored of partition 0 of a topic, oldest first."""

    def is_its(key: bytes | None) -> bool:
        place = json.loads(key or b"[0, {}]")[1]
        return (place.get("topic"), place.get("partition")) == (topic, 0)

    return [r for r in lab.read("target", OFFSETS) if is_its(r.key())]


def set_position(lab: Lab, topic: str, position: int | None) -> None:
    """Write a position of partition 0 as an operator does, or delete it."""
    last = positions_of(lab, topic)[-1]
    number = last.partition()
    assert number is not None
    producer = Producer(dict(lab.target.client_properties()))
    producer.produce(
        OFFSETS,
        # Connect's offsets are those of the last record copied.
        None
        if position is None
        else json.dumps({"offset": position - 1}).encode(),
        last.key(),
        partition=number,
    )
    assert producer.flush(FLUSH_SECONDS) == 0


def _tell(watch: Watch) -> object:
    return (watch.verdict("position"), all_resets(watch))
