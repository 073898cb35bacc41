"""A mirror's consumer group: what its offsets and members say."""

from collections.abc import Mapping
from datetime import timedelta
from unittest.mock import patch

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.tasks.check import TasksLimits, judge_tasks
from mirrorwatch.domain.tasks.group import GroupMemory, SplitLoop
from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.groups import SourceGroup
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.source_group import SourceGroupWorker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.support.builders import NOON
from tests.support.findings import find

pytestmark = pytest.mark.slow


MEMBERS = (("mm-0", "/10.0.0.1"), ("mm-1", "/10.0.0.1"))
SECOND = timedelta(seconds=1)


class Site:
    """A worker, its positions and a clock."""

    def __init__(self, kind: str = "mirrormaker1") -> None:
        self.now = NOON
        self._kind = kind
        self._database = Database(None)
        self.restart()

    def restart(self) -> None:
        """Begin again with what the state file has."""
        kind = self._kind
        self.positions = MirrorState()
        self.worker = SourceGroupWorker(
            flow="a->b",
            group="mm",
            traits=KINDS[kind],
            source=Cluster("a", {"bootstrap.servers": "127.0.0.1:1"}),
            positions=self.positions,
            interval=5 * SECOND,
            clock=lambda: self.now,
            memory=DocumentStore(
                self._database, "a->b", "mirror_group", GroupMemory
            ),
        )

    def read(
        self,
        offsets: Mapping[tuple[str, int], int],
        *,
        members: tuple[tuple[str, str], ...] = MEMBERS,
        state: str | None = None,
    ) -> None:
        self.now += 5 * SECOND
        found = SourceGroup(
            state=state or ("stable" if members else "empty"),
            members=members,
            offsets=offsets,
        )
        name = "mirrorwatch.sources.source_group.read_source_group"
        with patch(name, lambda *_: found):
            self.worker.step()

    def list(self, *topics: str) -> None:
        """Let a survey see these topics."""
        facts = TopicFacts(id="1", partitions=1, replication_factor=1)
        source = ClusterView(
            alias="a",
            id="a",
            at=self.now,
            topics=dict.fromkeys(topics, facts),
            ends={},
        )
        self.worker.take(
            FlowView(
                flow="a->b",
                at=self.now,
                committed={},
                syncs={},
                caught_up=True,
                target=None,
                source=source,
                names={},
            )
        )

    def read_on(
        self,
        passed: timedelta,
        *,
        members: tuple[tuple[str, str], ...] = MEMBERS,
        state: str | None = None,
    ) -> None:
        """Read the same once more after a time."""
        self.now += passed
        self.read({("x", 0): 7}, members=members, state=state)

    def position(self, topic: str = "x") -> int | None:
        return self.positions.committed(topic)[0].position

    def verdict(self) -> Verdict:
        (seen,) = self.worker.observe(self.now)
        return judge_tasks("a->b", seen, TasksLimits(), self.now)


@pytest.fixture
def site() -> Site:
    return Site()


def test_positions_are_what_the_group_committed(site: Site) -> None:
    assert site.positions.behind(site.now)
    site.read({("x", 0): 7})
    assert not site.positions.behind(site.now)
    first = site.positions.committed("x")[0]
    assert first.position == 7
    site.read({("x", 0): 7})
    # Not written anew: only a move says that the mirror committed.
    assert site.positions.committed("x")[0] == first
    site.read({("x", 0): 9})
    assert site.positions.committed("x")[0].written_at > first.written_at
    assert site.position() == 9


def test_what_expired_without_members_is_no_reset(site: Site) -> None:
    site.read({("x", 0): 7})
    for _ in range(3):
        site.read({}, members=())
        assert site.position() == 7


def test_what_is_gone_while_members_read_was_deleted(site: Site) -> None:
    site.read({("x", 0): 7, ("y", 0): 1})
    site.read({("y", 0): 1})
    assert site.position() == 7  # its topic may be on its way out
    site.list("x", "y")
    site.read({("y", 0): 1})
    assert site.position() is None


def test_what_may_not_be_described_was_not_deleted(site: Site) -> None:
    site.read({("x", 0): 7, ("y", 0): 1})
    for _ in range(3):
        site.read({("y", 0): 1})
        site.list("y")
        assert site.position() == 7
    # It may again, and its offset is gone: that was deleted meanwhile.
    site.list("x", "y")
    site.read({("y", 0): 1})
    assert site.position() is None


def test_what_is_gone_waits_for_a_survey_after_it(site: Site) -> None:
    site.list("x", "y")
    site.read({("x", 0): 7, ("y", 0): 1})
    for _ in range(3):
        # What is listed may be so no more.
        site.read({("y", 0): 1})
        assert site.position() == 7


def test_it_runs_with_members(site: Site) -> None:
    site.read({("x", 0): 7})
    verdict = site.verdict()
    assert verdict.health is Health.OK
    find(verdict, "tasks.ok", group="mm", cluster="a", members=2)
    assert verdict.evidence["member_1"] == "mm-0 on /10.0.0.1"


def test_one_that_assigns_partitions_to_itself_has_never_any() -> None:
    site = Site("brooklin")
    site.read({("x", 0): 7}, members=())
    site.read_on(timedelta(minutes=10), members=())
    verdict = site.verdict()
    assert (verdict.health, verdict.code) == (Health.OFF, "tasks.off")


def test_one_that_had_members_has_stopped() -> None:
    site = Site("brooklin")
    site.read({("x", 0): 7})
    site.read({("x", 0): 7}, members=())
    site.read_on(timedelta(minutes=1), members=())
    assert site.verdict().health is Health.CRITICAL


def test_a_long_rebalance_is_told(site: Site) -> None:
    site.read({("x", 0): 7})
    site.read({("x", 0): 7}, state="preparing rebalance")
    assert site.verdict().health is Health.OK
    site.read_on(timedelta(minutes=1), state="preparing rebalance")
    assert site.verdict().health is Health.WARNING
    assert site.verdict().code == "tasks.rebalancing"


def test_one_that_cannot_be_read_is_unknown(site: Site) -> None:
    with pytest.raises(SourceError):
        site.worker.step()
    assert not site.worker.up
    assert site.positions.problems()
    assert site.verdict().health is Health.UNKNOWN


def test_what_is_read_no_more_is_unknown(site: Site) -> None:
    site.read({("x", 0): 7})
    site.now += timedelta(seconds=40)
    assert site.verdict().health is Health.OK
    # Its thread hangs, and says nothing of it.
    site.now += timedelta(minutes=10)
    verdict = site.verdict()
    assert verdict.health is Health.UNKNOWN
    assert verdict.code == "tasks.unreadable"


def test_time_in_which_nobody_looked_is_no_time_without_members(
    site: Site,
) -> None:
    site.read({("x", 0): 7})
    site.read({("x", 0): 7}, members=())
    with pytest.raises(SourceError):
        site.worker.step()
    site.now += timedelta(minutes=10)
    assert site.verdict().health is Health.UNKNOWN


def test_a_restart_of_the_agent_does_not_forget_that_it_had_members() -> None:
    site = Site("group")
    site.read({("x", 0): 7})
    site.restart()
    site.read({("x", 0): 7}, members=())
    site.read_on(timedelta(hours=1), members=())
    assert site.verdict().health is Health.CRITICAL
    assert site.verdict().code == "tasks.no-members"


def test_what_others_write_to_the_target_is_not_copied_again() -> None:
    """Nobody copies: producers have failed over."""
    for members, again in (MEMBERS, True), ((), False):
        site = Site()
        site.read({("x", 0): 7}, members=members)
        site.worker._loop.set(  # noqa: SLF001
            SplitLoop(since=NOON, partitions=1, written=500)
        )
        assert ("tasks.uncommitted" in site.verdict().codes) is again
