"""Heartbeats and checkpoints of a real, dedicated mirror."""

from collections.abc import Iterator

import pytest

from mirrorwatch.config import Config
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import Lab, LabSettings
from tests.support.group import GROUP, commit
from tests.support.lab import copied, produce
from tests.support.watch import Watch, describe, wait_until

pytestmark = pytest.mark.lab

TOPIC = "lab.grouped"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        intervals="fast", topics={"mirrorwatch.canary": 6, TOPIC: 1}
    )
    with Lab(settings) as lab:
        yield lab


def watching(lab: Lab) -> Watch:
    """Return an agent that is impatient."""
    watch = Watch(lab)
    data = describe(lab, canary={"interval": "500ms", "deadline": "10s"})
    watch.config = Config.from_mapping({**data, "interval": "1s"})
    return watch


def wait_for(
    watch: Watch, check: str, health: Health, code: str | None = None
) -> Verdict:
    met: list[Verdict] = []

    def is_so() -> bool:
        found = watch.verdict(check)
        if found and found.health is health and code in {None, found.code}:
            met.append(found)
        return met != []

    wait_until(is_so, what=lambda: watch.verdict(check))
    return met[0]


def test_heartbeats_are_made_copied_and_missed_when_the_mirror_hangs(
    lab: Lab,
) -> None:
    with watching(lab) as watch:
        wait_for(watch, "heartbeats", Health.OK)
        wait_until(
            lambda: _has(watch, "ldf->summit_copied_late_seconds"),
            what=lambda: watch.verdict("heartbeats"),
        )
        lab.mirror.freeze()
        try:
            wait_for(
                watch,
                "heartbeats",
                Health.WARNING,
                "heartbeats.missing",
            )
        finally:
            lab.mirror.thaw()
        wait_for(watch, "heartbeats", Health.OK)


@pytest.mark.long
def test_checkpoints_of_groups_that_rest_and_move_are_followed(
    lab: Lab,
) -> None:
    with watching(lab) as watch:
        produce(lab, TOPIC, [f"record {n}" for n in range(300)])
        copied(lab, TOPIC, ["record 299"])
        commit(lab.source.bootstrap, GROUP, {(TOPIC, 0): 200})
        wait_until(
            lambda: (
                wait_for(watch, "checkpoints", Health.OK).evidence["groups"]
                == 1
            ),
            what=lambda: watch.verdict("checkpoints"),
        )
        commit(lab.source.bootstrap, GROUP, {(TOPIC, 0): 300})
        watch.let_pass(25)
        wait_for(watch, "checkpoints", Health.OK)


def _has(watch: Watch, key: str) -> bool:
    verdict = watch.verdict("heartbeats")
    return verdict is not None and key in verdict.evidence
