"""The canary's own thread sends, and reads what arrives; the tick sees what it
left, and never waits.
"""

from array import array
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ...domain.canary import texts
from ...domain.canary.model import (
    PROBE_BYTES,
    CanaryObservation,
    CanaryPartition,
    CanarySurvey,
    IndeterminateProbe,
    Loss,
    OffsetGap,
    ProbeArrival,
    ProbeMessage,
    is_of_another,
)
from ...domain.canary.tracker import Arrival, CanaryTracker, arrive
from ...domain.finding import Finding, Health
from ...exceptions import StateError
from ...kafka.reader import PartitionEnd
from ...state.canary import CanaryStore
from ...threads import Latest, Mailbox
from .consumer import CanaryConsumer, ReadProbe, Unreadable
from .encoding import decode
from .producer import AckWorker, CanaryProducer, SendResult
from .settings import CanarySettings

__all__ = [
    "SENT_KEPT",
    "CanarySnapshot",
    "CanarySource",
    "CanaryState",
    "CanaryWorker",
    "SentTimes",
]

SIZED_PARTITION = 0


SENT_KEPT = 1000
"""Probes of a partition of which it is known when they were sent: minutes of
them, and copies arrive within seconds."""

ARRIVALS_KEPT = 20_000
"""Arrivals kept for a tick that does not come: an hour of six partitions."""

GAPS_KEPT = 20
"""Gaps that wait to be looked into. One shows a circle as well as many."""

STRAY_FOR = timedelta(hours=1)
"""Time after a probe arrived in another partition than its own during which no
loss is proved: as long as a lost one is reported by default."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class CanarySnapshot:
    """Snapshot of the canary when it last saved its ledgers."""

    at: datetime
    partitions: tuple[CanaryPartition, ...]
    good: int
    bad: int
    doubts: tuple[IndeterminateProbe, ...]
    problems: tuple[Finding, ...]
    unread: frozenset[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryState:
    """Shared state of the threads of one flow's canary."""

    snapshot: Latest[CanarySnapshot | None] = field(
        default_factory=lambda: Latest(None)
    )
    arrivals: Mailbox[ProbeArrival] = field(
        default_factory=lambda: Mailbox(limit=ARRIVALS_KEPT)
    )
    losses: Mailbox[Loss] = field(default_factory=Mailbox)
    gaps: Mailbox[OffsetGap] = field(
        default_factory=lambda: Mailbox(limit=GAPS_KEPT)
    )
    """Source offsets that the canary did not write, for the surveyor."""

    ticked: Latest[datetime | None] = field(
        default_factory=lambda: Latest(None)
    )
    """Time when the last tick took the pending arrivals and losses; `None`
    before the first."""

    send_problem: Latest[Finding | None] = field(
        default_factory=lambda: Latest(None)
    )
    """Error of the last send; `None` if it succeeded."""

    surveys: Mailbox[CanarySurvey] = field(default_factory=Mailbox)
    survey: Latest[CanarySurvey | None] = field(
        default_factory=lambda: Latest(None)
    )
    """The last of them."""

    schema_problems: Latest[tuple[Finding, ...]] = field(
        default_factory=lambda: Latest(())
    )


def _numbers() -> "array[int]":
    return array("q", [0]) * SENT_KEPT


@dataclass(frozen=True, slots=True)
class _Newest:
    """Ring buffer of the probes last sent to one partition: each replaces the
    one `SENT_KEPT` before it.
    """

    sequences: "array[int]" = field(default_factory=_numbers)
    """Zero where there is none: the first probe has number one."""

    times: "array[int]" = field(default_factory=_numbers)
    """Microseconds since 1970, beside their sequences."""


class SentTimes:
    """Knows when the newest `SENT_KEPT` probes of each partition were sent.

    Notes
    -----
    As numbers in arrays of a fixed length. A dictionary of times took ten
    times as much, and grew for a quarter of an hour after each start.
    """

    def __init__(self) -> None:
        self._newest: dict[int, _Newest] = {}

    def note(self, partition: int, sequence: int, at: datetime) -> None:
        """Note when a probe is sent."""
        newest = self._newest.get(partition)
        if newest is None:
            newest = self._newest[partition] = _Newest()
        place = sequence % SENT_KEPT
        newest.sequences[place] = sequence
        newest.times[place] = (at - _EPOCH) // _MICROSECOND

    def get(self, partition: int, sequence: int) -> datetime | None:
        """Return when a probe was sent, if that is still known."""
        newest = self._newest.get(partition)
        place = sequence % SENT_KEPT
        if newest is None or newest.sequences[place] != sequence:
            return None
        return _time(newest.times[place])

    def of(self, partition: int) -> dict[int, datetime]:
        """Return what is known of a partition, by sequence."""
        newest = self._newest.get(partition)
        if newest is None:
            return {}
        return {
            sequence: _time(at)
            for sequence, at in zip(
                newest.sequences, newest.times, strict=True
            )
            if sequence
        }


def _time(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND


class LedgerKeeper:
    """Keeps one flow's ledgers in step with its state file.

    Parameters
    ----------
    settings
        Settings of the canary.
    store
        Store of the ledgers.

    Notes
    -----
    What has not been saved is not handed out: others see only what survives
    a crash.
    """

    def __init__(self, settings: CanarySettings, store: CanaryStore) -> None:
        self._settings = settings
        self.stray: Finding | None = None
        """Finding that the mirror moves probes to other partitions, if it
        does."""
        self._strayed_at: datetime | None = None
        """Arrival of the last stray probe."""
        self._store = store
        self._changed: set[int] = set()
        self._acked: dict[int, set[int]] = {}

        self._sent = SentTimes()
        self._arrivals: list[ProbeArrival] = []
        self._losses: list[Loss] = []
        self.tracker: CanaryTracker = self.reload()

    @property
    def has_changes(self) -> bool:
        """Ledger changes are pending, to be saved soon."""
        return bool(self._changed)

    @property
    def has_losses(self) -> bool:
        """Losses are pending, to be saved."""
        return bool(self._losses)

    @property
    def has_acks(self) -> bool:
        """Acknowledgements are pending, to be saved."""
        return bool(self._acked)

    def reload(self) -> CanaryTracker:
        """Go back to what the file says.

        Sends that were under way are in doubt: no delivery report will come.
        """
        self._changed.clear()
        self._acked.clear()
        self._arrivals, self._losses = [], []
        ledgers = self._store.load()
        self.tracker = CanaryTracker(
            flow=self._settings.flow,
            identity=self._store.identity,
            ledgers=ledgers,
            warmup=self._settings.warmup,
            partitions=self._settings.partitions,
            accepted=self._settings.cluster_ids,
            keeps_partitions=self._settings.keeps_partitions,
        )
        for ledger in self.tracker.ledgers.values():
            ledger.doubt_unacked()
            self._changed.add(ledger.partition)
        return self.tracker

    def follow(self, survey: CanarySurvey) -> set[int]:
        """Take over a survey; return the partitions to be read again."""
        if survey.refresh is not None:
            slow = survey.refresh + self._settings.deadline
            self.tracker.warmup = max(self._settings.warmup, slow)
        before = self.tracker.targets
        unread = self.tracker.follow(survey)
        if self.tracker.targets != before:
            # What arrived elsewhere had a key for those of before.
            self.stray = self._strayed_at = None
        # It may touch any of them, and comes but once a tick.
        self._changed |= self.tracker.ledgers.keys()
        return unread

    def make_probe(self, partition: int, now: datetime) -> ProbeMessage:
        """Make the next probe of a partition."""
        ledger = self.tracker.ledgers[partition]
        warming = self.tracker.is_warming(ledger, now)
        self._changed.add(partition)
        sequence = ledger.send(now, warming=warming).sequence
        self._sent.note(partition, sequence, now)
        return ProbeMessage(
            run=self._store.run,
            flow=self._settings.flow.name,
            partition=partition,
            sequence=sequence,
            sent_at=now,
        )

    def note_result(
        self, outcome: SendResult, now: datetime
    ) -> OffsetGap | None:
        """Write down what became of a send."""
        message = outcome.message
        ledger = self.tracker.ledgers[message.partition]
        if outcome.source_offset is not None:
            acked = self._acked.setdefault(message.partition, set())
            acked.add(message.sequence)
            acked_at = message.sent_at + outcome.took
            gap = ledger.ack(message.sequence, outcome.source_offset, acked_at)
            return gap and replace(gap, sent=self._sent.of(message.partition))
        self._changed.add(message.partition)
        if outcome.refused is not None:
            ledger.fail(message.sequence, now)
        else:
            ledger.doubt(message.sequence)
        return None

    def read(self, event: ReadProbe | PartitionEnd) -> None:
        """Write down what was read at the target."""
        ledger = self.tracker.ledgers[event.partition]
        if isinstance(event, PartitionEnd):
            if event.offset > ledger.next_offset:
                ledger.read_to(event.offset)
                self._changed.add(event.partition)
            return
        self._changed.add(event.partition)
        probe = self._decode_ours(event.value)
        if probe is None:
            ledger.read_to(event.offset + 1)
            return
        if event.value is not None:
            self._settings.encoding.note_arrival(event.value)
        home, at = ledger, event.offset
        if self._strays(probe, event):
            if event.offset < ledger.next_offset:
                return  # accounted for, before a restart
            ledger.read_to(event.offset + 1)
            home = self.tracker.ledgers.get(probe.partition, ledger)
            if home is ledger:
                return
            self._changed.add(probe.partition)
            at = home.next_offset
        sighting = Arrival(
            sequence=probe.sequence,
            target_offset=at,
            seen_at=event.seen_at,
            absent_until=event.absent_until,
        )
        arrival = arrive(home, sighting, self._settings.deadline)
        if home is not ledger:
            # It was read in another partition: nothing is read up to here.
            home.next_offset = at
        if arrival is not None:
            self._arrivals.append(arrival)

    def _decode_ours(self, value: bytes | None) -> ProbeMessage | None:
        """Return a probe if it is the one that has its number here.

        An older state file that is restored gives numbers again, and so does
        another agent with a copy of it.
        """
        probe = decode(value)
        ours = (self._store.run, self._settings.flow.name)
        if probe is None or (probe.run, probe.flow) != ours:
            return None
        sent_at = self._sent.get(probe.partition, probe.sequence)
        if sent_at is None:
            ledger = self.tracker.ledgers.get(probe.partition)
            known = ledger.outstanding.get(probe.sequence) if ledger else None
            if known is None:
                sent = self._sent.of(probe.partition)
                another = is_of_another(sent, probe.sequence, probe.sent_at)
                return None if another else probe
            sent_at = known.sent_at
        return probe if sent_at == probe.sent_at else None

    def _strays(self, probe: ProbeMessage, event: ReadProbe) -> bool:
        """Return whether a mirror put a probe into another partition.

        It is expected to, if the key was chosen for another number of them.
        """
        if probe.partition == event.partition:
            return False
        home = self.tracker.ledgers.get(probe.partition)
        if home is not None and probe.sequence < home.keyed_from:
            return True
        self.stray = texts.UNVERIFIABLE.found(
            Health.UNKNOWN,
            {"topic": self._settings.topic},
            partition=probe.partition,
            arrived_in=event.partition,
        )
        self._strayed_at = event.seen_at
        return True

    def skip(self, partition: int, offset: int) -> None:
        """Write down that a partition goes on at another target offset."""
        self.tracker.ledgers[partition].skip_target(offset)
        self._changed.add(partition)

    def note_overdue(self, now: datetime, read: Iterable[int]) -> None:
        """Write down what did not arrive in time where all was read."""
        for partition in read:
            ledger = self.tracker.ledgers[partition]
            ledger.note_overdue(now, self._settings.within)

    def settle(
        self,
        now: datetime,
        grace: timedelta | None,
        unread: Container[int] = (),
    ) -> None:
        """Give up what is proved lost, or can no longer be proved."""
        if self._strayed_at is not None:
            # What is missing in one partition may be in another.
            self._give_up_before(now - STRAY_FOR)
            if now - self._strayed_at <= STRAY_FOR:
                return
            self.stray = self._strayed_at = None
        self._losses += self.tracker.settle(now, grace, unread)
        self._changed |= {
            p
            for p, ledger in self.tracker.ledgers.items()
            if ledger.touched - self._acked.get(p, set())
        }

    def _give_up_before(self, sent_before: datetime) -> None:
        """Give up the probes that were sent before a time, and arrived in no
        partition that is read.
        """
        for ledger in self.tracker.ledgers.values():
            for probe in list(ledger.outstanding.values()):
                if probe.sent_at >= sent_before:
                    break
                ledger.give_up(probe.sequence)
                self._changed.add(ledger.partition)

    def save(
        self, looked_at: datetime | None
    ) -> tuple[list[ProbeArrival], list[Loss]]:
        """Write down what changed.

        Returns
        -------
        tuple of list
            Arrivals and losses that are now safe to be seen.

        Raises
        ------
        StateError
            Raised if the file cannot be written; nothing was.
        """
        if looked_at is not None:
            self.tracker.identity.looked_at = looked_at
        changed = self._changed | self._acked.keys()
        self._store.save(
            [self.tracker.ledgers[p] for p in changed], self._losses
        )
        self._changed.clear()
        self._acked.clear()
        saved = self._arrivals, self._losses
        self._arrivals, self._losses = [], []
        return saved


QUIET = 1.0
"""Seconds to wait for a record while no probe is under way, if none is due
before: nothing is lost or overdue then."""

MILLISECOND = 0.001

SAVE_EVERY = timedelta(milliseconds=250)
"""Longest time that a pending change waits to be saved before a tick; after a
crash arrivals are read again."""

WAIT_FOR_SEND = timedelta(seconds=1)
"""Longest time that arrivals wait to be saved with the next probes once all
probes in flight have arrived, if no tick comes before. So at the default
interval there is one write each second, and none between two arrivals: the
second would seem to arrive later by as long as that takes."""

ACKED_EVERY = timedelta(seconds=1)
"""Longest time that acknowledgements wait to be saved, if nothing else has to
be: with the next probes at the default interval. After a crash their probes
are in doubt, and looked for at the source."""

LOOKED_EVERY = timedelta(seconds=5)
"""Interval between saved polls of the target, if no probe came."""

SETTLE_EVERY = timedelta(seconds=1)
"""Interval between searches for probes that are proved lost."""

CLOSING = 3.0
"""Seconds to wait for acknowledgements at the end."""


class CanaryWorker:
    """Runs the canary of one flow.

    Parameters
    ----------
    settings
        Settings of the canary.
    source, target
        librdkafka properties of the clusters.
    store
        Store of the ledgers.
    state
        State that the canary shares with other threads.
    tick
        Interval between ticks.
    clock
        Gives the time.

    Notes
    -----
    A probe is written down before it is sent, and an arrival together with
    the offset that was read, so a crash at any point loses and repeats
    nothing.
    """

    interval = timedelta()

    def __init__(
        self,
        *,
        settings: CanarySettings,
        source: Mapping[str, str],
        target: Mapping[str, str],
        store: CanaryStore,
        state: CanaryState,
        tick: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"canary {settings.flow.name}"
        self._settings = settings
        self._state = state
        self._tick = tick
        self._clock = clock
        self._keeper = LedgerKeeper(settings, store)
        self._sender = CanaryProducer(source, settings, self._note_result)
        self._receiver = CanaryConsumer(
            target,
            cluster=settings.flow.target,
            topic=settings.remote_topic,
            interval=settings.interval,
            clock=clock,
        )
        self._reading: set[int] = set()
        self._at_target: frozenset[int] | None = None
        """Partitions that the target has; `None` until it has answered."""

        self._survey: CanarySurvey | None = None
        self._mistaken: Finding | None = None
        now = clock()
        self._send_at = self._sized_at = self._settle_at = now
        self._again_at = self._looked_at = self._saved_at = now
        self._changed_at: datetime | None = None

        self.acks = AckWorker(f"acknowledgements {self.name}", self._sender)

    def step(self) -> None:
        try:
            self._step()
        except StateError:
            # What is in memory is ahead of the file. The file is the truth;
            # what it lacks is read again from the topics.
            self._receiver.stop()
            self._reading.clear()
            self._keeper.reload()
            raise

    def close(self) -> None:
        self._sender.close(CLOSING)
        self._keeper.save(None)
        self._receiver.close()

    def _step(self) -> None:
        for survey in self._state.surveys.take_all():
            self._follow(survey)
        now = self._clock()
        if now >= self._send_at:
            self._send(now)
        self._sender.poll()
        look = self._look_for(self._clock())
        events = self._receiver.receive(look, self._is_wanted)
        if events:
            # Acknowledgements that came while these waited go first: a probe
            # that has arrived is no longer there to be acknowledged, and
            # would have no lower bound.
            self._sender.poll()
        for event in events:
            if isinstance(event, Unreadable):
                self._keeper.skip(event.partition, event.offset)
                self._receiver.read(event.partition, event.offset, now)
            else:
                self._keeper.read(event)
        now = self._clock()
        if now >= self._settle_at and self._survey is not None:
            self._settle_at = now + SETTLE_EVERY
            # What was overtaken may be in a backlog that is yet to be read.
            grace = None if self._unread() else self._survey.grace
            if not self._unread() and self._keeper.stray is None:
                # What a survey saw and was not read may be one of them.
                read = self._reading - self._receiver.behind
                self._keeper.note_overdue(now, read)
            self._keeper.settle(now, grace, self._unread())
        self._save(now)

    def _look_for(self, now: datetime) -> float:
        """Return how many seconds to look at the target."""
        ends = [self._send_at]
        if self._changed_at is not None:
            ends.append(self._save_by(self._changed_at))
        # What is overdue waits for something else. The library counts in
        # milliseconds: what is left of one would be no wait at all.
        due = [(end - now).total_seconds() + MILLISECOND for end in ends]
        return min([QUIET, *(each for each in due if each > MILLISECOND)])

    def _is_wanted(self) -> bool:
        return not (self._state.surveys.is_empty and self._is_quiet())

    def _is_quiet(self) -> bool:
        """Return whether no probe, problem or unread end is pending, so that
        the next event is a probe that is sent.
        """
        keeper = self._keeper
        return not (
            self._survey is None
            or any(
                each.outstanding for each in keeper.tracker.ledgers.values()
            )
            or self._receiver.problem is not None
            or keeper.stray is not None
            or not self._settings.encoding.ready
            or self._unread()
        )

    def _save_by(self, since: datetime) -> datetime:
        """Return until when to write down what changed since a time."""
        soon, ticked = since + SAVE_EVERY, self._state.ticked.get()
        sends = since <= self._send_at <= since + WAIT_FOR_SEND
        waits = sends and not self._keeper.has_losses and self._is_quiet()
        if ticked is None or not waits:
            return soon
        return max(soon, ticked + self._tick - SAVE_EVERY)

    def _follow(self, survey: CanarySurvey) -> None:
        self._mistaken = self._keeper.tracker.mistaken(survey)
        if not self._settings.keeps_partitions:
            self._choose_keys(survey)
        self._survey = None if self._mistaken else survey
        if self._mistaken is not None:
            return
        known = len(self._keeper.tracker.ledgers)
        unread = self._keeper.follow(survey)
        if len(self._keeper.tracker.ledgers) > known:
            self._sender.learn_partitions()
        if survey.target is None:
            if survey.target_absent:
                self._at_target = frozenset()
            return
        self._at_target = survey.target.partitions
        tracker = self._keeper.tracker
        for partition in self._reading - survey.target.partitions:
            # Should it come back, it is read from where this one stopped.
            self._receiver.drop(partition)
            self._reading.discard(partition)
        for partition in survey.target.partitions & tracker.ledgers.keys():
            if partition in unread or partition not in self._reading:
                self._receiver.read(
                    partition,
                    tracker.ledgers[partition].next_offset,
                    tracker.identity.looked_at or self._clock(),
                )
                self._reading.add(partition)
        self._receiver.note_ends(survey.ends, survey.at)

    def _choose_keys(self, survey: CanarySurvey) -> None:
        """Choose keys for the partitions that the mirror's producer finds at
        the target; before there are any, for those that it will find.
        """
        topic = survey.target
        if survey.target_absent or (
            topic is None and self._sender.partitions is None
        ):
            topic = survey.source
        if topic is not None:
            self._sender.partitions = len(topic.partitions)

    def _send(self, now: datetime) -> None:
        # A probe that cannot be written gets no number either.
        if self._survey is None or not self._settings.encoding.ready:
            return
        # Not one interval after the last, or a pause would be made up for.
        self._send_at = max(
            self._send_at + self._settings.interval,
            now + self._settings.interval / 2,
        )
        keeper = self._keeper
        due = keeper.tracker.due(self._survey, now)
        messages = [(keeper.make_probe(p, now), PROBE_BYTES) for p in due]
        sized = self._settings.sized
        if (
            sized is not None
            and SIZED_PARTITION in due
            and self._takes(sized.bytes, now)
        ):
            self._sized_at = now + sized.interval
            probe = keeper.make_probe(SIZED_PARTITION, now)
            messages.append((probe, sized.bytes))
        self._write(now)
        age = max(timedelta(), self._clock() - now)
        for message, bytes_ in messages:
            self._sender.send(message, bytes_, age)

    def _takes(self, size: int, now: datetime) -> bool:
        limit = None if self._survey is None else self._survey.size_limit
        return limit is not None and size <= limit and now >= self._sized_at

    def _note_result(self, outcome: SendResult) -> None:
        self._state.send_problem.set(_to_problem(outcome, self._settings))
        gap = self._keeper.note_result(outcome, self._clock())
        if gap is not None:
            self._state.gaps.put(gap)

    def _save(self, now: datetime) -> None:
        """Write down what there is, if it is time."""
        if self._keeper.has_changes:
            self._changed_at = self._changed_at or now
            if now < self._save_by(self._changed_at):
                return
        elif now < self._again_at:
            return
        elif now - self._looked_at < LOOKED_EVERY:
            waits = now - self._saved_at < ACKED_EVERY
            if waits or not self._keeper.has_acks:
                self._again_at = now + SAVE_EVERY
                self._publish_again(now)
                return
        self._write(now)

    def _write(self, now: datetime) -> None:
        looked = bool(self._reading) and not self._unread()
        self._changed_at, self._again_at = None, now + SAVE_EVERY
        self._looked_at = self._saved_at = now
        # Not until now: a pause since then is no look.
        until = self._receiver.looked_at if looked else None
        self._publish(*self._keeper.save(until), now)

    def _publish(
        self, arrivals: list[ProbeArrival], losses: list[Loss], now: datetime
    ) -> None:
        tracker = self._keeper.tracker
        self._state.arrivals.put(*arrivals)
        self._state.losses.put(*losses)
        # Last: what it counts is there to be taken.
        self._state.snapshot.set(
            CanarySnapshot(
                at=now,
                partitions=tuple(
                    ledger.snapshot(warming=tracker.is_warming(ledger, now))
                    for _, ledger in sorted(tracker.ledgers.items())
                    if not ledger.gone
                ),
                good=sum(each.good for each in tracker.ledgers.values()),
                bad=sum(each.bad for each in tracker.ledgers.values()),
                doubts=tuple(tracker.doubts()),
                problems=self._problems(),
                unread=self._unread(),
            )
        )

    def _publish_again(self, now: datetime) -> None:
        """Say of probes what was said before: what is not written down yet is
        not said, and nothing else changed.
        """
        before = self._state.snapshot.get()
        if before is None or any(p.warming for p in before.partitions):
            if not self._keeper.has_acks:
                self._publish([], [], now)
            return
        self._state.snapshot.set(
            replace(
                before,
                at=now,
                problems=self._problems(),
                unread=self._unread(),
            )
        )

    def _unread(self) -> frozenset[int]:
        """Return the partitions of which there may be arrivals to be read.

        Notes
        -----
        After a start those are all of them, until the target has answered:
        what the state file says is outstanding may have arrived meanwhile.
        """
        known = self._keeper.tracker.ledgers.keys()
        if self._at_target is None:
            return frozenset(known)
        unread = (self._at_target - self._reading) | self._receiver.unread
        return frozenset(unread & known)

    def _problems(self) -> tuple[Finding, ...]:
        known = (self._mistaken, self._keeper.stray)
        problems = [problem for problem in known if problem is not None]
        if self._receiver.problem is not None:
            problems.append(
                texts.UNREADABLE.found(
                    Health.UNKNOWN, problem=self._receiver.problem
                )
            )
        return tuple(problems)


def _to_problem(
    outcome: SendResult, settings: CanarySettings
) -> Finding | None:
    error = outcome.refused or outcome.error
    if error is None:
        return None
    # A refusal is known to be one; after any other error nothing is.
    health = Health.WARNING if outcome.refused else Health.UNKNOWN
    return texts.FAILED.found(health, {"topic": settings.topic}, problem=error)


class CanarySource:
    """Reports the state of one flow's canary.

    Parameters
    ----------
    settings
        Settings of the canary.
    state
        State that the canary and the surveyor share with the tick.
    losses
        Losses of earlier runs.
    lost_window
        Time for which losses are reported by name.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        state: CanaryState,
        losses: Iterable[Loss],
        lost_window: timedelta,
    ) -> None:
        self.name = f"canary {settings.flow.name}"
        self._settings = settings
        self._state = state
        self._losses = list(losses)
        self._lost_window = lost_window

    def observe(self, now: datetime) -> Sequence[CanaryObservation]:
        self._state.ticked.set(now)
        seen, survey = self._state.snapshot.get(), self._state.survey.get()
        since = now - self._lost_window
        self._losses = [
            loss
            for loss in (*self._losses, *self._state.losses.take_all())
            if loss.proved_at >= since
        ]
        if seen is None:
            return self._observe_losses(now)
        problems = [
            *self._state.schema_problems.get(),
            *seen.problems,
            *(survey.problems if survey else ()),
        ]
        if survey is None and seen.partitions:
            problems.append(texts.NO_DATA.found(Health.UNKNOWN))
        send_problem = self._state.send_problem.get()
        if send_problem is not None:
            problems.append(send_problem)
        return [
            CanaryObservation(
                flow=self._settings.flow.name,
                at=seen.at,
                topic=self._settings.topic,
                remote_topic=self._settings.remote_topic,
                partitions=seen.partitions,
                good=seen.good,
                bad=seen.bad,
                arrivals=self._state.arrivals.take_all(),
                losses=tuple(self._losses),
                problems=tuple({p.title: p for p in problems}.values()),
                unread=seen.unread,
            )
        ]

    def _observe_losses(self, now: datetime) -> Sequence[CanaryObservation]:
        """Return what earlier runs proved, while this one has begun nothing:
        the first probe waits for what is written down.
        """
        if not self._losses:
            return []
        return [
            CanaryObservation(
                flow=self._settings.flow.name,
                at=now,
                topic=self._settings.topic,
                remote_topic=self._settings.remote_topic,
                partitions=(),
                losses=tuple(self._losses),
            )
        ]
