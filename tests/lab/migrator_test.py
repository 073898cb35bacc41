"""A mirror that writes the source's offset into a header of each copy, by a
stand-in: Redpanda's migrator.

It copies clean traffic, drops and duplicates records while more are written,
is stopped, and leaves the header out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab
from tests.support.copier import Copier, lab_for_copier, migrator_headers
from tests.support.lab import (
    copied,
    numbered,
    produce,
    values,
    written_to,
)
from tests.support.skips import books_of
from tests.support.watch import Watch, lag_of, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = (("x", 2), ("equal", 1), ("bare", 1))
GROUP = "migrator"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_for_copier(TOPICS) as lab:
        yield lab


def watching(lab: Lab, state: Path) -> Watch:
    limits = {
        "position": {"lost_window": "5s", "rewind_window": "5s"},
        "skips": {"lost_window": "5s", "warning_window": "5s"},
    }
    return Watch(
        lab,
        state=state,
        canary={"enabled": False},
        flow={
            "limits": limits,
            "mirror": {"kind": "redpanda-migrator", "group": GROUP},
        },
    )


def write_equal(lab: Lab, count: int) -> None:
    """Write records that nothing but their offsets distinguishes."""
    producer = Producer({"bootstrap.servers": lab.source.bootstrap})
    now = int(utc_now().timestamp() * 1000)
    for _ in range(count):
        producer.produce("equal", b"same", partition=0, timestamp=now)
    assert producer.flush(30) == 0


def wait_for_lag(watch: Watch, **expected: int) -> None:
    def lag() -> Mapping[str, int | None]:
        return {topic: lag_of(watch, topic) for topic, _ in TOPICS}

    wait_until(
        lambda: lag() == expected, what=lambda: (lag(), watch.unhealthy())
    )


def wait_for_books(watch: Watch, missing: int, repeated: int) -> None:
    """Wait until so many are missing and repeated, and see it stay so."""
    wait_until(
        lambda: books_of(watch, "x") == (missing, repeated),
        what=lambda: (books_of(watch, "x"), watch.verdict("skips")),
    )
    watch.let_pass(5)
    assert books_of(watch, "x") == (missing, repeated)


def test_headers_show_drops_in_motion(lab: Lab, tmp_path: Path) -> None:
    copier = Copier(lab, TOPICS, headers=migrator_headers, group=GROUP)
    produce(lab, "x", numbered("first", 0, 150))
    produce(lab, "bare", numbered("first", 0, 50))
    write_equal(lab, 300)
    with copier, watching(lab, tmp_path / "state.db") as watch:
        copied(lab, "x", ["first 149"])
        for check in ("lag", "skips", "position"):
            watch.wait_for(Health.OK, check=check)
        wait_for_lag(watch, x=0, equal=0, bare=0)
        with written_to(lab, "x", 1):
            # Until both partitions were looked at often enough.
            for n in range(12):
                for partition in (0, 1):
                    sent = numbered(f"clean {partition} {n}", 0, 30)
                    produce(lab, "x", sent, partition=partition)
                    copied(lab, "x", sent[-1:])
                write_equal(lab, 30)
            watch.wait_for(Health.OK, check="skips")
            assert books_of(watch, "x") == (0, 0)
            gone = numbered("gone", 0, 40)
            copier.dropped = {value.encode() for value in gone}
            for partition, mine in ((0, gone[:15]), (1, gone[15:])):
                produce(lab, "x", numbered("a", 0, 10), partition=partition)
                produce(lab, "x", mine, partition=partition)
                produce(lab, "x", numbered("b", 0, 200), partition=partition)
            watch.wait_for(Health.CRITICAL, check="skips")
            wait_for_books(watch, 40, 0)
            watch.wait_for(Health.OK, check="lag")
        wait_for_lag(watch, x=0, equal=0, bare=0)
        # What is copied and not committed is no lag, and is copied again.
        copier.commits = False
        produce(lab, "x", numbered("again", 0, 50))
        copied(lab, "x", ["again 49"])
        wait_for_lag(watch, x=0, equal=0, bare=0)
        copier.stop()
        write_equal(lab, 9)
        produce(lab, "x", numbered("waits", 0, 7))
        wait_for_lag(watch, x=7, equal=9, bare=0)
        copier.commits = True
        copier.start()
        wait_for_lag(watch, x=0, equal=0, bare=0)
        # And so may be what was copied just before, and not committed yet.
        twice = Counter(values(lab, "target", "x"))
        twice -= Counter(values(lab, "source", "x"))
        assert twice.keys() >= set(numbered("again", 0, 50))
        wait_for_books(watch, 40, twice.total())
        assert books_of(watch, "equal") == (0, 0)
        watch.wait_for_only()


def test_without_headers_records_are_compared(
    lab: Lab, tmp_path: Path
) -> None:
    """Equal ones prove nothing then: positions are those that are committed,
    and what may be missing is unknown.
    """
    copier = Copier(lab, TOPICS, group=GROUP)
    with copier, watching(lab, tmp_path / "bare.db") as watch:
        watch.wait_for(Health.OK, check="lag")
        produce(lab, "bare", numbered("next", 0, 50))
        copied(lab, "bare", ["next 49"])
        wait_for_lag(watch, x=0, equal=0, bare=0)
        gone = numbered("gone bare", 0, 5)
        copier.dropped = {value.encode() for value in gone}
        produce(lab, "bare", [*gone, "after"])
        copied(lab, "bare", ["after"])
        wait_until(
            lambda: books_of(watch, "bare") == (5, 0),
            what=lambda: (books_of(watch, "bare"), watch.verdict("skips")),
        )
        write_equal(lab, 300)
        said = "equal[0]: several records at the source look like"
        watch.wait_for(Health.UNKNOWN, said, check="skips")
        wait_for_lag(watch, x=0, equal=0, bare=0)
        watch.wait_for(Health.OK, check="lag")
