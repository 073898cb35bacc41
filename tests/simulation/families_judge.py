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
from .judge import LOST_WINDOW, MINUTE, Judge
from .world import CANARY, World

__all__ = ["CopiesJudge", "LinkJudge", "TopicsJudge", "make_judge"]


@dataclass
class TopicsJudge(Judge):
    """Of mirrors that commit positions alone: topics are compared at rest.

    What expires while the mirror is down and the agent looks is reported by
    `position`; all else when the topic rests.
    """

    proved: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Most records of a topic that were called missing, and since when."""

    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """First ids of topics, by side and name."""

    replaced: set[str] = field(default_factory=set)
    """Topics that were deleted: what was compared begins anew."""

    at_rest: SkipsObservation | None = None
    """What comparing topics said last."""

    position: PositionObservation | None = None
    """What was last said of positions."""

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

    def _never_more_skips(self, skips: SkipsObservation) -> None:
        self.at_rest = skips
        for topic, tally in skips.tallies:
            ever = self._ever_of(topic)
            if tally.skipped > ever:
                self._fail(
                    f"{tally.skipped} records of {topic} are called missing, "
                    f"{ever} were ever lost"
                )
            # Whether an offset was a record shows only while it is there.
            gapped = any(key[0] == topic for key in self.world.oracle.gapped)
            if tally.unverifiable > ever and not gapped:
                self._fail(
                    f"{tally.unverifiable} records of {topic} are called "
                    f"unverifiable, {ever} were ever lost"
                )
            # Copies of records that the source lost again are surplus, too.
            cut = any(name == topic for name, _ in self.world.truncated)
            if tally.repeated > self._hidden_in(topic) and not (
                cut or topic in self.replaced
            ):
                self._fail(
                    f"{tally.repeated} records of {topic} are called surplus"
                )

    def _ever_of(self, topic: str) -> int:
        oracle = self.world.oracle
        keys = oracle.ever.keys() | oracle.unwanted.keys()
        return sum(oracle.ever_of(key) for key in keys if key[0] == topic)

    def _losses_are_told(
        self,
        by_check: dict[str, Verdict],
        skips: SkipsObservation | None,
        position: PositionObservation | None,
    ) -> None:
        """What expired while the mirror is down is reported by `position`."""
        self.position = position
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
                or key not in world.oracle.begun
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

    def _proofs_stay(
        self, verdict: Verdict, skips: SkipsObservation | None
    ) -> None:
        """What was called missing is not called less, and told for long."""
        now = self.world.schedule.elapsed
        for topic, tally in skips.tallies if skips else ():
            most, since = self.proved.get(topic, (0, 0.0))
            if tally.skipped > most:
                self.proved[topic] = tally.skipped, now
            elif tally.skipped < most or (
                most
                and now - since < LOST_WINDOW - MINUTE
                and verdict.health in {Health.OK, Health.OFF}
                and "clock steps" not in self.steps
            ):
                self._fail(f"{most} records of {topic} were called missing")

    def finish(self) -> None:
        super().finish()
        assert self.at_rest is not None
        assert self.position is not None
        told = _told_by_position(self.position)
        for topic, tally in self.at_rest.tallies:
            told[topic] += tally.skipped + tally.unverifiable
        by_check = self.world.agent.verdicts
        healths = {by_check[c].health for c in ("skips", "position")}
        for topic, count in self._lost().items():
            lost = count - self._hidden_in(topic)
            if lost <= 0 or topic == CANARY or not self._rests(topic):
                continue
            if topic in self.replaced:
                continue
            if told[topic] < lost:
                self._fail(
                    f"{count} records of {topic} are lost, {lost} of them "
                    f"show, and {told[topic]} are reported"
                )
            if self.calm_since < LOST_WINDOW / 2 and (
                healths <= {Health.OK, Health.OFF}
            ):
                self._fail(f"{lost} records of {topic} are lost, all is ok")

    def _lost(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for loss in self.world.oracle.losses:
            if not loss.record.unseen and loss.record.kind is Kind.DATA:
                found[loss.key[0]] += 1
        return found

    def _hidden_in(self, topic: str) -> int:
        """Return how many losses the target has room to hide: duplicates, what
        others wrote, and transactions, which count on one side alone.
        """
        found = self.world.target.topics.get(self.world.remote(topic))
        ends = sum(log.end for log in found.logs) if found else 0
        return ends - self.world.oracle.firsts[topic]

    def _rests(self, topic: str) -> bool:
        """Return whether all of a topic is committed."""
        world = self.world
        found = world.source.topics.get(topic)
        return found is not None and all(
            world.mirror.committed.get((topic, n), -1) == log.end - 1
            and (topic, n) not in world.truncated
            for n, log in enumerate(found.logs)
        )


def _told_by_position(position: PositionObservation) -> Counter[str]:
    told: Counter[str] = Counter()
    for reset in position.resets:
        if reset.kind in {ResetKind.EXPIRED, ResetKind.UNVERIFIED}:
            told[reset.topic] += reset.count
        else:
            told[reset.topic] += reset.count + reset.gone
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


@dataclass
class CopiesJudge(Judge):
    """Of mirrors whose newest copies show what they skip."""

    def _may_stay_unknown(self, check: str) -> bool:
        # Of what is altered no copy is found.
        checks = {"lag", "position", "skips", "retention"}
        return check in checks and self.world.mirror.settings.alters


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
    if traits.only_commits and not traits.finds_copies:
        make = TopicsJudge
    elif traits.keeps_offsets:
        make = LinkJudge
    elif traits.finds_copies:
        make = CopiesJudge
    return make(world, interval, steps, number)
