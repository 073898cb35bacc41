"""A mirror that loses its place, on real brokers and a real MirrorMaker 2.

The tests share one lab and one state file, and run in this order: what one
did is still in the books of the next.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirrorwatch.domain.resets import Kind, PositionObservation, Reset
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch.lab.faults import recreate_topic
from mirrorwatch.lab.settings import TARGET
from tests.support.lab import copied, produce, values
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

OFFSETS = "mm2-offsets.summit.internal"

TOPICS = ("steady", "expired", "grown", "smaller", "elsewhere")

SETTINGS = LabSettings(
    topics={CANARY_TOPIC: 1} | dict.fromkeys(TOPICS, 1),
    # A mirror that was killed is missed at once, not for five minutes; all
    # that positions depend on is as it is by default.
    mirror_properties={
        f"{TARGET}.scheduled.rebalance.max.delay.ms": "0",
        f"{TARGET}.session.timeout.ms": "6000",
        f"{TARGET}.heartbeat.interval.ms": "2000",
    },
)

LIMIT = 120.0
"""Seconds: log starts are looked at every 30, and the machine is busy."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SETTINGS) as lab:
        yield lab


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agent") / "state.db"


@pytest.fixture
def watch(lab: Lab, state: Path) -> Iterator[Watch]:
    with Watch(lab, state=state) as watch:
        wait_until(lambda: judged(watch), within=LIMIT, what=watch.verdict)
        yield watch


def seen(watch: Watch) -> PositionObservation | None:
    report = watch.agent.board.report
    found = [
        o
        for o in (report.observations if report else ())
        if isinstance(o, PositionObservation)
    ]
    return found[0] if found else None


def judged(watch: Watch) -> bool:
    """Tell whether the agent has looked at positions."""
    found = seen(watch)
    return found is not None and bool(found.partitions) and not found.problems


def resets(watch: Watch, topic: str, kind: Kind) -> list[Reset]:
    found = seen(watch)
    return [
        reset
        for reset in (found.resets if found else ())
        if reset.topic == topic and reset.kind is kind
    ]


def health(watch: Watch) -> Health | None:
    verdict = watch.verdict("position")
    return None if verdict is None else verdict.health


def tell(watch: Watch) -> object:
    return (watch.verdict("position"), seen(watch))


def await_reset(
    watch: Watch,
    topic: str,
    kind: Kind,
    is_so: Callable[[Reset], bool] = lambda _: True,
) -> Reset:
    """Wait for a reset that is as wanted."""
    wait_until(
        lambda: any(is_so(r) for r in resets(watch, topic, kind)),
        within=LIMIT,
        what=lambda: tell(watch),
    )
    return next(r for r in resets(watch, topic, kind) if is_so(r))


def is_settled(reset: Reset) -> bool:
    return reset.settled is not None


def numbers(first: int, end: int, word: str = "") -> list[str]:
    return [f"{word}{n}" for n in range(first, end)]


def says(watch: Watch, text: str) -> bool:
    verdict = watch.verdict("position")
    if verdict is None:
        return False
    said = [verdict.reason, *map(str, verdict.evidence.values())]
    return any(text in sentence for sentence in said)


def await_said(watch: Watch, text: str) -> None:
    wait_until(
        lambda: says(watch, text), within=LIMIT, what=lambda: tell(watch)
    )


def test_nothing_is_said_of_what_is_usual(lab: Lab, watch: Watch) -> None:
    for topic in TOPICS:
        produce(lab, topic, numbers(0, 300))
    for topic in TOPICS:
        copied(lab, topic, numbers(0, 300))
    lab.create_topic("new", 2)
    produce(lab, "new", numbers(0, 10))
    lab.grow("steady", 3)
    produce(lab, "steady", numbers(0, 10, "on 2: "), partition=2)
    lab.create_topic("passing", 1)
    produce(lab, "passing", numbers(0, 10))
    watch.let_pass(3)
    lab.source.topics.delete("passing")
    lab.mirror.stop()
    lab.mirror.start()
    for topic in TOPICS:
        produce(lab, topic, numbers(300, 350))
        copied(lab, topic, numbers(0, 350))
    watch.let_pass(10)
    found = seen(watch)
    assert found is not None
    assert found.resets == (), found.resets
    assert sum(found.counts.values()) == 0
    assert health(watch) is Health.OK, watch.verdict("position")


def test_a_mirror_that_is_killed_only_goes_back(
    lab: Lab, watch: Watch
) -> None:
    produce(lab, "steady", numbers(350, 600))
    copied(lab, "steady", numbers(350, 600))
    lab.mirror.kill()
    lab.mirror.start()
    produce(lab, "steady", numbers(600, 650))
    copied(lab, "steady", numbers(600, 650))
    rewind = await_reset(watch, "steady", Kind.REWIND, is_settled)
    assert health(watch) is Health.WARNING, watch.verdict("position")
    target = values(lab, "target", "steady")
    # It went back to its last commit, and more than once: a mirror that
    # comes back first runs the tasks that it finds stored.
    first = rewind.first or 0
    assert target.count(str(first)) > 1
    assert target.count(str(first - 1)) == 1
    found = seen(watch)
    assert found is not None
    assert {r.kind for r in found.resets} == {Kind.REWIND}


def test_records_that_expire_while_the_mirror_is_down_are_counted(
    lab: Lab, watch: Watch
) -> None:
    produce(lab, "expired", numbers(350, 500))
    copied(lab, "expired", numbers(350, 500))
    # Killed: its last commit is older than its last copy.
    lab.mirror.kill()
    end = lab.target.topics.ends("expired")[0][1]
    produce(lab, "expired", numbers(500, 1000))
    watch.let_pass(5)
    assert resets(watch, "expired", Kind.EXPIRED) == []

    lab.delete_records("expired", {0: 700})
    reset = await_reset(watch, "expired", Kind.EXPIRED)
    assert (reset.first, reset.end, end) == (500, 700, end)
    assert health(watch) is Health.CRITICAL
    await_said(watch, "200 records expired at summit")
    await_said(watch, "expired[0] offsets [500, 700)")
    lab.delete_records("expired", {0: 800})
    await_said(watch, "300 records expired at summit")

    lab.mirror.start()
    copied(lab, "expired", numbers(800, 1000))
    reset = await_reset(watch, "expired", Kind.EXPIRED, is_settled)
    missing = {*numbers(0, 1000)} - {*values(lab, "target", "expired")}
    assert missing == {*numbers(reset.first or 0, reset.end or 0)}
    assert len(missing) == reset.count == 300
    await_said(watch, "They are lost for ldf")


def test_topics_that_are_made_again_while_the_mirror_is_down(
    lab: Lab, state: Path, watch: Watch
) -> None:
    # All of them have been copied up to 350.
    lab.mirror.stop()
    watch.let_pass(3)
    recreate_topic(lab.source.topics, "smaller", 1)
    produce(lab, "smaller", numbers(0, 50, "new "))
    # Some of them twice, by a mirror that was killed.
    copies = lab.target.topics.ends("elsewhere")[0][1]
    recreate_topic(lab.target.topics, "elsewhere", 1)
    smaller = await_reset(watch, "smaller", Kind.SOURCE_RECREATED)
    assert smaller.end == 350
    elsewhere = await_reset(watch, "elsewhere", Kind.TARGET_RECREATED)
    assert elsewhere.gone == copies >= 350
    await_said(watch, "smaller was made again at summit, and is shorter")
    await_said(watch, "elsewhere was made again at ldf: what had been copied")
    # The agent is away meanwhile.
    watch.stop()
    recreate_topic(lab.source.topics, "grown", 1)
    produce(lab, "grown", numbers(0, 500, "new "))

    with Watch(lab, state=state) as again:
        grown = await_reset(again, "grown", Kind.SOURCE_RECREATED)
        assert (grown.first, grown.end) == (0, 350)
        await_said(again, "350 records of the new topic are never read")
        assert health(again) is Health.CRITICAL

        lab.mirror.start()
        produce(lab, "elsewhere", numbers(350, 360))
        copied(lab, "elsewhere", numbers(350, 360))
        copied(lab, "grown", numbers(350, 500, "new "))
        grown = await_reset(again, "grown", Kind.SOURCE_RECREATED, is_settled)
        here = {*values(lab, "target", "grown")}
        lost = {*numbers(0, 500, "new ")} - here
        assert lost == {*numbers(grown.first or 0, grown.end or 0, "new ")}
        assert len(lost) == grown.count == 350
        await_said(again, "350 records of the new topic were never read")

        copied(lab, "smaller", numbers(0, 50, "new "))
        smaller = await_reset(
            again, "smaller", Kind.SOURCE_RECREATED, is_settled
        )
        assert smaller.harmless
        await_said(again, "smaller was made again at summit, and the mirror")
        # A new topic at the target is no skip, nor is a new one at the source.
        skips = again.verdict("skips")
        assert skips is None or skips.health < Health.CRITICAL, skips


def test_committed_offsets_that_are_lost(lab: Lab, watch: Watch) -> None:
    lab.mirror.stop()
    watch.let_pass(3)
    before = len(values(lab, "target", "steady"))
    source = len(values(lab, "source", "steady"))
    lab.target.topics.delete(OFFSETS)
    await_reset(watch, OFFSETS, Kind.OFFSETS_GONE)
    await_said(watch, f"offsets topic {OFFSETS} is gone")
    await_said(watch, "begins with everything that the source still holds")
    assert health(watch) is Health.CRITICAL

    lab.mirror.start()
    gone = await_reset(watch, OFFSETS, Kind.OFFSETS_GONE, is_settled)
    assert gone.places >= len(TOPICS)
    await_said(watch, "is not the one that it was")
    # All of it is copied again, which is one rewind of each topic.
    wait_until(
        lambda: len(values(lab, "target", "steady")) == before + source,
        within=LIMIT,
    )
    rewind = await_reset(watch, "steady", Kind.REWIND, lambda r: r.first == 0)
    assert rewind.end is not None
    verdict = watch.verdict("position")
    assert verdict is not None
    assert verdict.health is Health.CRITICAL
