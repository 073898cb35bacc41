"""What must hold in worlds whose mirror writes no offset-syncs.

Each says less than MirrorMaker 2, and is held to what it can prove; what it
cannot must be said to be unknown, and never `ok`.
"""

from collections import Counter
from dataclasses import dataclass, field

from mirrorwatch.domain.position.model import PositionObservation, ResetKind
from mirrorwatch.domain.report import Health, Report, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation

from .cluster import Kind
from .families import traits_of
from .judge import Judge
from .world import World

__all__ = ["CommitsJudge", "LinkJudge", "make_judge"]


@dataclass
class CommitsJudge(Judge):
    """Of mirrors that commit positions alone.

    What expires while the mirror is down and the agent looks is reported by
    `position`; what it drops, only an audit finds.
    """

    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """First ids of topics, by side and name."""

    replaced: set[str] = field(default_factory=set)

    def take(self, report: Report) -> None:
        self.note_topics()
        super().take(report)

    def note_topics(self) -> None:
        """Note which topics there are, and which are no more."""
        for side in (self.world.source, self.world.target):
            for name, topic in side.topics.items():
                self.ids.setdefault((side.alias, name), topic.id)
            for (alias, name), first in self.ids.items():
                found = side.topics.get(name)
                if alias == side.alias and (
                    found is None or found.id != first
                ):
                    self.replaced.add(name)

    def _losses_are_told(
        self,
        by_check: dict[str, Verdict],
        skips: SkipsObservation | None,
        position: PositionObservation | None,
    ) -> None:
        world, now = self.world, self.world.schedule.elapsed
        could_see = max(self.calm_since, world.agent.started_at)
        since = self.stopped_since
        if position is None or since is None:
            return
        told = _told_by_position(position)
        lost: Counter[tuple[str, int]] = Counter()
        for loss in world.oracle.losses:
            if loss.gone and loss.at > since and not loss.record.unseen:
                lost[loss.key] += loss.record.kind is Kind.DATA
        for key, count in lost.items():
            newest = world.oracle.last_loss_of(key)
            if (
                now - max(newest, could_see) <= self.bound
                or key in self.unseen
                or key[0] in self.replaced
                or key[0] not in world.source.topics
                or by_check["position"].health is Health.UNKNOWN
            ):
                continue
            if told[key[0]] < count:
                self._fail(
                    f"{count} records of {key} expired while the mirror is "
                    f"down, and {told[key[0]]} are reported"
                )


def _told_by_position(position: PositionObservation) -> Counter[str]:
    told: Counter[str] = Counter()
    for reset in position.resets:
        told[reset.topic] += reset.count + (reset.gone or 0)
    return told


@dataclass
class LinkJudge(Judge):
    """Of mirrors that keep offsets: ends show what expired, and no gaps."""

    def _losses_are_told(
        self,
        by_check: dict[str, Verdict],
        skips: SkipsObservation | None,
        position: PositionObservation | None,
    ) -> None:
        assert skips is None
        if position is not None:
            kinds = {reset.kind for reset in position.resets}
            if ResetKind.REWIND in kinds and "truncate" not in self.steps:
                self._fail("no log of the target was truncated")
            none = SkipsObservation(flow="", at=position.at, partitions=0)
            super()._losses_are_told(by_check, none, position)


def make_judge(
    kind: str,
    world: World,
    interval: float,
    steps: frozenset[str],
    number: int,
) -> Judge:
    """Return what holds a world to what its mirror can prove."""
    traits = traits_of(kind)
    make = Judge
    if traits.only_commits:
        make = CommitsJudge
    elif traits.keeps_offsets:
        make = LinkJudge
    return make(world, interval, steps, number)
