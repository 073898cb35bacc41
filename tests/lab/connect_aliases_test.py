"""A mirror without aliases and separator: a real site's setting."""

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab, LabSettings
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab


def health_of(watch: Watch) -> Health | None:
    verdict = watch.verdict("tasks")
    return None if verdict is None else verdict.health


def test_the_canary_and_the_tasks_are_watched_without_aliases() -> None:
    settings = LabSettings(
        kafka="3.9.2",
        mirror="connect",
        naming="default",
        aliases=("", "destn"),
        separator="",
        intervals="fast",
    )
    with Lab(settings) as lab:
        with Watch(lab, canary={"deadline": "60s"}) as watch:
            watch.wait_for(Health.OK)
            watch.wait_for_count("delivered", 60)
            wait_until(
                lambda: health_of(watch) is Health.OK,
                what=lambda: watch.verdict("tasks"),
            )
            # Proofs need the mirror's own topics.
            said = str(watch.verdict())
        assert "does not exist" not in said
        assert "mm2-offset-syncsdestninternal" in lab.source.topics.names()
