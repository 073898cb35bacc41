"""Records of real topics that are dropped, and some that only seem so.

The plain cases are scenarios of `tests/simulation/script.py`.
The tests share one lab and run in this order. Each wants positions that are
committed: where a test starts the mirror again, it is for the next one, too,
which need not wait a minute for the mirror to commit.
"""

from collections.abc import Callable, Iterator

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import copied, produce
from tests.support.skips import (
    leave_uncommitted,
    settled,
    tally,
    truth,
    wait_for_tallies,
)
from tests.support.watch import Watch

pytestmark = pytest.mark.lab

MARKED = {MARK: b""}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A mirror at its own intervals, that drops what is marked."""
    topics = {CANARY_TOPIC: 1, "tail": 1, "again": 1}
    settings = LabSettings(topics=topics)
    with Lab(settings) as lab:
        produce(lab, "tail", numbered("a", 0, 20))
        produce(lab, "again", numbered("a", 0, 50))
        copied(lab, "tail", ["a 19"])
        copied(lab, "again", ["a 49"])
        lab.mirror.stop()
        lab.mirror.start(drop_marked())
        yield lab


def numbered(name: str, first: int, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(first, end)]


def test_what_a_killed_mirror_drops_again_counts_once(lab: Lab) -> None:
    # The mirror tells of each hundredth probe, and repeats are counted then.
    with Watch(lab, canary={"interval": "200ms"}) as watch:
        settled(watch)
        others = ("tail", CANARY_TOPIC)
        # Copies that other kills doubled are not in the books of this agent.
        before = {topic: truth(lab, topic)[1] for topic in others}
        rounds = 0

        def drop_some() -> None:
            nonlocal rounds
            rounds += 1
            for n in range(3):
                name = f"{rounds}{n}"
                produce(lab, "again", numbered(f"b{name}", 0, 60))
                dropped = numbered(f"x{name}", 0, 3)
                produce(lab, "again", dropped, headers=MARKED)
            produce(lab, "again", numbered(f"c{rounds}", 0, 40))
            copied(lab, "again", [f"c{rounds} 39"])

        # All of the last round is read again.
        leave_uncommitted(lab, "again", drop_some)
        lab.mirror.kill()
        lab.mirror.start(drop_marked())
        produce(lab, "again", numbered("d", 0, 150))
        copied(lab, "again", ["d 149"])
        missing, repeated = truth(lab, "again")
        print(f"killed: {missing} skipped, {repeated} repeated")
        assert missing == 9 * rounds
        # It went on from before the last drop, or from the first one.
        assert 40 < repeated <= 220

        def repeats(topic: str) -> Callable[[], tuple[int, int]]:
            return lambda: (0, truth(lab, topic)[1] - before[topic])

        wait_for_tallies(
            watch,
            {
                "again": lambda: (missing, repeated),
                **{topic: repeats(topic) for topic in others},
            },
        )
        assert tally(watch, "again").skipped == 9 * rounds
        for topic in others:
            assert tally(watch, topic).skipped == 0
