"""What must hold in any world, whatever goes wrong in it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mirrorwatch.domain.copies.pair import LOSSES, EventKind
from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.position.model import (
    PositionObservation,
    Reset,
    ResetKind,
    resets_of,
)
from mirrorwatch.domain.report import Health, Report, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation

from .cluster import Kind
from .oracle import Key
from .topics_judge import FactsJudge
from .world import CANARY, World

__all__ = ["LOST_WINDOW", "MINUTE", "Judge", "ViolationError", "find_fact"]

T = TypeVar("T")

MINUTE, HOUR = 60.0, 3600.0

LOST_WINDOW = HOUR
"""How long a proved loss keeps its verdict critical, by default."""

AT_LEAST = 10**9

WITHOUT_LOSS = {
    "position.truncated": {
        "truncate",
        "end is stale",
        "source topic is deleted",
    },
    "position.target-recreated": {"target topic is deleted"},
    "position.recreated": {"source topic is deleted"},
    "position.offsets-deleted": {
        "offset is deleted",
        "offsets topic is deleted",
    },
}
"""Findings that are critical whatever comes of them, with the steps of which
they come."""

WHOLE = {"position.target-recreated", "position.offsets-deleted"}
"""Those that are not of single partitions."""

Named = tuple[Key, int, int]
"""A range of source offsets, the last one not included."""


class ViolationError(AssertionError):
    """A property does not hold.

    Parameters
    ----------
    text
        Which one, and what the agent says.
    account
        What the agent said before, and of what.
    """

    def __init__(self, text: str, account: str) -> None:
        super().__init__(text)
        self.account = account


@dataclass
class Judge:
    """Holds what the agent says to what the oracle knows.

    Notes
    -----
    Told within `bound` of a loss, of the last fault, and of the agent's start
    (two flush intervals, as a drop at the end of a partition is proved by
    what is committed later; the rest is surveys and their reading). A
    partition that was never copied waits for two topic refreshes more.
    """

    world: World
    interval: float
    steps: frozenset[str] = frozenset()
    number: int = 0
    calm_since: float = 0.0
    """When anything was last done to the world."""

    stopped_since: float | None = None
    waits_since: float | None = None
    lag_since: tuple[float, float] = (-1.0, 0.0)
    """When the agent was started, and since when it has known any lag: not
    before it reaches both clusters."""

    unseen: set[Key] = field(default_factory=set)
    """Partitions whose truncation nothing shows: the log had outgrown it
    before the agent saw its end again."""

    critical_since: dict[Key, float] = field(default_factory=dict)
    facts: FactsJudge | None = None
    seen: dict[object, float] = field(default_factory=dict)
    """What skips and position found, and when first."""

    _counted: Counter[str] = field(default_factory=Counter)
    """Records counted as lost, by topic."""

    _held: set[Named] = field(default_factory=set)
    """Ranges that were judged when they were first told."""

    @property
    def bound(self) -> float:
        """Seconds within which a loss is reported."""
        flush = self.world.mirror.settings.flush
        return 2 * flush + 10 * self.interval + 4 * MINUTE

    @property
    def calm(self) -> float:
        """Seconds after which all is well that was mended."""
        settings = self.world.mirror.settings
        return settings.refresh + 3 * max(settings.flush, MINUTE) + self.bound

    def take(self, report: Report) -> None:
        """Judge one report."""
        by_check = {v.check: v for v in report.verdicts}
        skips = find_fact(report, SkipsObservation)
        position = find_fact(report, PositionObservation)
        self._note_found(skips, position)
        self._note_unseen()
        self._no_crash(report)
        self._no_probe_lost(by_check["canary"])
        if skips is not None:
            self._never_more_skips(skips)
        if position is not None:
            self._never_more_expired(resets_of(position, skips))
        if skips is not None and position is not None:
            self._doubts_are_due(skips, position)
        self._no_false_critical(by_check)
        self._losses_are_told(by_check, skips, position)
        for seen in report.losses:
            self._totals_are_true(seen.counters)
        self._proofs_stay(by_check["skips"], skips)
        self._a_stop_is_told(by_check["lag"])
        if self.facts is not None and (why := self.facts.take(report)):
            self._fail(why)

    def _fail(self, text: str) -> None:
        raise ViolationError(
            f"{text}\nat {self.world.schedule.elapsed:.0f} s:\n"
            + self.world.describe(),
            self._account(),
        )

    def _note_found(
        self,
        skips: SkipsObservation | None,
        position: PositionObservation | None,
    ) -> None:
        found: list[object] = []
        if skips is not None:
            found += [*skips.events, *skips.foreign, *skips.out_of_range]
        if position is not None:
            found += position.resets
        now = self.world.schedule.elapsed
        for each in found:
            self.seen.setdefault(each, now)

    def _account(self) -> str:
        lost = Counter(
            (loss.at, f"{loss.key} lost, {'gone' if loss.gone else 'passed'}")
            for loss in self.world.oracle.losses
        )
        lines = [
            (at, f"{count} records of {what}")
            for (at, what), count in lost.items()
        ]
        lines += [(at, f"{what}") for what, at in self.seen.items()]
        lines += [
            (s.at, f"{s.check}: {s.health.name} {s.reason}")
            for s in self.world.agent.sayings
        ]
        return "\n".join(f"{at:7.0f} {what}" for at, what in sorted(lines))

    def _no_crash(self, report: Report) -> None:
        crashed = {k: n for k, n in report.agent.internal_errors.items() if n}
        if crashed:
            self._fail(f"parts of the agent crashed: {crashed}")

    def _no_probe_lost(self, canary: Verdict) -> None:
        if (
            "canary.lost" in canary.codes
            and not self.world.oracle.lost_of(CANARY)
            # With the end of its log probes are lost that were acknowledged.
            and all(topic != CANARY for topic, _ in self.world.truncated)
        ):
            self._fail("no probe is lost")

    def _never_more_skips(self, skips: SkipsObservation) -> None:
        told: Counter[Key] = Counter()
        for event, missing in skips.events:
            if event.kind in LOSSES:
                told[event.place] += missing
                ranges = [(first, last + 1) for first, last in event.ranges]
                self._are_lost(event.place, ranges, event.count)
        self._are_told_once(told)

    def _never_more_expired(self, resets: Iterable[Reset]) -> None:
        """Whatever is said to have expired did, and is told once, unless it is
        `at most`, or was no record: that shows only while it is there.
        """
        told: Counter[Key] = Counter()
        for reset in resets:
            named = _named(reset)
            if reset.kind is ResetKind.EXPIRED and named and not reset.at_most:
                key, first, end = named
                gaps = self.world.oracle.gaps.get(key, set())
                count = reset.count - sum(first <= n < end for n in gaps)
                told[key] += count
                self._are_lost(key, [(first, end)], count)
        self._are_told_once(told)

    def _are_lost(
        self, key: Key, ranges: Iterable[tuple[int, int]], count: int
    ) -> None:
        """So many offsets of some ranges were lost once: all, if they are
        named.
        """
        ever = set(self.world.oracle.ever_of(key))
        offsets = {n for first, end in ranges for n in range(first, end)}
        if len(offsets & ever) < min(count, len(offsets)):
            self._fail(
                f"{count} records of {key} are called lost in {ranges}, and "
                f"{len(offsets & ever)} ever were"
            )

    def _totals_are_true(self, counters: Mapping[str, LostRecords]) -> None:
        """Counters of lost records never fall, and never exceed the records
        that were lost, however often the agent was restarted.
        """
        oracle = self.world.oracle
        for topic, lost in counters.items():
            count = lost.records
            if count < self._counted[topic]:
                self._fail(f"records of {topic} are not lost any more")
            if count == self._counted[topic]:
                continue
            self._counted[topic] = count
            keys = {
                key
                for known in (oracle.ever, oracle.unwanted, oracle.gaps)
                for key in known
                if key[0] == topic
            }
            # Markers expire like records.
            ever = sum(
                len(oracle.ever_of(key)) + len(oracle.gaps.get(key, ()))
                for key in keys
            )
            if count > ever:
                self._fail(
                    f"{count} records of {topic} are counted as lost, {ever} "
                    "ever were"
                )

    def _are_told_once(self, told: Mapping[Key, int]) -> None:
        for key, count in told.items():
            ever = len(self.world.oracle.ever_of(key))
            if count > ever:
                self._fail(
                    f"{count} records of {key} are called lost, {ever} ever "
                    "were"
                )

    def _doubts_are_due(
        self, skips: SkipsObservation, position: PositionObservation
    ) -> None:
        """Nothing is `unverifiable` where nothing went wrong, and no more of
        it than between two syncs where all can be read.
        """
        for key, first, end in _doubtful(skips, position):
            if (key, first, end) in self._held:
                continue
            self._held.add((key, first, end))
            if not self.steps:
                self._fail(f"{key} is unverifiable, and nothing went wrong")
            clear = self._clear(key, first, end)
            if clear > self.world.mirror.settings.lag_max:
                self._fail(
                    f"{clear} of {end - first} offsets of {key} are "
                    f"unverifiable from {first} on, and were copied once"
                )

    def _clear(self, key: Key, first: int, end: int) -> int:
        log = self.world.source.log(*key)
        copies = self.world.target.log(self.world.remote(key[0]), key[1])
        if log is None or copies is None or self.world.mirror.settings.alters:
            return 0
        here = Counter(
            id(copy.origin[1])
            for _, copy in copies.span(copies.start, copies.end)
            if copy.origin is not None and copy.kind is Kind.DATA
        )
        return sum(
            record.kind is Kind.DATA and here[id(record)] == 1
            for _, record in log.span(first, end)
        )

    def _no_false_critical(self, by_check: dict[str, Verdict]) -> None:
        oracle = self.world.oracle
        if oracle.ever_lost:
            return
        if by_check["skips"].health is Health.CRITICAL:
            self._fail("skips is critical and nothing was ever lost")
        for finding in by_check["position"].findings:
            if finding.health is not Health.CRITICAL:
                continue
            if finding.code == "position.expired-unread":
                # Whether it was a record shows only while it is there.
                is_false = bool(finding.numbers["records"]) and not oracle.gaps
            else:
                is_false = not WITHOUT_LOSS.get(finding.code, set()) & (
                    self.steps
                )
            if is_false:
                self._fail(f"{finding.code} and nothing was ever lost")

    def _losses_are_told(
        self,
        by_check: dict[str, Verdict],
        skips: SkipsObservation | None,
        position: PositionObservation | None,
    ) -> None:
        """After the bound every lost record is covered: counted, or in a range
        that is called unverifiable. And not all is ok.
        """
        world, now = self.world, self.world.schedule.elapsed
        could_see = max(self.calm_since, world.agent.started_at)
        if now - could_see <= self.bound or skips is None or position is None:
            return
        said = by_check["skips"], by_check["position"]
        # It says that it cannot know, and not only of topics that it names.
        if any(
            finding.health is Health.UNKNOWN
            and finding.code != "skips.hidden-topics"
            for finding in said[0].findings
        ):
            return
        if WHOLE & {*said[1].codes} and said[1].health is Health.CRITICAL:
            return
        counted = _told_lost(skips, position)
        doubtful = defaultdict[Key, set[int]](set)
        for key, first, end in _doubtful(skips, position):
            doubtful[key].update(range(first, end))
        fresh = now - LOST_WINDOW + 2 * MINUTE + self.bound
        for key, offsets in world.oracle.lost_by(fresh).items():
            newest = world.oracle.last_loss_of(key)
            lost = [n for n in offsets if n not in doubtful[key]]
            hidden = self._hidden(key)
            if (
                now - max(newest, could_see) <= self.bound
                or key[0] not in world.source.topics
                or key in self.unseen
                or len(offsets) <= hidden
            ):
                continue
            told = counted[key] + counted[key[0], None]
            # Of what a broker hides, only that can be said.
            if told < len(lost) - hidden and key[0] not in world.source.denied:
                self._fail(
                    f"{len(lost)} records of {key} are lost, the last at "
                    f"{newest:.0f} s, and {told} are reported"
                )
            if {verdict.health for verdict in said} <= {Health.OK, Health.OFF}:
                self._fail(f"{lost} of {key} are lost, and all is ok")

    def _hidden(self, key: Key) -> int:
        """Return how many records nothing shows to be dropped.

        In a compacted topic an offset without a record may be that of a copy
        which a newer one of its key has replaced, or of a marker of the
        mirror's transactions, one for each poll: both look alike. What is
        read at once was written between two surveys.
        """
        settings, oracle = self.world.mirror.settings, self.world.oracle
        if not (settings.exactly_once and self.world.keys.get(key[0])):
            return 0
        dropped = sum(x.key == key and not x.gone for x in oracle.losses)
        polls = 2 * max(self.interval, MINUTE / 2) / settings.poll
        return min(dropped, round(polls))

    def _proofs_stay(
        self, verdict: Verdict, skips: SkipsObservation | None
    ) -> None:
        """What was proved is reported for its window, whatever comes after."""
        world, now = self.world, self.world.schedule.elapsed
        if "clock steps" in self.steps:
            return
        if verdict.health is Health.CRITICAL and skips is not None:
            # Not what expired meanwhile: that is the position's to tell.
            proved = {
                e.place for e, n in skips.events if e.kind in LOSSES and n
            }
            for key in world.oracle.lost_by().keys() & proved:
                self.critical_since.setdefault(key, now)
        for key, since in list(self.critical_since.items()):
            if now - since > LOST_WINDOW - MINUTE:
                # What is critical still was proved no later for that.
                if verdict.health is not Health.CRITICAL:
                    del self.critical_since[key]
            elif verdict.health is Health.OK and self._is_lost(key):
                self._fail(f"a loss of {key} was proved at {since:.0f} s")

    def _note_unseen(self) -> None:
        world, now = self.world, self.world.schedule.elapsed
        for key, at in world.truncated.items():
            log = world.source.log(*key)
            if log is not None and log.outgrown:
                self.unseen.add(key)
            if (
                now - at < 15 * MINUTE
                and (
                    world.source.reachable is not True
                    or key[0] in world.source.denied
                )
            ) or max(world.agent.started_at, world.agent.frozen_until) > at:
                self.unseen.add(key)

        if world.mirror.settings.syncs_at_flush:
            return
        # Nor does anything show that copies were truncated, where new ones
        # have taken their offsets, until the next sync: a hundred records.
        for key in world.cut_copies:
            log = world.target.log(world.remote(key[0]), key[1])
            if log is not None and log.outgrown:
                self.unseen.add(key)

    def _is_lost(self, key: Key) -> bool:
        oracle = self.world.oracle
        lost, ever = oracle.lost_by().get(key, ()), oracle.ever.get(key, ())
        return len(lost) >= len(ever) > 0

    def _a_stop_is_told(self, lag: Verdict) -> None:
        """Lag is not ok where the mirror stands for long and records wait."""
        world, now = self.world, self.world.schedule.elapsed
        mirror, started = world.mirror, world.agent.started_at
        if started != self.lag_since[0] and lag.health is not Health.UNKNOWN:
            self.lag_since = started, now
        copies = (
            mirror.running
            and not mirror.frozen
            and world.source.up
            and world.target.up
        )
        if copies:
            self.stopped_since = None
        elif self.stopped_since is None:
            self.stopped_since = now
        if self.stopped_since is None:
            return
        if not self._waits():
            self.waits_since = None
        elif self.waits_since is None:
            self.waits_since = now
        if self.waits_since is None:
            return
        patience = 3 * max(mirror.settings.flush, MINUTE) + 4 * self.interval
        if not mirror.settings.tells_flush:
            patience += self.bound  # it is learned by what is committed
        since = max(
            self.stopped_since,
            self.waits_since,
            self.lag_since[1],
            world.agent.frozen_until,
        )
        if now - since > patience + MINUTE and lag.health is Health.OK:
            self._fail(
                f"the mirror copies nothing since {self.stopped_since:.0f} s, "
                "records wait, and lag is ok"
            )

    def _waits(self) -> bool:
        source = self.world.source
        return any(
            log.end - last > 20 and log.start <= last
            for key, last in self.world.mirror.committed.items()
            if self.world.mirror.carries(key[0])
            and (log := source.log(*key)) is not None
            and log.leader is not None
        )

    def finish(self) -> None:
        """Judge the world after it was left alone."""
        world = self.world
        verdicts = world.agent.verdicts
        for check, verdict in verdicts.items():
            if verdict.health is Health.UNKNOWN and not self._may_stay_unknown(
                check
            ):
                self._fail(f"{check} stays unknown: {verdict.reason}")
        healed = ["lag", "retention", "heartbeats", "tasks", "topics"]
        healed += ["configs"]
        for check in healed:
            if verdicts[check].health not in {Health.OK, Health.OFF} and not (
                verdicts[check].health is Health.UNKNOWN
                and self._may_stay_unknown(check)
            ):
                self._fail(f"{check} does not get well")
        changes = Counter(s.check for s in world.agent.sayings)
        most = 8 + 6 * self.number
        for check, count in changes.items():
            if count > most:
                self._fail(f"{check} changed {count} times")

    def _may_stay_unknown(self, check: str) -> bool:
        # Without syncs it cannot know.
        return check == "skips" and not self.world.mirror.settings.emits_syncs


def find_fact(report: Report, kind: type[T]) -> T | None:
    return next((o for o in report.observations if isinstance(o, kind)), None)


def _is_doubt(reset: Reset) -> bool:
    """Return whether it says where records may be missing, and no more."""
    return reset.at_most


def _named(reset: Reset) -> Named | None:
    """Return the range of a reset, if it has one."""
    if reset.partition is None or reset.first is None or reset.end is None:
        return None
    return (reset.topic, reset.partition), reset.first, reset.end


def _doubtful(
    skips: SkipsObservation, position: PositionObservation
) -> Iterator[Named]:
    for event, _ in skips.events:
        if event.kind is EventKind.UNVERIFIABLE:
            for first, last in event.ranges:
                yield event.place, first, last + 1
    for reset in position.resets:
        named = _named(reset)
        if named is not None and _is_doubt(reset):
            yield named
    for each in skips.out_of_range:
        if each.first < each.sure_from:
            yield (each.topic, each.partition), each.first, each.sure_from


def _told_lost(
    skips: SkipsObservation, position: PositionObservation
) -> Counter[tuple[str, int | None]]:
    told: Counter[tuple[str, int | None]] = Counter()
    for event, missing in skips.events:
        if event.kind in LOSSES:
            told[event.place] += missing
    for topic, found in skips.foreign:
        told[topic, None] += found.records
    for reset in resets_of(position, skips):
        place = reset.topic, reset.partition
        told[place] += reset.gone or 0
        if reset.kind in NO_LOSS:
            continue
        if not _is_doubt(reset) or reset.summed:
            told[place] += reset.count
        if reset.gone is None:
            # Nobody saw how many the topic held that is no more.
            told[place] += AT_LEAST
    return told


NO_LOSS = {ResetKind.REWIND, ResetKind.BEYOND}
