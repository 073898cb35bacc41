"""Which commits of a mirror prove what is at the target."""

from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.report import Flow
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.surveyor import CanarySurveyWorker
from mirrorwatch.sources.mirror_state import MirrorState
from tests.support.builders import NOON

SECOND = timedelta(seconds=1)
NOTHING: Any = None


class Site:
    """The commits of a mirror, and who takes them for proofs."""

    def __init__(self, kind: str) -> None:
        self.now = NOON
        self.mirror = MirrorState()
        self.surveyor = CanarySurveyWorker(
            settings=CanarySettings(
                flow=Flow(name="f", source="a", target="b"),
                topic="c",
                remote_topic="c",
                interval=SECOND,
                deadline=30 * SECOND,
                warmup=600 * SECOND,
                create=True,
                unflushed=KINDS[kind].unflushed,
            ),
            source=NOTHING,
            target=NOTHING,
            positions=self.mirror,
            settler=NOTHING,
            state=NOTHING,
            interval=5 * SECOND,
            clock=lambda: self.now,
        )

    def look(self, position: int | None, seconds: int = 5) -> int | None:
        """Take a commit, and return the position that is a proof then."""
        self.now += seconds * SECOND
        fact = self.mirror.committed("c").get(0)
        if fact is None or fact.position != position:
            self.mirror.note(
                Committed(
                    topic="c",
                    partition=0,
                    position=position,
                    written_at=self.now,
                )
            )
        found = self.surveyor._read_positions(self.now, ordered=False)  # noqa: SLF001
        (proof,) = found.get(0, (None,))
        return None if proof is None else proof.position


@pytest.mark.parametrize("kind", ["mirrormaker1", "brooklin", "mirus"])
def test_what_was_acknowledged_before_the_commit_is_there(kind: str) -> None:
    site = Site(kind)
    assert [site.look(p) for p in (7, 9, 9)] == [7, 9, 9]


def test_what_may_still_be_sent_is_no_proof() -> None:
    """A home-made copier that commits what it has read."""
    site = Site("group")
    assert {site.look(n) for n in range(30)} == {None}
    # Each is one as soon as its producer has given up what it covers.
    assert [site.look(n) for n in range(30, 40)] == list(range(10))
    assert site.look(40, seconds=200) == 39
    assert site.look(40, seconds=150) == 40


def test_what_is_read_again_is_no_proof() -> None:
    site = Site("group")
    site.look(50)
    assert site.look(50, seconds=150) == 50
    assert [site.look(20), site.look(20, seconds=150)] == [None, 20]
    assert [site.look(None), site.look(None, seconds=150)] == [None, None]
