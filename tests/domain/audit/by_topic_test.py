"""What nights compare of a mirror that does not keep partitions."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.domain.audit.by_topic import (
    plan_topic_night,
    plan_topic_window,
)
from mirrorwatch.domain.audit.facts import (
    AuditFound,
    FirstSince,
    Log,
    PairedLogs,
    Question,
    SourceLog,
)
from mirrorwatch.domain.audit.nightly import NightlyInputs, plan_night
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    CopyProfile,
    PartitionPair,
    Plan,
    TimeWindow,
    ends_after,
)
from mirrorwatch.domain.audit.ranges import PlanningOutcome
from mirrorwatch.domain.audit.window import AdHoc
from tests.support.audit_spark import SETTLE, a_copied_world, looking, pair_of
from tests.support.builders import NOON

BY_TOPIC = CopyProfile(partitions=False)
SLACK = timedelta(minutes=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@dataclass
class Topic:
    """Two source partitions that are copied to three at the target."""

    now: datetime = NOON
    timestamps: bool = True
    starts_at_end: bool | None = None
    compacted: bool = False
    sources: list[list[datetime]] = field(default_factory=lambda: [[], []])
    targets: list[list[datetime]] = field(default_factory=lambda: [[], [], []])
    starts: dict[str, list[int]] = field(
        default_factory=lambda: {"source": [0, 0], "target": [0, 0, 0]}
    )
    ids: dict[str, str] = field(
        default_factory=lambda: {"source": "s", "target": "t"}
    )
    copied: list[int] = field(default_factory=lambda: [0, 0])
    committed: list[int | None] = field(default_factory=lambda: [None, None])
    ends: AuditedEnds = field(default_factory=AuditedEnds)

    def write(self, count: int, *, copy: bool = True) -> None:
        """Write records a minute apart, and copy them to any partition."""
        for _ in range(count):
            self.now += MINUTE
            number = len(self.sources[0]) + len(self.sources[1])
            self.sources[number % 2].append(self.now)
            if copy:
                self.copy()

    def copy(self, *, commit: bool = True) -> None:
        for partition, written in enumerate(self.sources):
            for at in written[self.copied[partition] :]:
                number = sum(map(len, self.targets))
                stamp = at if self.timestamps else self.now
                self.targets[number % 3].append(stamp)
            self.copied[partition] = len(written)
        if commit:
            self.committed = list(self.copied)

    def parts(self, *, steady: bool = True) -> list[PairedLogs]:
        return [
            PairedLogs(
                flow="flow",
                topic="t",
                cluster="ldf",
                topic_partition=("t", n),
                sources=()
                if n == 2
                else (
                    SourceLog(
                        flow="flow",
                        log=self._log("source", n),
                        steady=steady,
                        position=self.committed[n],
                    ),
                ),
                target=self._log("target", n),
                timestamps=self.timestamps,
                compacted=self.compacted,
                starts_at_end=self.starts_at_end,
                copies=BY_TOPIC,
            )
            for n in range(3)
        ]

    def night(self, *, steady: bool = True) -> list[PlanningOutcome]:
        night = NightlyInputs(
            now=self.now,
            settle=SETTLE,
            slack=SLACK,
            ends=self.ends.by_partition(),
        )
        look = looking(self.answer)
        outcomes = plan_topic_night(look, self.parts(steady=steady), night)
        plan = Plan(
            id="night", at=self.now, window=None, pairs=tuple(pairs(outcomes))
        )
        self.ends = ends_after(plan, self.ends)
        return outcomes

    def answer(
        self, questions: Collection[Question]
    ) -> Mapping[Question, AuditFound]:
        return {question: self._answer(question) for question in questions}

    def _log(self, side: str, n: int) -> Log:
        logs = self.sources if side == "source" else self.targets
        return Log(
            side="source" if side == "source" else "target",
            cluster=side,
            topic_partition=("t", n),
            topic_id=self.ids[side],
            retained=AuditSpan(self.starts[side][n], len(logs[n])),
        )

    def _answer(self, question: Question) -> AuditFound:
        side, n = question.log.side, question.log.topic_partition[1]
        log = (self.sources if side == "source" else self.targets)[n]
        for offset in range(self.starts[side][n], len(log)):
            if isinstance(question, FirstSince):
                fits = log[offset] >= question.time
            else:
                fits = offset >= question.offset
            if fits:
                return AuditFound(offset, log[offset])
        return AuditFound(None)


def pairs(outcomes: list[PlanningOutcome]) -> list[PartitionPair]:
    return [o.pair for o in outcomes if o.pair is not None]


def spans(outcomes: list[PlanningOutcome]) -> list[tuple[int, ...]]:
    """Return start and end at the source and at the target, by partition."""
    return [
        (s.span.start, s.span.end, p.span.start, p.span.end)
        for p in pairs(outcomes)
        for s in p.sources
    ]


def gaps(
    outcomes: list[PlanningOutcome],
) -> list[tuple[int | None, int | None]]:
    return [(u.partition, u.records) for o in outcomes for u in o.unverifiable]


def hours(outcomes: list[PlanningOutcome]) -> tuple[float, float]:
    """Return begin and end of what is compared, in hours since noon."""
    (found,) = {pair.hours for pair in pairs(outcomes)}
    assert found is not None
    begin, end = ((t - NOON) / HOUR for t in (found.start, found.end))
    return begin if found.start.year > 1970 else -math.inf, end


def test_nights_go_on_by_whole_hours() -> None:
    topic = Topic(starts_at_end=False)
    topic.write(200)
    first = topic.night(steady=False)
    # What is settled is older than a quarter of an hour.
    assert hours(first) == (-math.inf, 3)
    assert spans(first) == [(0, 100, 0, 67), (0, 100, 0, 67), (0, 0, 0, 66)]
    topic.write(100)
    second = topic.night(steady=False)
    assert hours(second) == (3, 4)
    # The record of the third hour is the first that is read again.
    assert spans(second)[0] == (90, 150, 60, 100)
    assert gaps(first) == gaps(second) == []
    third = topic.night()
    assert hours(third) == (4, 4)


@pytest.mark.parametrize(("waits", "until"), [(60, 3), (61, 2), (200, 0)])
def test_they_end_before_what_the_mirror_has_not_copied(
    waits: int, until: int
) -> None:
    topic = Topic(starts_at_end=False)
    topic.write(240 - waits)
    topic.write(waits, copy=False)
    topic.committed = list(topic.copied)
    assert hours(topic.night(steady=False))[1] == until


@pytest.mark.parametrize(
    ("starts_at_end", "begin", "told"),
    [(None, 1, 1), (True, 1, 0), (False, -math.inf, 0)],
)
def test_where_it_began_is_not_known_the_oldest_copy_shows_it(
    *, starts_at_end: bool | None, begin: float, told: int
) -> None:
    topic = Topic(starts_at_end=starts_at_end)
    topic.write(30, copy=False)
    topic.copied = [15, 15]  # what was there is never read
    topic.write(210)
    night = topic.night()
    assert hours(night) == (begin, 3)
    assert gaps(night) == [(None, None)] * told


@pytest.mark.parametrize("lost", ["source", "target", "ids", "shorter"])
def test_what_is_lost_of_one_partition_is_lost_of_all(lost: str) -> None:
    topic = Topic(starts_at_end=False)
    topic.write(200)
    topic.night()
    topic.write(200)
    match lost:
        case "source":
            topic.starts["source"][1] = 110
        case "target":
            topic.starts["target"][2] = 80
        case "ids":
            topic.ids["target"] = "another"
        case _:
            topic.targets[0] = topic.targets[0][:10]
    night = topic.night()
    assert gaps(night) == [(None, None)]
    if lost in ("source", "target"):
        # From a minute after the oldest record that is left there.
        assert hours(night) == (4 if lost == "source" else 5, 6)
    topic.write(100)
    assert gaps(topic.night()) == []


def test_a_mirror_that_kept_partitions_before_begins_anew() -> None:
    topic = Topic(starts_at_end=False)
    topic.write(200)
    topic.night()
    ends = (replace(end, by_topic=False) for end in topic.ends.ends)
    topic.ends = AuditedEnds(tuple(ends))
    assert gaps(topic.night()) == [(None, None)]


def test_what_cannot_be_compared() -> None:
    for topic in (Topic(compacted=True), Topic(timestamps=False)):
        topic.write(60)
        assert spans(topic.night()) == []
        assert gaps(topic.night()) == [(0, 30), (1, 30)]


def test_what_has_no_target_stays_where_it_was() -> None:
    topic = Topic()
    topic.write(60, copy=False)
    parts = [replace(part, target=None) for part in topic.parts()[:2]]
    night = NightlyInputs(now=topic.now, settle=SETTLE, slack=SLACK, ends={})
    outcomes = plan_topic_night(looking(topic.answer), parts, night)
    assert (pairs(outcomes), gaps(outcomes)) == ([], [(0, 30), (1, 30)])


def test_a_window_is_that_of_each_log() -> None:
    topic = Topic()
    topic.write(60)
    window = TimeWindow(NOON + 10 * MINUTE, NOON + 20 * MINUTE)
    adhoc = AdHoc(now=topic.now, window=window, slack=timedelta())
    outcomes = plan_topic_window(looking(topic.answer), topic.parts(), adhoc)
    assert sum(len(p.sources[0].span) for p in pairs(outcomes)) == 10
    assert sum(len(p.span) for p in pairs(outcomes)) in range(9, 12)
    assert {pair.hours for pair in pairs(outcomes)} == {None}
    topic.timestamps = False
    outcomes = plan_topic_window(looking(topic.answer), topic.parts(), adhoc)
    assert gaps(outcomes) == [(0, 30), (1, 30)]


def test_a_mirror_that_keeps_offsets_is_cut_at_the_same_one() -> None:
    world = a_copied_world(600, syncs_every=None, starts_at_end=False)
    world.now -= timedelta(hours=1)
    facts = world.freeze(write=5)
    facts = replace(facts, copies=CopyProfile(offsets=True))
    night = NightlyInputs(now=world.now, settle=MINUTE, slack=SLACK, ends={})
    outcome = plan_night(looking(world.answer), facts, night)
    pair = pair_of(outcome)
    assert pair.cut == "offset"
    assert pair.span == pair.sources[0].span
    assert len(pair.span) in range(500, 600)
