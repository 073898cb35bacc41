"""What an agent says of skips, and what plain readers of both sides say."""

from mirrorwatch.domain.conservation import Tally
from mirrorwatch.domain.skips import SkipsObservation
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import Lab

from .lab import values
from .watch import Watch, wait_until

__all__ = ["PATIENT", "books_of", "seen_by", "settled", "tally", "truth"]
__all__ += ["says", "wait_for_tally"]

PATIENT = 150
"""Seconds until a pair is told at the mirror's own intervals (60 s) and is
booked, on a machine that does other things."""


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


def says(watch: Watch, health: Health, *texts: str) -> bool:
    """Tell whether the verdict has this health, and says all of that."""
    verdict = watch.verdict("skips")
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
