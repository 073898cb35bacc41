"""What happens to the mirror of a recorded story."""

from collections.abc import Callable
from datetime import timedelta

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary import Message
from mirrorwatch.domain.resets import Kind
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import CANARY_TOPIC, Lab
from mirrorwatch.lab.faults import MARK, recreate_topic
from mirrorwatch.state.maintenance import MaintenanceStore
from tests.support.lab import carry, copied, produce
from tests.support.resets import (
    RETENTION,
    await_reset,
    is_settled,
    numbers,
    set_position,
)
from tests.support.skips import leave_uncommitted, tally, wait_for_tally
from tests.support.watch import FLOW, Watch, wait_until

__all__ = ["TOPICS", "Marks", "begin", "cut", "drop", "freeze", "grow"]
__all__ += ["kill", "lose"]

TOPICS = {
    CANARY_TOPIC: 3,
    "dropped": 2,
    "expired": 1,
    "grown": 1,
    "killed": 1,
    "made.anew": 1,
    "made.there": 1,
    "overrun": 1,
    "steady": 2,
    "tail": 1,
}
MARKED = {MARK: b""}
WITHOUT_DROPS = {f"{FLOW}.transforms": ""}


class Marks:
    """Marks every nth probe of partition 0, 0 for none."""

    def __init__(self) -> None:
        self.every = 0

    def __call__(
        self, message: Message
    ) -> list[tuple[str, str | bytes | None]]:
        marked = self.every and message.partition == 0
        hit = marked and message.sequence % self.every == 0
        return [(MARK, b"")] if hit else []


def begin(lab: Lab, watch: Watch) -> None:
    """What is usual."""
    watch.wait_for(Health.OK)
    for topic in TOPICS.keys() - {CANARY_TOPIC}:
        carry(lab, topic, numbers(0, 150))
    watch.wait_for(Health.OK, check="skips")
    watch.wait_for(Health.OK, check="position")
    watch.let_pass(10)


def drop(lab: Lab, watch: Watch, marks: Marks) -> None:
    """A transform drops records, probes among them."""
    marks.every = 5
    produce(lab, "dropped", numbers(0, 10, "x"), headers=MARKED)
    carry(lab, "dropped", numbers(150, 160))
    wait_for_tally(watch, "dropped", (10, 0))
    produce(lab, "tail", numbers(0, 7, "x"), headers=MARKED)
    watch.wait_for_count("lost", 2)
    marks.every = 0
    watch.wait_for(Health.CRITICAL, check="skips")
    wait_until(lambda: watch.says("lost"))

    def is_suspected() -> bool:
        produce(lab, "steady", ["more"])
        verdict = watch.verdict("skips")
        return verdict is not None and bool(
            verdict.evidence.get("suspected_records")
        )

    wait_until(is_suspected, what=lambda: watch.verdict("skips"))


def cut(lab: Lab, watch: Watch) -> None:
    """The agent does not reach the source for a while."""
    lab.link_agent.cut()
    try:
        watch.wait_for(Health.UNKNOWN, "does not answer", check="lag")
        watch.let_pass(5)
    finally:
        lab.link_agent.restore()
    for check in ("lag", "position", "topics"):
        wait_until(lambda: _is_known(watch, check))  # noqa: B023
    watch.let_pass(5)


def grow(lab: Lab, watch: Watch) -> None:
    """A topic gets partitions, and another one appears, while notices are
    held.
    """
    _announce(watch, timedelta(seconds=4))
    lab.grow("grown", 3)
    lab.create_topic("new", 2)
    produce(lab, "grown", numbers(0, 30, "2: "), partition=2)
    produce(lab, "new", numbers(0, 30), partition=1)
    copied(lab, "grown", numbers(0, 30, "2: "))
    copied(lab, "new", numbers(0, 30))
    watch.let_pass(5)


def kill(lab: Lab, watch: Watch) -> None:
    """The mirror dies between copying and committing, and comes back
    without its transform: what it dropped last is copied after all.
    """
    end = 150

    def write() -> None:
        nonlocal end
        carry(lab, "killed", numbers(end, end + 200))
        end += 200

    leave_uncommitted(lab, "killed", write)
    lab.mirror.kill()
    lab.mirror.start(WITHOUT_DROPS)
    carry(lab, "killed", numbers(end, end + 150))
    await_reset(watch, "killed", Kind.REWIND, is_settled)
    wait_until(lambda: tally(watch, "killed").repeated > 0)


def freeze(lab: Lab, watch: Watch, copy: Callable[[], None]) -> None:
    """The mirror stands for a while, in announced maintenance."""
    lab.mirror.freeze()
    try:
        produce(lab, "steady", numbers(200, 260), partition=1)
        watch.wait_for(Health.CRITICAL, "overdue")
        _announce(watch, timedelta(seconds=30))
        watch.wait_for(Health.CRITICAL, check="lag")
        lab.create_topic("later", 2)
        configs = {"max.message.bytes": "2000000"}
        lab.source.topics.set_configs("steady", configs)
        watch.wait_for(Health.CRITICAL, "later", check="topics")
        copy()
        watch.let_pass(5)
        # Too late for the agent to see it before the mirror does.
        produce(lab, "overrun", numbers(150, 300))
        lab.delete_records("overrun", {0: 240})
    finally:
        lab.mirror.thaw()
    watch.wait_for_count("late", 3)
    wait_until(lambda: watch.counts["outstanding"] < 10)
    await_reset(watch, "overrun", Kind.EXPIRED)


def lose(lab: Lab, watch: Watch) -> None:
    """Records and topics go while the mirror is down."""
    lab.mirror.stop()
    watch.let_pass(3)
    set_position(lab, "steady", 100)
    set_position(lab, "grown", None)
    # What was dropped there is copied again, and for the first time.
    set_position(lab, "dropped", 140)
    set_position(lab, CANARY_TOPIC, 20)
    await_reset(watch, "steady", Kind.REWIND)
    await_reset(watch, "grown", Kind.OFFSETS_DELETED)
    lab.source.topics.set_configs("expired", RETENTION)
    produce(lab, "expired", numbers(150, 350))
    watch.wait_for(Health.CRITICAL, check="retention")
    lab.source.topics.unset_configs("expired", [*RETENTION])
    lab.delete_records("expired", {0: 250})
    await_reset(watch, "expired", Kind.EXPIRED)
    recreate_topic(lab.source.topics, "made.anew", 1)
    produce(lab, "made.anew", numbers(0, 40, "new "))
    recreate_topic(lab.target.topics, "made.there", 1)
    await_reset(watch, "made.anew", Kind.SOURCE_RECREATED)
    await_reset(watch, "made.there", Kind.TARGET_RECREATED)
    watch.let_pass(5)
    lab.mirror.start(WITHOUT_DROPS)
    copied(lab, "expired", numbers(250, 350))
    copied(lab, "made.anew", numbers(0, 40, "new "))
    carry(lab, "made.there", numbers(150, 160))
    await_reset(watch, "expired", Kind.EXPIRED, is_settled)
    await_reset(watch, "made.anew", Kind.SOURCE_RECREATED, is_settled)
    copied(lab, "dropped", numbers(0, 10, "x"))
    wait_until(lambda: tally(watch, "dropped").recovered == 10)
    watch.wait_for_count("recovered", 2)


def _is_known(watch: Watch, check: str) -> bool:
    verdict = watch.verdict(check)
    return verdict is not None and verdict.health is not Health.UNKNOWN


def _announce(watch: Watch, duration: timedelta) -> None:
    now, store = utc_now(), MaintenanceStore(watch.database)
    store.announce([FLOW], now, now + duration, "MirrorMaker 3.9 to 4.3")
