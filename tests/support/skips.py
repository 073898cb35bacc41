"""What an agent says of skips, and what plain readers of both sides say."""

import json
from collections.abc import Callable, Mapping

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.mirrors.mirrormaker2 import to_sync
from mirrorwatch_lab import Lab
from mirrorwatch_lab.settings import SOURCE, TARGET
from tests.simulation.environment import SYNCED_EVERY

from .findings import is_found
from .lab import values
from .watch import Watch, wait_until

__all__ = ["books_of", "committed", "leave_uncommitted", "seen_by"]
__all__ += ["is_told", "settled", "synced", "tally", "truth"]
__all__ += ["wait_for_commit", "wait_for_sync", "wait_for_tallies"]
__all__ += ["wait_for_tally"]


def truth(lab: Lab, topic: str) -> tuple[int, int]:
    """Count records that are missing, and copies beyond the first."""
    written = values(lab, "source", topic)
    copies = values(lab, "target", lab.target_name(topic))
    return len(set(written) - set(copies)), len(copies) - len(set(copies))


def seen_by(watch: Watch) -> SkipsObservation | None:
    """Return the newest that an agent reported."""
    report = watch.agent.latest.get()
    found = report.observations if report else ()
    kinds = [o for o in found if isinstance(o, SkipsObservation)]
    return kinds[0] if kinds else None


def tally(watch: Watch, topic: str) -> CopyCounters:
    """Return the counters of a topic."""
    seen = seen_by(watch)
    return (
        dict(seen.counters).get(topic, CopyCounters())
        if seen
        else CopyCounters()
    )


def is_told(
    watch: Watch, health: Health, code: str, **facts: str | float | None
) -> bool:
    """Return whether the check of a code has this health and finding."""
    verdict = watch.verdict(code.partition(".")[0])
    return (
        verdict is not None
        and verdict.health is health
        and is_found(verdict, code, **facts)
    )


def settled(watch: Watch) -> None:
    """Wait until an agent compares both sides."""
    wait_until(
        lambda: is_told(watch, Health.OK, "skips.ok"),
        what=lambda: watch.verdict("skips"),
    )


def books_of(watch: Watch, topic: str) -> tuple[int, int]:
    """Return what an agent counts as missing and as repeated."""
    counted = tally(watch, topic)
    return counted.skipped - counted.recovered, counted.repeated


def wait_for_tally(
    watch: Watch,
    topic: str,
    expected: tuple[int, int] | Callable[[], tuple[int, int]],
) -> None:
    """Wait until the counters of a topic are these, and see them stay.

    Given a way to ask for the truth, it is asked for again: a busy mirror may
    be copying still.
    """
    tell = expected if callable(expected) else lambda: expected
    wait_for_tallies(watch, {topic: tell})


def wait_for_tallies(
    watch: Watch, truths: Mapping[str, Callable[[], tuple[int, int]]]
) -> None:
    """Do the same with several topics at once."""

    def tell() -> dict[str, tuple[int, int]]:
        return {topic: truth() for topic, truth in truths.items()}

    def books() -> dict[str, tuple[int, int]]:
        return {topic: books_of(watch, topic) for topic in truths}

    def stays_so() -> bool:
        true = tell()
        if books() != true:
            return False
        watch.let_pass(5)
        if tell() != true:
            return False
        assert books() == true, [tally(watch, topic) for topic in truths]
        return True

    wait_until(
        stays_so, what=lambda: (books(), tell(), watch.verdict("skips"))
    )


def leave_uncommitted(
    lab: Lab, topic: str, write: Callable[[], None], partition: int = 0
) -> None:
    """Write what a mirror copies and does not commit before it is killed.

    Just after a commit, as the next is a minute away; again, should it have
    taken a busy machine as long.
    """

    def is_left() -> bool:
        wait_for_commit(lab, topic, partition)
        before = committed(lab)[topic, partition]
        write()
        return committed(lab)[topic, partition] == before

    wait_until(is_left)


def wait_for_commit(lab: Lab, topic: str, partition: int = 0) -> None:
    """Wait until the mirror has committed all that a partition held."""
    end = lab.source.topics.ends(topic)[partition][1]
    last = max(
        record.offset() or 0
        for record in lab.read("source", topic)
        if record.partition() == partition and (record.offset() or 0) < end
    )
    wait_until(
        lambda: committed(lab).get((topic, partition), -1) >= last,
        what=lambda: (last, committed(lab)),
    )


def committed(lab: Lab) -> dict[tuple[str, int], int]:
    """Return the last source offset of each partition that is committed."""
    found: dict[tuple[str, int], int] = {}
    for record in lab.read("target", f"mm2-offsets.{SOURCE}.internal"):
        key, value = json.loads(record.key() or b""), record.value()
        if value is not None and "topic" in key[1]:
            place = key[1]["topic"], key[1]["partition"]
            found[place] = json.loads(value)["offset"]
    return found


def wait_for_sync(lab: Lab, topic: str, partition: int = 0) -> None:
    """Wait until the mirror has written the syncs of all that it copied.

    A mirror that is killed at once may not have: what tells its copies from
    those of another task is lost then.
    """
    end = lab.source.topics.ends(topic)[partition][1]
    wait_until(
        lambda: synced(lab).get((topic, partition), -1) >= end - SYNCED_EVERY,
        what=lambda: (end, synced(lab)),
    )


def synced(lab: Lab) -> dict[tuple[str, int], int]:
    """Return the source offset of the last sync of each partition."""
    found: dict[tuple[str, int], int] = {}
    for record in lab.read("source", f"mm2-offset-syncs.{TARGET}.internal"):
        sync = to_sync(record.key(), record.value(), utc_now())
        if sync is not None:
            found[sync.key] = sync.upstream
    return found
