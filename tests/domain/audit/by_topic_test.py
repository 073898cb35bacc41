"""What nights compare of a mirror that does not keep partitions."""

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
    run_batched,
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
from tests.support.audit_spark import SETTLE, a_copied_world, pair_of
from tests.support.builders import NOON

BY_TOPIC = CopyProfile(partitions=False)
SLACK = timedelta(minutes=1)
MINUTE = timedelta(minutes=1)


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
                        read_committed=None,
                        decided=len(self.sources[n]),
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
        steps = plan_topic_night(self.parts(steady=steady), night)
        (outcomes,) = run_batched([steps], self.answer)
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


def test_a_topic_that_rests_is_compared_to_all_of_its_ends() -> None:
    topic = Topic(starts_at_end=False)
    topic.write(60)
    topic.now += timedelta(hours=1)
    first = topic.night()
    assert spans(first) == [(0, 30, 0, 20), (0, 30, 0, 20), (0, 0, 0, 20)]
    assert {pair.cut for pair in pairs(first)} == {"idle"}
    topic.write(6)
    topic.now += timedelta(hours=1)
    second = topic.night()
    assert spans(second) == [
        (30, 33, 20, 22),
        (30, 33, 20, 22),
        (0, 0, 20, 22),
    ]
    assert gaps(first) == gaps(second) == []


def test_one_that_never_rests_is_cut_by_time_in_all_partitions() -> None:
    topic = Topic(starts_at_end=False)
    topic.write(60)
    night = topic.night(steady=False)
    # What is settled is older than a quarter of an hour.
    first = pairs(night)
    assert {pair.cut for pair in first} == {"timestamp"}
    assert sum(len(p.sources[0].span) for p in first) == 44
    assert sum(len(p.span) for p in first) in range(42, 47)
    topic.write(60)
    second = pairs(topic.night(steady=False))
    assert [p.span.start for p in second] == [p.span.end for p in first]


def test_where_it_began_is_not_known_the_oldest_copy_shows_it() -> None:
    topic = Topic()
    topic.write(10, copy=False)
    topic.copied = [5, 5]  # what was there is never read
    topic.write(20)
    topic.now += timedelta(hours=1)
    night = topic.night()
    # The slack of a minute after the first copy, which is of the 11th.
    assert [s[:2] for s in spans(night)] == [(6, 15), (5, 15), (0, 0)]
    assert gaps(night) == [(0, 6), (1, 5)]


def asked_from(outcomes: list[PlanningOutcome]) -> list[int]:
    return [s.asked_from for p in pairs(outcomes) for s in p.sources]


def test_what_a_group_had_passed_before_its_first_copy_may_be_skipped() -> (
    None
):
    topic = Topic()
    topic.write(10, copy=False)
    # A consumer group commits where it begins.
    topic.copied, topic.committed = [5, 5], [5, 5]
    topic.now += timedelta(hours=1)
    night = topic.night()
    assert [s[:2] for s in spans(night)] == [(0, 5), (0, 5), (0, 0)]
    assert asked_from(night) == [5, 5, 0]
    topic.write(10)
    topic.now += timedelta(hours=1)
    assert asked_from(topic.night()) == [0, 0, 0]


def test_without_timestamps_it_is_cut_at_the_positions() -> None:
    topic = Topic(timestamps=False, starts_at_end=False)
    topic.write(60)
    topic.write(3, copy=False)
    topic.copy(commit=False)
    night = topic.night(steady=False)
    assert spans(night) == [(0, 30, 0, 21), (0, 30, 0, 21), (0, 0, 0, 21)]
    assert {pair.cut for pair in pairs(night)} == {"position"}
    # What is behind may be the record of any copy.
    assert pairs(night)[0].sources[0].retained.end == 32


@pytest.mark.parametrize("lost", ["source", "target", "ids", "shorter"])
def test_what_is_lost_of_one_partition_is_lost_of_all(lost: str) -> None:
    topic = Topic(starts_at_end=False)
    topic.write(60)
    topic.now += timedelta(hours=1)
    topic.night()
    topic.write(30)
    topic.now += timedelta(hours=1)
    match lost:
        case "source":
            topic.starts["source"][1] = 35
        case "target":
            topic.starts["target"][2] = 25
        case "ids":
            topic.ids["target"] = "another"
        case _:
            topic.targets[0] = topic.targets[0][:10]
    night = topic.night()
    assert [partition for partition, _ in gaps(night)[:2]] == [0, 1]
    if lost == "source":
        # From a minute after the oldest record that is left.
        assert spans(night)[1][:2] == (36, 45)
        assert gaps(night)[:2] == [(0, 6), (1, 6)]


def test_what_cannot_be_compared() -> None:
    topic = Topic(compacted=True)
    topic.write(60)
    assert spans(topic.night()) == []
    assert gaps(topic.night()) == [(0, 30), (1, 30)]
    # Nothing shows where copies of what is left begin.
    topic = Topic(timestamps=False)
    topic.write(60)
    assert gaps(topic.night(steady=False)) == [(0, 30), (1, 30)]


def test_what_may_have_been_skipped_of_a_window_need_not_be_copied() -> None:
    topic = Topic()
    topic.write(10, copy=False)
    topic.copied = [5, 5]
    topic.write(20)
    window = TimeWindow(NOON, NOON + timedelta(hours=1))
    adhoc = AdHoc(now=topic.now, window=window, slack=timedelta())
    for starts_at_end, due in ((None, [5, 5, 0]), (False, [0, 0, 0])):
        topic.starts_at_end = starts_at_end
        (outcomes,) = run_batched(
            [plan_topic_window(topic.parts(), adhoc)], topic.answer
        )
        assert [s[:2] for s in spans(outcomes)][:2] == [(0, 15), (0, 15)]
        assert asked_from(outcomes) == due


def test_a_window_is_that_of_each_log() -> None:
    topic = Topic()
    topic.write(60)
    window = TimeWindow(NOON + 10 * MINUTE, NOON + 20 * MINUTE)
    adhoc = AdHoc(now=topic.now, window=window, slack=timedelta())
    (outcomes,) = run_batched(
        [plan_topic_window(topic.parts(), adhoc)], topic.answer
    )
    assert sum(len(p.sources[0].span) for p in pairs(outcomes)) == 10
    assert sum(len(p.span) for p in pairs(outcomes)) in range(9, 12)
    topic.timestamps = False
    (outcomes,) = run_batched(
        [plan_topic_window(topic.parts(), adhoc)], topic.answer
    )
    assert gaps(outcomes) == [(0, 30), (1, 30)]


def test_a_mirror_that_keeps_offsets_is_cut_at_the_same_one() -> None:
    world = a_copied_world(600, syncs_every=None, starts_at_end=False)
    world.now -= timedelta(hours=1)
    facts = world.freeze(write=5)
    facts = replace(facts, copies=CopyProfile(offsets=True))
    night = NightlyInputs(now=world.now, settle=MINUTE, slack=SLACK, ends={})
    (outcome,) = run_batched([plan_night(facts, night)], world.answer)
    pair = pair_of(outcome)
    assert pair.cut == "offset"
    assert pair.span == pair.sources[0].span
    assert len(pair.span) in range(500, 600)
