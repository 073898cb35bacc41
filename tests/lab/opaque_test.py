"""MirrorMaker 2, real, watched by its copies alone, as a mirror that says
nothing: beside an agent that reads its offset-syncs, which is the truth.

Traffic is clean, records are dropped, and the mirror is stopped and killed.
Then a stand-in copies so that copies prove nothing.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.topics import MM2_EXCLUDED
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import copied, numbered, produce
from tests.support.skips import books_of, truth, wait_for_tallies
from tests.support.watch import Watch, lag_of, wait_until

MIXED_SECONDS = float(os.environ.get("MIRRORWATCH_MIXED_SECONDS", "0"))
"""How long traffic is mixed: at least `ROUNDS` in any case."""

pytestmark = [
    pytest.mark.lab,
    pytest.mark.long,
    pytest.mark.timeout(MIXED_SECONDS + 1500),
]

MARKED = {MARK: b""}
TOPICS = {CANARY_TOPIC: 1, "x": 1, "y": 2, "quiet": 1}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(topics=dict(TOPICS), start_mirror=False)) as lab:
        lab.mirror.start(drop_marked())
        yield lab


LIMITS = {
    "latency": {"warning": "5m", "critical": "10m"},
    "position": {"lost_window": "5s", "rewind_window": "5s"},
    "skips": {"lost_window": "5s", "warning_window": "5s"},
}


def by_syncs(lab: Lab, state: Path) -> Watch:
    return Watch(lab, state=state, flow={"limits": LIMITS})


def by_copies(lab: Lab, state: Path) -> Watch:
    return Watch(
        lab,
        state=state,
        canary={"enabled": False},
        flow={
            "limits": LIMITS,
            "mirror": {"kind": "opaque"},
            # MirrorMaker 2 alone puts an alias before their name.
            "topics": {"exclude": [*MM2_EXCLUDED, "heartbeats"]},
        },
    )


def lag(watch: Watch) -> Mapping[str, int | None]:
    """Return the lag in records of the topics that are not the canary's."""
    return {topic: lag_of(watch, topic) for topic in ("x", "y", "quiet")}


def wait_for_lag(watch: Watch, expected: Mapping[str, int]) -> None:
    wait_until(
        lambda: lag(watch) == expected,
        what=lambda: (lag(watch), watch.unhealthy()),
    )


def test_copies_tell_what_syncs_tell(lab: Lab, tmp_path: Path) -> None:
    for topic in ("x", "y", "quiet"):
        produce(lab, topic, numbered("a", 0, 150))
        copied(lab, topic, ["a 149"])
    with (
        by_syncs(lab, tmp_path / "syncs.db") as syncs,
        by_copies(lab, tmp_path / "copies.db") as copies,
    ):
        both = (syncs, copies)
        for watch in both:
            watch.wait_for(Health.OK, check="lag")
            watch.wait_for(Health.OK, check="skips")
        for n in range(5):
            produce(lab, "x", numbered(f"b{n}", 0, 60))
            produce(lab, "x", numbered(f"x{n}", 0, n + 1), headers=MARKED)
            produce(lab, "x", numbered(f"c{n}", 0, 40))
            copied(lab, "x", [f"c{n} 39"])
        for watch in both:
            wait_for_tallies(watch, {"x": lambda: truth(lab, "x")})
        assert books_of(syncs, "x") == books_of(copies, "x") == (15, 0)
        lab.mirror.stop()
        produce(lab, "x", numbered("d", 0, 7))
        produce(lab, "quiet", numbered("d", 0, 30))
        for watch in both:
            wait_for_lag(watch, {"x": 7, "y": 0, "quiet": 30})


def test_mixed_traffic(lab: Lab, tmp_path: Path) -> None:
    """Bursts, drops, kills and stops, for minutes or `MIXED_SECONDS`: equal
    lags and equal counts, and no alarm that offset-syncs do not raise.
    """
    chance = Random(17)  # noqa: S311 - no secret
    lab.mirror.start(drop_marked())
    with (
        by_syncs(lab, tmp_path / "syncs.db") as syncs,
        by_copies(lab, tmp_path / "copies.db") as copies,
    ):
        both = (syncs, copies)
        alarms: dict[Watch, set[str]] = {watch: set() for watch in both}
        for watch in both:
            wait_for_lag(watch, {"x": 0, "y": 0, "quiet": 0})
        before = {topic: truth(lab, topic) for topic in ("x", "y")}

        def since(topic: str) -> tuple[int, int]:
            missing, repeated = truth(lab, topic)
            return missing - before[topic][0], repeated - before[topic][1]

        def passed() -> float:
            return time.monotonic() - start

        start, n = time.monotonic(), 0
        # Until both partitions of y were looked at often enough.
        while n < ROUNDS or n % ROUNDS or passed() < MIXED_SECONDS:
            _write_round(lab, chance, n)
            if n % 8 == 5:
                lab.mirror.kill()
                lab.mirror.start(drop_marked())
            for watch in both:
                alarms[watch] |= _alarms(watch)
            n += 1
            if n % ROUNDS:
                continue
            copied(lab, "y", [f"y{p} {n - 1} last" for p in (0, 1)])
            copied(lab, "x", [f"x0 {n - 1} last"])
            truths = {t: partial(since, t) for t in ("x", "y")}
            sizes = {t: chance.randrange(1, 90) for t in ("x", "y", "quiet")}
            _compare(both, truths, partial(_stop, lab, n, sizes), sizes)
            lab.mirror.start(drop_marked())
            print(
                f"{passed():.0f} s, {n} rounds: missing and repeated "
                f"{since('x')} of x, {since('y')} of y, then lag {sizes}, by "
                f"both; alarms {[*alarms.values()]}",
                flush=True,
            )
        assert since("x")[0] > 0
        assert since("y")[0] > 0
        assert alarms[copies] <= alarms[syncs]


def _write_round(lab: Lab, chance: Random, n: int) -> None:
    """Write bursts to each partition, of which some are dropped."""
    for topic, partition in (("x", 0), ("y", 0), ("y", 1)):
        name = f"{topic}{partition} {n}"
        for part in range(chance.randrange(1, 4)):
            size = chance.choice([1, 1, 5, 150])
            sent = numbered(f"{name} {part}", 0, size)
            marked = MARKED if chance.random() < 0.2 else {}
            produce(lab, topic, sent, partition=partition, headers=marked)
        last = [f"{name} last"]
        produce(lab, topic, last, partition=partition)
        if chance.random() < 0.5:
            copied(lab, topic, last)


def _compare(
    watches: Iterable[Watch],
    truths: Mapping[str, Callable[[], tuple[int, int]]],
    stop: Callable[[], None],
    waiting: Mapping[str, int],
) -> None:
    """See all count the same, and the same lag once the mirror stopped."""
    for watch in watches:
        wait_for_lag(watch, dict.fromkeys(waiting, 0))
        wait_for_tallies(watch, truths)
    stop()
    for watch in watches:
        wait_for_lag(watch, waiting)


def _stop(lab: Lab, n: int, sizes: Mapping[str, int]) -> None:
    """Stop the mirror, and write records that wait for it."""
    lab.mirror.stop()
    for topic, size in sizes.items():
        produce(lab, topic, numbered(f"{topic} {n} waits", 0, size))


def _alarms(watch: Watch) -> set[str]:
    """Return the checks that are critical or a warning."""
    report = watch.agent.latest.get()
    return {
        v.check
        for v in (report.verdicts if report else ())
        if v.health in {Health.WARNING, Health.CRITICAL}
    }


ROUNDS = 24
"""After which both agents are compared, too."""


def test_what_copies_do_not_prove(lab: Lab, tmp_path: Path) -> None:
    """Each is unknown with its reason, and no alarm."""
    lab.mirror.stop()
    kinds = ("kept", "spread", "stamped", "altered", "equal")
    for topic in kinds:
        lab.source.topics.create(topic, 2, {})
        stamped = {"message.timestamp.type": "LogAppendTime"}
        lab.target.topics.create(
            topic, 2, stamped if topic == "stamped" else {}
        )
    now = int(utc_now().timestamp() * 1000)
    source, target = (
        Producer({"bootstrap.servers": site.bootstrap, "linger.ms": 0})
        for site in (lab.source, lab.target)
    )
    for topic in kinds:
        for n in range(40):
            value = b"same" if topic == "equal" else b"%d" % n
            at = now if topic == "equal" else now + n
            source.produce(topic, value, partition=0, timestamp=at)
            if n < 30:
                target.produce(
                    topic,
                    b"altered" if topic == "altered" else value,
                    partition=1 if topic == "spread" else 0,
                    timestamp=at,
                )
        # There are records in both, so that either could be the other.
        source.produce(topic, b"x", partition=1, timestamp=now + 50)
    assert source.flush(60) == target.flush(60) == 0
    watch = Watch(
        lab,
        state=tmp_path / "state.db",
        canary={"enabled": False},
        flow={
            "limits": LIMITS,
            "mirror": {"kind": "opaque"},
            "topics": {"include": list(kinds)},
        },
    )
    with watch:
        for check in ("lag", "skips"):
            for said in (
                "spread[0]: the mirror does not keep the partitions",
                "stamped[0]: the target sets timestamps itself",
                "altered[0]: its newest copies are not found",
                "equal[0]: several records at the source look like",
            ):
                watch.wait_for(Health.UNKNOWN, said, check=check)
        verdicts = watch.agent.latest.get()
        assert verdicts is not None
        wait_until(
            lambda: lag_of(watch, "kept") == 11,
            what=lambda: lag_of(watch, "kept"),
        )
        # Nothing is said of what is not known.
        for topic in ("spread",):
            assert lag_of(watch, topic) is None
        assert not [
            v
            for v in verdicts.verdicts
            if v.health is Health.CRITICAL or v.health is Health.WARNING
        ]
