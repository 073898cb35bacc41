"""Skipped records where a mirror writes no offset-syncs: what went in against
what came out, topic by topic, whenever a topic rests.

A topic rests when all of it is committed and neither end moves. Then the
committed offsets have grown by as many offsets as the mirror has passed, and
the target's ends by as many records as it wrote. Partitions need not be kept.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..cluster_view import STALE_END, FlowView, PartitionView, TopicFacts
from ..offsets import OffsetRange
from ..report import (
    CheckFinding,
    Evidence,
    Finding,
    Health,
    agree,
    counted,
    seconds,
)
from ..topics import FilteredTopics, filtered_note, is_beyond

__all__ = [
    "BalanceFindings",
    "BalanceRequest",
    "BalanceState",
    "BalanceTracker",
    "Shortfall",
    "TopicBalance",
    "TopicsAtRest",
    "find_balance",
    "show_balance",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicBalance:
    """Both sides of one topic when it last rested."""

    source_id: str
    """Id of the topic at the source."""

    target_id: str
    """Id of the topic at the target."""

    committed: tuple[int, ...]
    """Committed offset of each partition at the source."""

    copies: int
    """Ends of all partitions at the target, added."""

    missing: int = 0
    """Records proved to be missing, since the state file was made."""

    surplus: int = 0
    """Records at the target beyond one copy of each, since then."""

    unverifiable: int = 0
    """Offsets that expired before it was known whether they were copied."""

    filtered: int = 0
    """Those that are missing where a transform filters on purpose."""

    passed: int = 0
    """Records that the mirror has passed, copied or not, since then."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shortfall:
    """What did not add up between two rests of one topic."""

    topic: str
    """Source topic."""

    at: datetime
    """When it was found."""

    missing: int = 0
    """Records that are missing at the target: at least these, as duplicates
    hide others."""

    surplus: int = 0
    """Records at the target beyond one copy of each."""

    unverifiable: int = 0
    """Offsets that expired before it was known whether they were copied."""

    filtered: bool = False
    """Whether a transform may drop what is missing, so that it is no loss."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsAtRest:
    """What comparing topics at rest says of positions."""

    exact: frozenset[str] = frozenset()
    """Topics of which nothing is copied beyond what is committed."""

    found: tuple[Shortfall, ...] = ()
    """What did not add up lately, the newest last."""


@dataclass(kw_only=True, slots=True)
class BalanceState:
    """What is kept over restarts of the agent."""

    topics: dict[str, TopicBalance] = field(default_factory=dict)
    """By source topic."""

    found: tuple[Shortfall, ...] = ()
    """What did not add up lately, the newest last."""

    uncopied: dict[str, TopicBalance] = field(default_factory=dict)
    """Topics that do not exist at the target yet: the first copy creates most
    of them. While neither side is seen, that may happen as well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceRequest:
    """What must be read at the source before anything is called missing.

    Markers of transactions and what was compacted take offsets and are no
    records; what an aborted transaction wrote may or may not be copied.
    """

    topic: str
    """Source topic."""

    missing: int
    """Offsets that have no copy."""

    ranges: tuple[tuple[int, OffsetRange], ...]
    """Partition and offsets to count the committed records of."""

    expired: int
    """Offsets that can no longer be read."""

    now: TopicBalance
    """Both sides as they are now."""

    before: TopicBalance
    """Both sides when the topic had rested before."""

    @property
    def size(self) -> int:
        """Offsets to read."""
        return sum(len(span) for _, span in self.ranges)

    @property
    def passed(self) -> int:
        """Offsets that the mirror has passed between both rests."""
        return sum(self.now.committed) - sum(self.before.committed)


FRESH = timedelta(hours=1)
"""How long a topic that has rested is called compared."""

KEPT = 200
"""Duplicates that are kept, the newest: a mirror that is restarted copies the
last records of every topic again."""

LOSSES_KEPT = 2_000
"""Losses that are kept, the newest: one of each topic of a large site, so that
nothing that comes later pushes them out before their time."""


class BalanceTracker:
    """Follows the balance of every topic of one flow.

    Parameters
    ----------
    state
        What was known before.
    ignored
        Returns whether a source topic is not compared: others write its
        target topic, or it is the canary's, which never rests and is proved
        probe by probe.
    patience
        How long a topic must rest until nothing of it is under way.
    filtered
        Topics of which a transform drops records on purpose.
    """

    def __init__(
        self,
        state: BalanceState,
        ignored: Callable[[str], bool],
        patience: timedelta,
        filtered: FilteredTopics | None = None,
    ) -> None:
        self.state = state
        self.filtered = filtered or FilteredTopics()
        self.changed = False
        """Whether the state changed since it was saved."""
        self.rested: frozenset[str] = frozenset()
        """Topics that have rested within the last hour."""
        self.moving: frozenset[str] = frozenset()
        """All others."""
        self.exact: frozenset[str] = frozenset()
        """Topics of which nothing is copied beyond what is committed: their
        copies are as many as when they rested last."""
        self._unmoved: dict[str, datetime] = {}
        self._ignored = ignored
        # An end of the target may be too low for some seconds.
        self._patience = max(patience, STALE_END)
        self._resting: dict[str, tuple[datetime, TopicBalance]] = {}
        self._rested_at: dict[str, datetime] = {}

    def take(self, view: FlowView) -> list[BalanceRequest]:
        """Learn from a survey; return what has to be read."""
        if view.source is None or view.target is None or not view.caught_up:
            self._resting, self._unmoved = {}, {}
            self.exact = frozenset()
            return []
        by_topic: dict[str, list[PartitionView | None]] = {}
        for (topic, _), seen in view.partitions.items():
            by_topic.setdefault(topic, []).append(seen)
        resting: dict[str, tuple[datetime, TopicBalance]] = {}
        unmoved: dict[str, datetime] = {}
        requests: list[BalanceRequest] = []
        rested, moving = set[str](), set[str]()
        for topic, seen_all in by_topic.items():
            if self._ignored(topic):
                continue
            remote = view.names[topic]
            facts = view.target.topics.get(remote)
            ends = [
                view.target.ends.get((remote, p))
                for p in range(0 if facts is None else facts.partitions)
            ]
            now = None if facts is None else _rest(seen_all, facts.id, ends)
            if topic not in self.state.topics:
                self._begin(topic, seen_all, facts, ends)
            if facts is not None and _stands(
                self.state.topics.get(topic), seen_all, facts.id, ends
            ):
                unmoved[topic] = self._unmoved.get(topic, view.at)
            if now is not None:
                since, before = self._resting.get(topic, (view.at, now))
                since = since if before == now else view.at
                resting[topic] = since, now
                if view.at - since >= self._patience:
                    self._rested_at[topic] = view.at
                    starts = [s.log_start for s in seen_all if s is not None]
                    requests += self._compare(topic, now, starts, view.at)
            last = self._rested_at.get(topic)
            fresh = last is not None and view.at - last <= FRESH
            (rested if fresh else moving).add(topic)
        self._resting, self._unmoved = resting, unmoved
        for topic in self.state.uncopied.keys() - by_topic.keys():
            del self.state.uncopied[topic]
            self.changed = True
        self.exact = frozenset(
            topic
            for topic, since in unmoved.items()
            if view.at - since >= STALE_END
        )
        self.rested, self.moving = frozenset(rested), frozenset(moving)
        return requests

    def awaits(self, request: BalanceRequest, names: Container[str]) -> bool:
        """Return whether an answer is still of use: not where the topic was
        deleted, or what was missing has been copied meanwhile.

        Parameters
        ----------
        request
            What has to be read.
        names
            Topics that the flow carries.
        """
        topic = request.topic
        return topic in names and (
            self.state.topics.get(topic) == request.before
        )

    def resolve(
        self,
        request: BalanceRequest,
        records: int,
        at: datetime,
        expired: int = 0,
    ) -> None:
        """Take what was found at the source.

        Parameters
        ----------
        request
            What was asked.
        records
            Committed records that were found.
        at
            When they were.
        expired
            Offsets that have expired since it was asked.
        """
        markers = request.size - expired - records
        unexplained = request.missing - markers
        missing = max(0, unexplained - request.expired - expired)
        doubtful = max(0, unexplained) - missing
        self._settle(
            request.topic,
            request.now,
            Shortfall(
                topic=request.topic,
                at=at,
                missing=missing,
                unverifiable=doubtful,
            ),
            passed=request.passed - markers,
        )

    def give_up(self, request: BalanceRequest, at: datetime) -> None:
        """Take that there was too much to read."""
        self._settle(
            request.topic,
            request.now,
            Shortfall(
                topic=request.topic, at=at, unverifiable=request.missing
            ),
            passed=request.passed,
        )

    def _begin(
        self,
        topic: str,
        seen: Sequence[PartitionView | None],
        facts: TopicFacts | None,
        ends: Sequence[int | None],
    ) -> None:
        """Remember a topic of which nothing was copied yet."""
        before = self.state.uncopied.get(topic)
        if facts is None:
            start = _start(seen, "", [0]) or before
            if start is not None and start != before:
                self.state.uncopied[topic] = start
                self.changed = True
        elif (start := _start(seen, facts.id, ends) or before) is not None:
            self.state.topics[topic] = replace(start, target_id=facts.id)
            self.state.uncopied.pop(topic, None)
            self.changed = True

    def _compare(
        self,
        topic: str,
        now: TopicBalance,
        starts: Sequence[int],
        at: datetime,
    ) -> Iterator[BalanceRequest]:
        before = self.state.topics.get(topic)
        if before is None:
            self.state.topics[topic] = now
            self.changed = True
            return
        if not _is_same(before, now):
            # Compared anew from here on; what was counted stays.
            nothing = Shortfall(topic=topic, at=at)
            self._settle(topic, now, nothing, passed=0)
            return
        old = (*before.committed, *(0 for _ in now.committed))
        passed = list(zip(old, now.committed, starts, strict=False))
        grown = sum(after - first for first, after, _ in passed)
        missing = grown - (now.copies - before.copies)
        if missing <= 0:
            if grown or missing:
                found = Shortfall(topic=topic, at=at, surplus=-missing)
                self._settle(topic, now, found, passed=grown)
            return
        yield BalanceRequest(
            topic=topic,
            missing=missing,
            ranges=tuple(
                (partition, OffsetRange(max(first, start), after))
                for partition, (first, after, start) in enumerate(passed)
                if max(first, start) < after
            ),
            expired=sum(
                max(0, min(start, after) - first)
                for first, after, start in passed
            ),
            now=now,
            before=before,
        )

    def _settle(
        self, topic: str, now: TopicBalance, found: Shortfall, *, passed: int
    ) -> None:
        before = self.state.topics[topic]
        rule = self.filtered.rule(topic)
        if rule is not None and found.missing:
            is_loss = is_beyond(found.missing, passed, rule.at_most)
            found = replace(found, filtered=not is_loss)
        self.state.topics[topic] = replace(
            now,
            missing=before.missing + found.missing,
            surplus=before.surplus + found.surplus,
            unverifiable=before.unverifiable + found.unverifiable,
            filtered=before.filtered + found.filtered * found.missing,
            passed=before.passed + passed,
        )
        if found.missing or found.surplus or found.unverifiable:
            self.state.found = _newest((*self.state.found, found))
        self.changed = True


def _newest(found: Sequence[Shortfall]) -> tuple[Shortfall, ...]:
    """Return what is kept, in its order; duplicates are let go first."""
    repeats = [n for n, each in enumerate(found) if each.surplus]
    losses = [n for n, each in enumerate(found) if not each.surplus]
    kept = sorted([*repeats[-KEPT:], *losses[-LOSSES_KEPT:]])
    return tuple(found[n] for n in kept)


def _rest(
    seen: Sequence[PartitionView | None],
    target_id: str,
    ends: Sequence[int | None],
) -> TopicBalance | None:
    """Return both sides of a topic of which all is committed, else `None`."""
    committed, copies = [], 0
    for each in seen:
        if each is None:
            return None
        fact = each.committed
        position = None if fact is None else fact.position
        if position is None and each.source_end == 0:
            position = 0  # nothing was ever written there
        if position != each.source_end:
            return None
        committed.append(position)
    for end in ends:
        if end is None:
            return None
        copies += end
    ids = {each.source_id for each in seen if each is not None}
    if len(ids) != 1:
        return None
    return TopicBalance(
        source_id=ids.pop(),
        target_id=target_id,
        committed=tuple(committed),
        copies=copies,
    )


def _start(
    seen: Sequence[PartitionView | None],
    target_id: str,
    ends: Sequence[int | None],
) -> TopicBalance | None:
    """Return both sides of a topic of which nothing was copied yet.

    From there on, what a mirror leaves out at its beginning is missing, too.
    """
    starts, source_id = [], ""
    for each in seen:
        if each is None or each.source_start is None or each.committed:
            return None
        starts.append(each.source_start)
        source_id = each.source_id
    if not starts or not ends or any(end != 0 for end in ends):
        return None
    return TopicBalance(
        source_id=source_id,
        target_id=target_id,
        committed=tuple(starts),
        copies=0,
    )


def _stands(
    known: TopicBalance | None,
    seen: Sequence[PartitionView | None],
    target_id: str,
    ends: Sequence[int | None],
) -> bool:
    """Return whether nothing was committed or copied since a topic rested."""
    if known is None or known.target_id != target_id:
        return False
    for number, each in enumerate(seen):
        fact = None if each is None else each.committed
        if each is None or each.source_id != known.source_id:
            return False
        committed = known.committed[number : number + 1] or (0,)
        position = None if fact is None else fact.position
        if (position or 0) != committed[0]:
            return False
    copies = sum(end or 0 for end in ends)
    return all(end is not None for end in ends) and copies == known.copies


def _is_same(before: TopicBalance, now: TopicBalance) -> bool:
    """Return whether two rests are of the same topics, one after the other.

    A position that went back has lost what it proved.
    """
    return (
        before.source_id == now.source_id
        and before.target_id == now.target_id
        and len(before.committed) <= len(now.committed)
        and all(
            first <= after
            for first, after in zip(
                before.committed, now.committed, strict=False
            )
        )
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceFindings:
    """The balance of all topics of one flow."""

    title: str
    """Name of the mirror."""

    rested: int
    """Topics that are compared whenever they rest."""

    moving: int
    """Topics that have not rested within the last hour."""

    found: tuple[Shortfall, ...] = ()
    """What did not add up lately, the newest last."""

    unread: int = 0
    """Topics of which the source must be read first."""

    problem: str | None = None
    """What keeps it from being read, in a sentence."""


def find_balance(
    seen: BalanceFindings, lost: timedelta, warned: timedelta, now: datetime
) -> Iterator[Finding]:
    """Find what did not add up.

    Parameters
    ----------
    seen
        The balance of all topics.
    lost
        How long missing records, and unverifiable ones, are reported.
    warned
        How long duplicates are.
    now
        The time.
    """
    recent = [s for s in seen.found if now - s.at <= lost]
    losses = [s for s in recent if not s.filtered]
    if missing := _sum(losses, "missing"):
        topic, count, others = missing
        yield CheckFinding(
            Health.CRITICAL,
            f"At least {counted(count, 'record')} of {topic} "
            f"{agree(count, 'are')} missing at the target, although "
            f"{seen.title} committed past them. Check its log for dropped "
            "records (numDroppedMessages), and whether its offsets were set "
            f"forward{others}",
        )
    if doubtful := _sum(recent, "unverifiable"):
        topic, count, others = doubtful
        yield CheckFinding(
            Health.WARNING,
            f"{counted(count, 'record')} of {topic} cannot be verified: the "
            "target has no copies of as many, and the source no longer holds "
            f"what was written. They may have expired uncopied{others}",
        )
    if surplus := _sum(
        [s for s in seen.found if now - s.at <= warned], "surplus"
    ):
        topic, count, others = surplus
        yield CheckFinding(
            Health.WARNING,
            f"{topic} has {counted(count, 'record')} at the target beyond "
            "one copy of each: duplicates, or another producer. As many "
            f"dropped records would not show{others}",
        )
    if seen.problem is not None:
        yield CheckFinding(Health.UNKNOWN, seen.problem)
    elif seen.unread:
        yield CheckFinding(
            Health.UNKNOWN,
            f"{counted(seen.unread, 'topic')} {agree(seen.unread, 'are')} "
            "being read at the source, to separate records from markers",
        )
    if not seen.rested:
        yield CheckFinding(
            Health.OFF,
            f"Skipped records cannot be verified: {seen.title} writes no "
            "offset-syncs, and no topic has been at rest in the last hour",
        )
        return
    dropped = Counter[str]()
    for each in recent:
        dropped[each.topic] += each.filtered * each.missing
    note = filtered_note(dropped.values())
    waiting = (
        f"; {counted(seen.moving, 'topic')} "
        f"{agree(seen.moving, 'have')} not rested for an hour and cannot be "
        "verified"
        if seen.moving
        else ""
    )
    yield CheckFinding(
        Health.OK,
        f"No record is missing on {counted(seen.rested, 'topic')}, compared "
        f"whenever they rest{waiting}{note and f'; {note}'}",
    )


def _sum(found: Sequence[Shortfall], what: str) -> tuple[str, int, str] | None:
    """Return the newest topic, its count, and a note on others."""
    counts: dict[str, int] = {}
    for each in found:
        if count := getattr(each, what):
            counts[each.topic] = counts.pop(each.topic, 0) + count
    if not counts:
        return None
    topic, count = list(counts.items())[-1]
    others = len(counts) - 1
    note = f"; same for {counted(others, 'more topic')}" if others else ""
    return topic, count, note


def show_balance(seen: BalanceFindings, now: datetime) -> Evidence:
    """Return the evidence of a verdict on the balance of topics."""
    found: dict[str, str | int | float | bool | None] = {
        "topics_compared": seen.rested,
        "topics_not_rested": seen.moving,
    }
    for number, each in enumerate(reversed(seen.found[-_SHOWN:]), start=1):
        found[f"shortfall_{number}"] = (
            f"{each.topic}: {each.missing} missing"
            f"{' as configured' if each.filtered else ''}, "
            f"{each.surplus} surplus, {each.unverifiable} unverifiable, "
            f"{seconds(now - each.at)} ago"
        )
    return found


_SHOWN = 10
