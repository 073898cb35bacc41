"""The same proofs on an older mirror, under the default policy."""

from collections.abc import Iterator

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.truth import Truth
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def old_lab() -> Iterator[Lab]:
    settings = LabSettings(kafka="3.9.2", naming="default", intervals="fast")
    with Lab(settings) as lab:
        yield lab


def test_an_older_mirror_loses_and_doubles_exactly(old_lab: Lab) -> None:
    truth = Truth(old_lab)
    with Watch(old_lab) as watch:
        watch.wait_for(Health.OK)
        assert watch.canary is not None
        assert watch.canary.remote_topic == f"summit.{CANARY_TOPIC}"
        old_lab.mirror.stop()
        watch.wait_for_count("acked", watch.counts["acked"] + 60)
        # In this order: what is deleted was looked at.
        ends = old_lab.source.topics.ends(CANARY_TOPIC)
        truth.look()
        old_lab.delete_records(
            CANARY_TOPIC, {p: end - 3 for p, (_, end) in ends.items()}
        )
        old_lab.mirror.start()
        # Its commits come every second, so no later arrival is waited for.
        watch.wait_for(Health.CRITICAL, "canary.lost")
        assert watch.canary.losses[-1].proof.startswith("Committed position")
        old_lab.mirror.kill()
        old_lab.mirror.start()
        delivered = watch.counts["delivered"]
        watch.wait_for_count("delivered", delivered + 60)
        wait_until(lambda: watch.counts["outstanding"] < 12)
        watch.stop()
    totals = truth.check(watch)
    assert totals["lost"] == len(watch.losses) > 0
