"""What must hold of consumer groups in any world.

What is true of each is worked out of both logs, record by record: each copy
knows its record.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from mirrorwatch.domain.checkpoints import CheckpointsObservation
from mirrorwatch.domain.failover.check import FailoverObservation, GroupStart
from mirrorwatch.domain.position.model import (
    PositionObservation,
    ResetKind,
    resets_of,
)
from mirrorwatch.domain.readers.model import ReadersObservation
from mirrorwatch.domain.report import Health, Report, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation

from .cluster import Kind, Log
from .groups import Checkpoint, Groups, Place, SimReader, read_syncs
from .judge import MINUTE, Judge, ViolationError, find_fact
from .mirrormaker import SYNCS
from .world import World

__all__ = ["Cost", "GroupsJudge", "cost_of"]

OLD = 5 * MINUTE
"""Age of facts from which all three checks must be unknown."""

STOPPED = 5 * MINUTE


GONE = {"target topic is deleted", "copies are truncated"}
"""Steps that leave groups without a start for good."""


class Cost(NamedTuple):
    """What becomes of a group that goes on at an offset of the target."""

    missed: int
    """Records that it has not read, all of whose copies are before that."""

    repeated: int
    """Records that it reads again from there on: what it has read at the
    source, and what was copied there more than once."""


def cost_of(
    world: World,
    place: tuple[str, int],
    committed: int,
    start: int,
    end: int | None = None,
) -> Cost:
    """Return what a start costs a group that has committed an offset, with
    the copies that the target held up to an end.
    """
    topic, partition = place
    log = world.source.log(topic, partition)
    copies = world.target.log(world.remote(topic), partition)
    if log is None or copies is None:
        return Cost(0, 0)
    where = {id(r): n for n, r in log.span(log.start, log.end)}
    passed: set[int] = set()
    reached: set[int] = set()
    again: set[int] = set()
    for at, copy in copies.span(
        copies.start, copies.end if end is None else max(start, end)
    ):
        if copy.origin is None or copy.kind is not Kind.DATA:
            continue
        # What has expired at the source is known by its copy alone.
        offset = where.get(id(copy.origin[1]), -id(copy.origin[1]))
        if at < start:
            if offset >= committed:
                passed.add(offset)
        elif offset < committed or offset in reached:
            again.add(offset)
        else:
            reached.add(offset)
    return Cost(len(passed - reached), len(again))


@dataclass
class GroupsJudge:
    """Holds `failover`, `checkpoints` and `readers` to what is true.

    Notes
    -----
    Nothing is held to the agent within `patience` of a fault: groups are read
    every 15 s, and both sides every tick.
    """

    world: World
    groups: Groups
    base: Judge
    bad: dict[object, float] = field(default_factory=dict)
    due: dict[tuple[Place, Checkpoint], float] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)
    """When each cluster last answered the agent."""

    _syncs: dict[tuple[str, int], int] = field(default_factory=dict)
    _read_to: int = 0
    _ends: deque[tuple[float, dict[tuple[str, int], int]]] = field(
        default_factory=lambda: deque(maxlen=100)
    )

    @property
    def patience(self) -> float:
        """Seconds after which both sides and the groups were read again."""
        return 4 * self.base.interval + 2 * MINUTE

    def take(self, report: Report) -> None:
        """Judge one report."""
        self._note()
        by_check = {v.check: v for v in report.verdicts}
        failover = find_fact(report, FailoverObservation)
        self._old_facts_are_unknown(by_check)
        if failover is not None:
            self._starts_hold(by_check["failover"], failover)
            position = find_fact(report, PositionObservation)
            skips = find_fact(report, SkipsObservation)
            # Of what was written between a truncation and the next survey,
            # nobody knows how much it was.
            if position and not any(
                r.kind is ResetKind.BEYOND for r in resets_of(position, skips)
            ):
                self._recovery_holds(failover)
        self._checkpoints_hold(
            by_check["checkpoints"], find_fact(report, CheckpointsObservation)
        )
        self._readers_hold(
            by_check["readers"], find_fact(report, ReadersObservation)
        )

    def finish(self) -> None:
        """Judge the world after it was left alone."""
        settings = self.world.mirror.settings
        for check in ("failover", "checkpoints", "readers"):
            verdict = self.world.agent.verdicts[check]
            if check == "failover" and not settings.emits_syncs:
                continue
            if check != "readers" and GONE & self.base.steps:
                # What is gone every start misses, and no checkpoint goes
                # back: the task holds what it said to be newer.
                continue
            if check == "failover" and "foreign records" in self.base.steps:
                # They may be copies: until the group has passed as many, it
                # may have to start before them.
                continue
            if verdict.health not in {Health.OK, Health.OFF}:
                self._fail(f"{check} does not get well: {verdict.reason}")

    def _fail(self, text: str) -> None:
        said = [
            f"{s.at:7.0f} {s.check}: {s.health.name} {s.reason}"
            for s in self.world.agent.sayings
        ]
        raise ViolationError(
            f"{text}\nat {self.world.schedule.elapsed:.0f} s:\n"
            + self.world.describe(),
            "\n".join(said),
        )

    @property
    def _settled(self) -> float:
        """Return for how long nothing was done to the world or the agent."""
        agent = self.world.agent
        since = max(self.base.calm_since, agent.started_at, agent.frozen_until)
        return self.world.schedule.elapsed - since

    def _lasts(self, what: object, *, holds: bool) -> float:
        if not holds:
            self.bad.pop(what, None)
            return 0.0
        now = self.world.schedule.elapsed
        return now - self.bad.setdefault(what, now)

    def _note(self) -> None:
        world, now = self.world, self.world.schedule.elapsed
        for cluster in (world.source, world.target):
            if cluster.reachable:
                self.asked[cluster.alias] = now
        self._ends.append(
            (
                now,
                {
                    (name, n): log.end
                    for name in world.source.topics
                    if (copies := world.target.topics.get(world.remote(name)))
                    for n, log in enumerate(copies.logs)
                },
            )
        )
        log = world.source.log(SYNCS, 0)
        if log is None or self.groups.checkpoints is None:
            return
        for key, (upstream, _) in read_syncs(log, self._read_to):
            self._syncs[key] = upstream
        self._read_to = log.end
        newest = self.groups.checkpoints.newest
        due = {
            ((name, *key), found)
            for name, reader in self.groups.readers.items()
            for key, committed in reader.offsets.items()
            if (found := newest.get((name, world.remote(key[0]), key[1])))
            and found.upstream < self._syncs.get(key, -1) <= committed
        }
        self.due = {each: self.due.get(each, now) for each in due}

    def _old_facts_are_unknown(self, by_check: dict[str, Verdict]) -> None:
        """No check is ok that has not heard of a side for long."""
        for check in ("failover", "checkpoints", "readers"):
            for alias, at in self.asked.items():
                if check == "readers" and alias == "summit":
                    continue
                age = self.world.schedule.elapsed - at
                if (
                    min(age, self._settled) > OLD + self.patience
                    and by_check[check].health is Health.OK
                ):
                    self._fail(f"{alias} is away for {age:.0f} s: {check}")

    def _starts_hold(self, said: Verdict, seen: FailoverObservation) -> None:
        """No group misses a record at its start, or repeats more than told."""
        if self._settled < self.patience or said.health is Health.UNKNOWN:
            return
        named = {
            (each.group, each.start.place.topic, each.start.place.partition)
            for each in seen.starts
        }
        there = {
            (name, *key)
            for name, reader in self.groups.readers.items()
            for key in reader.offsets
            if self.world.mirror.carries(key[0])
            and key[0] in self.world.source.topics
            and key[0] not in self.world.source.denied
        }
        for place in there:
            if (
                self._lasts(("left out", place), holds=place not in named)
                > self.patience
            ):
                self._fail(f"{place} is left out")
        for each in seen.starts:
            self._start_holds(each)
        if said.health is Health.CRITICAL:
            self._is_urgent(seen)

    def _start_holds(self, found: GroupStart) -> None:
        place, chosen = found.start.place, found.start.chosen
        key = place.topic, place.partition
        # What has been copied since the agent looked, it could not count.
        before = 2 * self.base.interval + MINUTE
        now = self.world.schedule.elapsed
        ends = next(
            (e for t, e in reversed(self._ends) if now - t >= before), {}
        )
        log = self.world.source.log(*key)
        if (
            chosen is None
            or place.committed is None
            or key not in ends
            or log is None
            or log.start > place.committed
        ):
            return
        true = cost_of(
            self.world, key, place.committed, chosen.offset, ends[key]
        )
        if true.missed and not chosen.missed:
            self._fail(f"{found.group} misses {true.missed}: {found.start}")
        if chosen.repeated is not None and true.repeated > chosen.repeated:
            self._fail(f"{found.group} repeats {true.repeated}: {found.start}")

    def _is_urgent(self, seen: FailoverObservation) -> None:
        source = self.groups.checkpoints
        newest = source.newest if source else {}
        for each in seen.missing:
            remote = self.world.remote(each.topic)
            found = newest.get((each.group, remote, each.partition))
            copies = self.world.target.log(remote, each.partition)
            offsets = self.groups.readers[each.group].offsets
            at = offsets.get((each.topic, each.partition))
            if found is None or copies is None or at is None or not each.moved:
                continue
            cost = cost_of(
                self.world, (each.topic, each.partition), at, found.downstream
            )
            if found.downstream <= copies.end and not cost.missed:
                self._fail(f"{each} has a start: {found}")

    def _recovery_holds(self, seen: FailoverObservation) -> None:
        """What is said to be complete is, and no less is lost than told."""
        point, world = seen.recovery, self.world
        if (
            point is None
            or self._settled < self.patience
            or not world.mirror.settings.emits_syncs  # drops only they show
        ):
            return
        lost = incomplete = 0
        at = point.at - world.schedule.step
        until = point.complete_until
        if until is not None:
            until -= world.schedule.step
        for name, topic in world.source.topics.items():
            if not world.mirror.carries(name) or name in world.source.denied:
                continue
            for log in topic.logs:
                times = self._uncopied(log)
                lost += sum(t <= at.timestamp() for t in times)
                if until is not None:
                    incomplete += sum(t <= until.timestamp() for t in times)
        steps = "clock steps" in self.base.steps
        if (
            self._lasts("lost", holds=lost > point.records and not steps)
            > self.patience
            and not point.unknown
        ):
            self._fail(f"{lost} records would be lost: {point}")
        if (
            self._lasts("incomplete", holds=bool(incomplete) and not steps)
            > self.patience
        ):
            self._fail(f"{incomplete} records are not copied: {point}")

    def _checkpoints_hold(
        self, said: Verdict, seen: CheckpointsObservation | None
    ) -> None:
        """A checkpoint is stale if a newer one is due, and only then."""
        source = self.groups.checkpoints
        if source is None or seen is None:
            return
        now = self.world.schedule.elapsed
        rounds = 3 * source.settings.interval + MINUTE
        for each in seen.overdue:
            group, topic, partition = each.place
            place = group, self.world.remote(topic), partition
            works = now - max(source.stood_until, source.started_at)
            if (
                works > rounds + source.settings.refresh + self.patience
                and self._settled > rounds + self.patience
                and source.settings.reloads
                and not GONE & self.base.steps  # its checkpoints never go back
            ):
                self._fail(f"{each} is current: {source.newest.get(place)}")
        for (place, _), since in self.due.items():
            reader = self.groups.readers[place[0]]
            moved = reader.read_at.get((place[1], place[2]), 0.0)
            if (
                min(now - since, self._settled) > rounds + 2 * self.patience
                and now - moved < MINUTE
                and said.health is Health.OK
            ):
                self._fail(f"the checkpoint of {place} is old: {since:.0f} s")

    def _readers_hold(
        self, said: Verdict, seen: ReadersObservation | None
    ) -> None:
        """A group is said to stand if it does, and only then."""
        stuck = {
            group.group
            for group in (seen.groups if seen else ())
            for topic in group.topics
            if topic.stuck and topic.stuck.total_seconds() > STOPPED
        }
        for name, sink in self.groups.sinks.items():
            stands = self._lasts(("stands", name), holds=self._waits(sink))
            if (
                min(stands, self._settled) > STOPPED + self.patience
                and said.health is Health.OK
            ):
                self._fail(f"{name} stands for {stands:.0f} s")
            reads = min(sink.reads_for, self._settled)
            if (
                said.health is Health.CRITICAL
                and name in stuck
                and reads > self.patience
            ):
                self._fail(f"{name} reads for {reads:.0f} s")

    def _waits(self, sink: SimReader) -> bool:
        """Return whether records wait for a group that does not read."""
        return not sink.reads and any(
            record.kind is Kind.DATA
            for key, at in sink.offsets.items()
            if (log := sink.cluster.log(*key)) is not None
            for _, record in log.span(at, log.end)
        )

    def _uncopied(self, log: Log) -> list[float]:
        oracle = self.world.oracle
        return [
            record.timestamp / 1000
            for _, record in log.span(log.start, log.stable_end)
            if not record.copied
            and record.kind is Kind.DATA
            and not record.in_transaction
            and not oracle.is_forgotten(record)
        ]
