"""What an agent says of skips, and what plain readers of both sides say."""

import json

from mirrorwatch.domain.conservation import Tally
from mirrorwatch.domain.skips import SkipsObservation
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import Lab
from mirrorwatch.lab.settings import SOURCE

from .lab import values
from .watch import Watch, wait_until

__all__ = ["PATIENT", "books_of", "seen_by", "settled", "tally", "truth"]
__all__ += ["says", "wait_for_commit", "wait_for_tally"]

PATIENT = 240
"""Seconds until a pair is told at the mirror's own intervals (60 s) and is
booked. On a machine that does other things a flush may fail: the next one
comes a minute later."""


def truth(lab: Lab, topic: str) -> tuple[int, int]:
    """Count records that are missing, and copies beyond the first."""
    written = values(lab, "source", topic)
    copies = values(lab, "target", lab.target_name(topic))
    return len(set(written) - set(copies)), len(copies) - len(set(copies))


def seen_by(watch: Watch) -> SkipsObservation | None:
    """Return the newest that an agent reported."""
    report = watch.agent.board.report
    found = report.observations if report else ()
    kinds = [o for o in found if isinstance(o, SkipsObservation)]
    return kinds[0] if kinds else None


def tally(watch: Watch, topic: str) -> Tally:
    """Return the counters of a topic."""
    seen = seen_by(watch)
    return dict(seen.tallies).get(topic, Tally()) if seen else Tally()


def says(
    watch: Watch, health: Health, *texts: str, check: str = "skips"
) -> bool:
    """Tell whether the verdict has this health, and says all of that."""
    verdict = watch.verdict(check)
    if verdict is None or verdict.health is not health:
        return False
    said = [verdict.reason, *map(str, verdict.evidence.values())]
    return all(any(text in part for part in said) for text in texts)


def settled(watch: Watch) -> None:
    """Wait until an agent compares both sides."""
    wait_until(
        lambda: says(watch, Health.OK),
        within=PATIENT,
        what=lambda: watch.verdict("skips"),
    )


def books_of(watch: Watch, topic: str) -> tuple[int, int]:
    """Return what an agent counts as missing and as repeated."""
    counted = tally(watch, topic)
    return counted.skipped - counted.recovered, counted.repeated


def wait_for_tally(
    watch: Watch, topic: str, expected: tuple[int, int]
) -> None:
    """Wait until the counters of a topic are these, and see them stay."""

    def is_so() -> bool:
        return books_of(watch, topic) == expected

    wait_until(
        is_so,
        within=PATIENT,
        what=lambda: (tally(watch, topic), expected, watch.verdict("skips")),
    )
    watch.let_pass(5)
    assert is_so(), (tally(watch, topic), expected)


def wait_for_commit(lab: Lab, topic: str, partition: int = 0) -> None:
    """Wait until the mirror has committed all that a partition held."""
    end = lab.source.topics.ends(topic)[partition][1]
    last = max(
        record.offset() or 0
        for record in lab.read("source", topic)
        if record.partition() == partition and (record.offset() or 0) < end
    )
    wait_until(
        lambda: _committed(lab).get((topic, partition), -1) >= last,
        within=PATIENT,
        what=lambda: (last, _committed(lab)),
    )


def _committed(lab: Lab) -> dict[tuple[str, int], int]:
    """Return the last source offset of each partition that is committed."""
    found: dict[tuple[str, int], int] = {}
    for record in lab.read("target", f"mm2-offsets.{SOURCE}.internal"):
        key, value = json.loads(record.key() or b""), record.value()
        if value is not None and "topic" in key[1]:
            place = key[1]["topic"], key[1]["partition"]
            found[place] = json.loads(value)["offset"]
    return found
