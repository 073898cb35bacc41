"""A random row of faults ends with books equal to the truth."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from tests.support.truth import Truth
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

SEED = int(os.environ.get("MIRRORWATCH_SEED", "20261121"))
"""Seed of the row; a failure prints it."""

FAULTS = int(os.environ.get("MIRRORWATCH_FAULTS", "6"))
"""How many faults there are; the soak has more."""


class Storm:
    """Faults, each with its end, on one lab."""

    def __init__(self, lab: Lab, truth: Truth, chance: random.Random) -> None:
        self.lab = lab
        self.truth = truth
        self.chance = chance

    @property
    def kinds(self) -> list[Callable[[Watch], None]]:
        return [
            self.kill_mirror,
            self.freeze_mirror,
            self.kill_source,
            self.kill_target,
            self.cut_mirror,
            self.cut_agent,
            self.lose_records,
        ]

    def endure(self, watch: Watch) -> None:
        """Let some probes be sent, or tried."""
        watch.let_pass(self.chance.randint(2, 12))

    def kill_mirror(self, _watch: Watch) -> None:
        self.lab.mirror.kill()
        self.lab.mirror.start()

    def freeze_mirror(self, watch: Watch) -> None:
        self.lab.mirror.freeze()
        self.endure(watch)
        self.lab.mirror.thaw()

    def kill_source(self, watch: Watch) -> None:
        self.lab.source.kill()
        self.endure(watch)
        self.lab.source.start()

    def kill_target(self, watch: Watch) -> None:
        self.lab.target.kill()
        self.endure(watch)
        self.lab.target.start()

    def cut_mirror(self, watch: Watch) -> None:
        self.lab.link_mirror.cut()
        self.endure(watch)
        self.lab.link_mirror.restore()

    def cut_agent(self, watch: Watch) -> None:
        self.lab.link_agent.cut()
        self.endure(watch)
        self.lab.link_agent.restore()

    def lose_records(self, watch: Watch) -> None:
        self.lab.mirror.stop()
        self.endure(watch)
        # In this order: what is deleted was looked at.
        ends = self.lab.source.topics.ends(CANARY_TOPIC)
        self.truth.look()
        doomed = {p: max(low, high - 2) for p, (low, high) in ends.items()}
        self.lab.delete_records(CANARY_TOPIC, doomed)
        self.lab.mirror.start()


def test_a_random_row_of_faults_ends_with_the_truth(
    lab: Lab, tmp_path: Path
) -> None:
    chance, truth = random.Random(SEED), Truth(lab)  # noqa: S311 - a seed is the point
    storm = Storm(lab, truth, chance)
    row = [*chance.choices(storm.kinds, k=FAULTS - 1), storm.lose_records]
    chance.shuffle(row)
    print(f"seed {SEED}: {', '.join(f.__name__ for f in row)}")
    with Watch(lab, state=tmp_path / "state.db") as watch:
        watch.wait_for(Health.OK)
        for fault in row:
            fault(watch)
            storm.endure(watch)
        wait_until(
            lambda: watch.counts["outstanding"] < 12,
            what=lambda: (watch.counts, watch.verdict()),
        )
        watch.stop()
    # A broker may die with sends under way, and their place be deleted soon.
    totals = truth.check(watch, undecided=True)
    print(f"the truth: {dict(totals)}")
    assert totals["lost"] > 0
