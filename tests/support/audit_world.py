"""One partition that a mirror copies, in memory, and what an audit plans."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mirrorwatch.domain.audit.facts import (
    AuditFound,
    Feed,
    FirstSince,
    LaneFacts,
    Log,
    Question,
    run_batched,
)
from mirrorwatch.domain.audit.nightly import NightlyInputs, plan_night
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    Lane,
    Plan,
    ends_after,
)
from mirrorwatch.domain.audit.ranges import PlanningOutcome

from .builders import NOON

__all__ = ["SETTLE", "SLACK", "World", "a_copied_world", "lane_of"]

SETTLE = timedelta(minutes=15)
SLACK = timedelta(hours=6)


@dataclass
class World:
    """A source partition, its mirror and its target partition."""

    timestamps: bool = True
    syncs_every: int | None = 3
    now: datetime = NOON
    source: list[datetime | None] = field(default_factory=list)
    """Timestamps of records by offset; `None` for a marker."""

    target: list[int] = field(default_factory=list)
    """Source offsets of copies, by target offset."""

    stamps: list[datetime] = field(default_factory=list)
    """Timestamps at the target."""

    position: int = 0
    """Next source offset that the mirror reads."""

    read_committed: bool | None = False
    """Whether the mirror is known to leave out aborted records, or not to."""

    starts_at_end: bool | None = False
    """Whether the mirror is known to skip what a partition held."""

    aborted: set[int] = field(default_factory=set)
    """Source offsets that readers of committed records do not see."""

    decided: int | None = None
    """Where a transaction is open at the source."""

    dropped: set[int] = field(default_factory=set)
    """Source offsets that were read and not copied."""

    committed: int | None = None
    syncs: list[tuple[int, int]] = field(default_factory=list)
    source_start: int = 0
    target_start: int = 0
    ids: tuple[str, str] = ("source", "target")
    ends: AuditedEnds = field(default_factory=AuditedEnds)

    def write(self, count: int, *, early: timedelta = timedelta()) -> None:
        """Write records, one a second."""
        for _ in range(count):
            self.now += timedelta(seconds=1)
            self.source.append(self.now - early)

    def mark(self) -> None:
        """Write a transaction's marker."""
        self.source.append(None)

    def copy(self, count: int) -> None:
        """Copy the next records."""
        for _ in range(count):
            while (
                self.position < len(self.source)
                and self.source[self.position] is None
            ):
                self.position += 1
            if self.position >= len(self.source):
                return
            written_at = self.source[self.position]
            assert written_at is not None
            pair = (self.position, len(self.target))
            if self.syncs_every and len(self.target) % self.syncs_every == 0:
                self.syncs.append(pair)
            self.target.append(self.position)
            self.stamps.append(written_at if self.timestamps else self.now)
            self.position += 1

    def drop(self, count: int) -> None:
        """Read records without copying them."""
        end = min(self.position + count, len(self.source))
        self.dropped |= set(range(self.position, end))
        self.position = end

    def commit(self) -> None:
        """Commit the position, as MirrorMaker 2 does: behind the last copy."""
        if self.target:
            self.committed = self.target[-1] + 1

    def do(self, deed: str, count: int) -> None:
        """Do something by its name, so many times."""
        match deed:
            case "write":
                self.write(count)
            case "late":
                self.write(1, early=timedelta(minutes=count))
            case "copy":
                self.copy(count)
            case "mark":
                self.mark()
            case "commit":
                self.commit()
            case "drop":
                self.drop(count)
            case "rewind":
                self.position = max(0, self.position - count)
            case "wait":
                self.now += timedelta(seconds=count)
            case "expire source":
                self.source_start = min(
                    self.source_start + count, self.position, len(self.source)
                )
            case _:
                self.target_start = min(
                    self.target_start + count, len(self.target)
                )

    def freeze(self, *, write: int = 0, copy: int = 0) -> LaneFacts:
        """Freeze offsets, while records are written and copied."""
        end = len(self.source)
        self.write(write)
        self.copy(copy)
        syncs = tuple(self.syncs)
        known = [self.committed, syncs[-1][0] + 1 if syncs else None]
        self.copy(copy)
        return LaneFacts(
            cluster="ldf",
            place=("t", 0),
            feeds=(
                Feed(
                    flow="flow",
                    log=self._log("source", end),
                    steady=write == 0,
                    position=max(
                        (p for p in known if p is not None), default=None
                    ),
                    syncs=tuple(s for s in syncs if s[0] >= self.source_start),
                    read_committed=self.read_committed,
                    decided=end
                    if self.read_committed is None and self.decided is None
                    else self.decided,
                ),
            ),
            goal=self._log("target", len(self.target)),
            timestamps=self.timestamps,
            starts_at_end=self.starts_at_end,
        )

    def night(self, *, write: int = 0, copy: int = 0) -> PlanningOutcome:
        """Plan a night, and take it for carried out."""
        night = NightlyInputs(
            now=self.now,
            settle=SETTLE,
            slack=SLACK,
            ends=self.ends.by_place(),
        )
        lane = self.freeze(write=write, copy=copy)
        (outcome,) = run_batched([plan_night(lane, night)], self.answer)
        plan = Plan(
            id="night",
            at=self.now,
            window=None,
            lanes=() if outcome.lane is None else (outcome.lane,),
        )
        self.ends = ends_after(plan, self.ends)
        return outcome

    def answer(
        self, questions: Collection[Question]
    ) -> Mapping[Question, AuditFound]:
        return {question: self._answer(question) for question in questions}

    def sides(self, lane: Lane) -> tuple[list[int], list[int]]:
        """Return the source offsets of what is compared, on both sides."""
        (source,) = lane.sources
        return (
            [o for o in _range(source.span) if self.source[o] is not None],
            [self.target[o] for o in _range(lane.span)],
        )

    def _log(self, side: str, end: int) -> Log:
        source = side == "source"
        start = self.source_start if source else self.target_start
        return Log(
            side="source" if source else "target",
            cluster=side,
            place=("t", 0),
            topic_id=self.ids[not source],
            retained=AuditSpan(start, end),
        )

    def _answer(self, question: Question) -> AuditFound:
        source = question.log.side == "source"
        stamps = self.source if source else self.stamps
        start = self.source_start if source else self.target_start
        if isinstance(question, FirstSince):
            wanted = (
                offset
                for offset in range(start, len(stamps))
                if (at := stamps[offset]) is not None and at >= question.time
            )
        else:
            wanted = (
                offset
                for offset in range(question.offset, len(stamps))
                if stamps[offset] is not None
                and not (question.read_committed and offset in self.aborted)
            )
        found = next(wanted, None)
        return AuditFound(found, None if found is None else stamps[found])


def a_copied_world(count: int = 30, **settings: object) -> World:
    """Return a world that rests, with some records that were all copied."""
    world = World(**settings)  # type: ignore[arg-type]
    world.write(count)
    world.copy(count)
    world.commit()
    world.now += timedelta(hours=1)
    return world


def lane_of(outcome: PlanningOutcome) -> Lane:
    """Return what is compared, of a plan that compares something."""
    assert outcome.lane is not None
    return outcome.lane


def _range(span: AuditSpan) -> range:
    return range(span.start, span.end)
