"""What must hold of `topics`, `configs`, `retention` and `heartbeats`.

These follow from what is so of a world at each moment. So each has a rule here
that says what its verdict must at least be and may at most be now, and the
agent has a bounded time to notice: its verdict must have been right at some
moment of that time. Written down in ``docs/runbook.md`` are the limits, and
when each is unknown.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from mirrorwatch.domain.parity.configs import MATTERS
from mirrorwatch.domain.report import Health, Report, Verdict

from .cluster import Kind, Log, Record, SimTopic
from .families import traits_of
from .mirrormaker import HEARTBEATS, INTERNAL
from .world import World

__all__ = ["FactsJudge"]

MINUTE = 60.0

LOOK = 5.0
"""Seconds between two looks at the world."""

REFRESH = 600.0
"""Seconds that the agent takes for both where a mirror does not say it."""

OK, UNKNOWN = Health.OK, Health.UNKNOWN
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL


@dataclass(slots=True)
class _Since:
    first: float
    """When it began, or before, if nobody could see it end meanwhile."""

    seen: float | None = None
    gone: float | None = None
    """Since when it is not so, and the agent can see that."""


class Standing:
    """Since when things are so, as early and as late as the agent may think.

    It remembers what it saw over a restart, and what stood before and after
    a time in which it could not look is taken to have stood meanwhile.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, _Since] = {}

    def see(
        self,
        now: float,
        found: Iterable[Hashable],
        able: float,
        late: float,
        kept: Collection[Hashable] = (),
    ) -> None:
        """Take all that is so now.

        Parameters
        ----------
        now
            The time.
        found
            What is so.
        able
            For how long the agent has been able to look.
        late
            Seconds within which it has looked then.
        kept
            What it does not see, and does not forget yet.
        """
        found = set(found)
        for key in found:
            since = self._known.setdefault(key, _Since(now))
            since.gone = None
            if since.seen is None and able > late:
                since.seen = now
        for key in self._known.keys() - found:
            since = self._known[key]
            since.seen = None
            if key in kept:
                continue
            if since.gone is None or not able:
                since.gone = now
            elif now - since.gone > late:
                del self._known[key]

    def longest(self, key: Hashable, now: float) -> float:
        """Return for how long it is so at most, as the agent may see it."""
        return now - self._known[key].first

    def surely(self, key: Hashable, now: float) -> float:
        """Return for how long the agent has known it at least."""
        since = self._known.get(key)
        return 0.0 if since is None or since.seen is None else now - since.seen


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a verdict must be now, if the agent knew all at once."""

    least: Health = OK
    most: Health = OK
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What a mirror says of itself; the agent's own defaults where it does
    not.
    """

    tasks: bool
    refresh: float
    """Seconds between two looks for topics."""

    sync: float | None
    """Seconds between two syncs of configs, if there are any."""

    @classmethod
    def by(cls, world: World, kind: str) -> "Told":
        """Return what a kind of mirror says."""
        traits, settings = traits_of(kind), world.mirror.settings
        refresh = settings.refresh if traits.on_connect else REFRESH
        syncs = settings.syncs_configs and not traits.in_connect
        return cls(
            tasks=traits.on_connect,
            refresh=refresh,
            sync=refresh if syncs else None,
        )


class Rule(ABC):
    """What one check must say.

    Parameters
    ----------
    world
        The world.
    late
        Seconds within which the agent takes notice.
    told
        What its mirror says of itself.
    """

    check: str

    stale: float
    """Seconds without an answer after which it must not be `ok` any more."""

    def __init__(self, world: World, late: float, told: Told) -> None:
        self.world = world
        self.late = late
        self.told = told
        self._past: deque[tuple[float, Bounds]] = deque()

    @abstractmethod
    def bounds(self, now: float, able: float) -> Bounds:
        """Return what it must be now.

        Parameters
        ----------
        now
            The time.
        able
            For how long the agent has run and reached both clusters.
        """

    def look(self, now: float, able: float, silent: float) -> None:
        """Take what is so now.

        Parameters
        ----------
        now, able
            As of `bounds`.
        silent
            For how long a cluster has not answered the agent.
        """
        found = self.bounds(now, able)
        if able <= self.late:
            found = Bounds(found.least, found.most, unknown=True)
        if silent > self.stale:
            found = Bounds(max(found.least, UNKNOWN), found.most, unknown=True)
        self._past.append((now, found))
        while self._past[0][0] < now - self.late - LOOK:
            self._past.popleft()

    def judge(self, verdict: Verdict) -> str | None:
        """Return what is wrong with a verdict, if anything is."""
        recent = [bounds for _, bounds in self._past]
        if not recent or verdict.health is Health.OFF:
            return None
        least = min(b.least for b in recent)
        most = max(b.most for b in recent)
        health = verdict.health
        if health is UNKNOWN:
            if not any(b.unknown for b in recent):
                return "is unknown, and nothing keeps the agent from knowing"
        elif health > most:
            return f"must not be worse than {most.name}"
        elif health < least:
            return f"must be {least.name}"
        return None


Difference = tuple[str, str, Health, object]
"""What is not alike: in what, of which topic, how bad, and in which values."""


class TopicsRule(Rule):
    """Topics and partitions are there after two refreshes, or a minute."""

    check = "topics"

    def __init__(
        self, world: World, late: float, told: Told, *, chosen: bool
    ) -> None:
        super().__init__(world, late, told)
        self._chosen = chosen
        self._standing = Standing()
        self._found_at: dict[Difference, float] = {}
        """When each was last so of a topic that was listed."""

        self.stale = late + MINUTE

    def bounds(self, now: float, able: float) -> Bounds:
        world, standing = self.world, self._standing
        found = list(self._find())
        unlisted = self._recall(now, found, able)
        standing.see(now, found, able, self.late, unlisted)
        patience = max(2 * self.told.refresh, MINUTE)
        least = most = OK
        unknown = is_hidden(world)
        # It asks for what is hidden within half a minute.
        if unknown and able > self.late and self.told.tasks:
            least = UNKNOWN
        for key in (*found, *unlisted):
            what, topic, health = key[:3]
            allowed = 0.0 if what in {"unwanted", "more"} else patience
            if standing.longest(key, now) > allowed - LOOK:
                most = max(most, health)
            if standing.surely(key, now) <= allowed:
                continue
            if world.remote(topic) in world.target.denied:
                least, unknown = max(least, UNKNOWN), True
            else:
                least = max(least, health)
        return Bounds(least, most, unknown)

    def _recall(
        self, now: float, found: Iterable[Difference], able: float
    ) -> list[Difference]:
        """Return what it remembers of topics that it has seen unlisted for
        less than a minute.
        """
        world = self.world
        unseen = world.source.denied | world.source.hidden
        listed = world.source.topics.keys() - unseen
        self._found_at = {
            key: at if able else now
            for key, at in self._found_at.items()
            if key[1] not in listed and now - at <= MINUTE + self.late
        }
        unlisted = [key for key in self._found_at if key[0] != "unwanted"]
        self._found_at |= dict.fromkeys(found, now)
        return unlisted

    def _find(self) -> Iterator[Difference]:
        world = self.world
        unseen = world.source.denied | world.source.hidden
        for name, topic in world.source.topics.items():
            # Of what it does not see, it soon forgets what it knew.
            if INTERNAL.fullmatch(name) or name in unseen:
                continue
            if not world.mirror.carries(name):
                if self._chosen:
                    yield "unwanted", name, CRITICAL, topic.id
                continue
            copies = world.target.topics.get(world.remote(name))
            if copies is not None and copies.name in world.target.hidden:
                continue
            if copies is None or copies.name in world.target.denied:
                yield "missing", name, CRITICAL, topic.id
                continue
            here, there = len(topic.logs), len(copies.logs)
            if here != there:
                what = "fewer" if here > there else "more"
                yield what, name, WARNING, (topic.id, here, there)


class ConfigsRule(Rule):
    """Configs differ for no longer than a sync, a minute, and two readings."""

    check = "configs"

    def __init__(
        self, world: World, late: float, told: Told, *, every: float
    ) -> None:
        # One reading finds it, and another one that it is due.
        super().__init__(world, 2 * every + late, told)
        self._standing = Standing()
        self._readable = Standing()
        self.stale = 3 * every + late

    def bounds(self, now: float, able: float) -> Bounds:
        world, standing = self.world, self._standing
        found, denied = list(self._find()), self._denied()
        standing.see(now, found, able, self.late)
        # It remembers what it cannot read; what began then it does not know.
        readable = [key for key in found if key[0] not in denied]
        self._readable.see(now, readable, able, self.late)
        sync = self.told.sync
        patience = 0.0 if sync is None else sync + MINUTE
        least = most = OK
        for key in found:
            if standing.longest(key, now) >= patience - LOOK:
                most = WARNING
            if self._readable.surely(key, now) > patience:
                least = WARNING
        hidden, refused = is_hidden(world), bool(denied)
        if able > self.late and (refused or (hidden and self.told.tasks)):
            least = max(least, UNKNOWN)
        # It may be asked for configs of a copy that was just listed.
        unknown = hidden or refused or bool(world.target.denied)
        # Nor is it forgotten at once where the copy was deleted.
        unknown |= any(map(world.mirror.carries, world.source.denied_configs))
        return Bounds(least, most, unknown)

    def _denied(self) -> set[str]:
        world = self.world
        return {
            name
            for name, _, copies in _compared(world)
            if name in world.source.denied_configs
            or copies.name in world.target.denied_configs
        }

    def _find(self) -> Iterator[tuple[str, ...]]:
        for name, topic, copies in _compared(self.world):
            deletes = all(
                "delete" in t.effective("cleanup.policy")
                for t in (topic, copies)
            )
            for key in MATTERS:
                here, there = topic.effective(key), copies.effective(key)
                if here != there and (
                    deletes or not key.startswith("retention.")
                ):
                    yield name, key, here, there


def is_hidden(world: World) -> bool:
    """Return whether the agent may not see a topic that the mirror copies."""
    return any(map(world.mirror.carries, world.source.denied))


def _compared(world: World) -> Iterator[tuple[str, SimTopic, SimTopic]]:
    for name, topic in world.source.topics.items():
        copies = world.target.topics.get(world.remote(name))
        if (
            copies is not None
            and world.mirror.carries(name)
            and name not in world.source.denied
            and copies.name not in world.target.denied
        ):
            yield name, topic, copies


class RetentionRule(Rule):
    """The time left for the oldest record that waits is the true one.

    What waits is not copied; to the agent it may wait until it is committed.
    """

    check = "retention"
    stale = 3 * MINUTE
    _carried: AbstractSet[tuple[str, int]] = frozenset()

    def __init__(
        self, world: World, late: float, told: Told, *, chosen: bool
    ) -> None:
        super().__init__(world, late, told)
        self._chosen = chosen

    def bounds(self, now: float, able: float) -> Bounds:
        del now
        world = self.world
        source = world.source
        # Of what is copied while a cluster does not answer it knows nothing.
        least, most = OK, OK if able else CRITICAL
        hidden = is_hidden(world)
        unknown = hidden and self.told.tasks
        unknown |= any(map(world.mirror.carries, source.denied_configs))
        doubtful = hidden
        doubtful |= bool(world.deleted or source.hidden)
        # What it did not see before has to be read.
        carried = {
            (t.id, len(t.logs))
            for t in source.topics.values()
            if world.mirror.carries(t.name) and t.name not in source.denied
        }
        is_new = carried != self._carried
        doubtful |= is_new
        self._carried = carried
        for name, topic in source.topics.items():
            # Of a week nothing is used up in a world.
            kept = int(topic.configs.get("retention.ms", "-1")) / 1000
            doubtful |= bool(topic.stale_starts or topic.stale_ends)
            for number, log in enumerate(topic.logs):
                last = world.mirror.committed.get((name, number), -1)
                # Where no position is committed, it begins anew to look.
                doubtful |= log.leader is None or last >= log.end
                doubtful |= last < 0 < log.end and world.mirror.carries(name)
                if (
                    kept < 0
                    or not (self._chosen or world.mirror.carries(name))
                    or "delete" not in topic.effective("cleanup.policy")
                ):
                    continue
                told = self._told_age(log, last)
                # The agent's clock is not that of the brokers.
                apart = abs(source.ahead)
                most = max(most, _left(kept, told * 1.05 + 30 + apart))
                least = max(least, _left(kept, self._true_age(log) - apart))
        if unknown:
            least = min(least, UNKNOWN) if able <= self.late else UNKNOWN
        if is_new:
            least = OK
        return Bounds(least, most, unknown or doubtful)

    def _true_age(self, log: Log) -> float:
        """Return the age of the oldest record that is not copied."""
        age = 0.0
        # From the end: of thousands, few wait.
        for offset in range(log.stable_end - 1, log.start - 1, -1):
            record = log.at(offset)
            if record.copied or record.left:
                break
            if record.kind is Kind.DATA:
                age = self._age(record)
        return age

    def _told_age(self, log: Log, last: int) -> float:
        """Return the age of the oldest offset that is not committed."""
        first = max(log.start, last + 1)
        return self._age(log.at(first)) if first < log.end else 0.0

    def _age(self, record: Record) -> float:
        return (self.world.source.milliseconds() - record.timestamp) / 1000


def _left(kept: float, age: float) -> Health:
    """Return how bad an age is, of a retention of some hours at most."""
    share, left = 1 - age / kept, kept - age
    if share < 0.5 and left < 6 * 3600:
        return CRITICAL
    if share < 0.75 and left < 24 * 3600:
        return WARNING
    return OK


STALE_BEAT = 60.0
"""Seconds without a heartbeat that are too many."""

CEASED = 600.0
"""Seconds after which nobody is taken to write heartbeats at the source."""


class HeartbeatsRule(Rule):
    """Heartbeats are no older than a minute, where any are written."""

    check = "heartbeats"
    stale = 2 * MINUTE

    def bounds(self, now: float, able: float) -> Bounds:
        del able
        world = self.world
        least = most = OK
        emits = world.mirror.settings.heartbeats
        if emits:
            age = now - world.mirror.beat_at
            limit = max(STALE_BEAT, 10 * emits)
            if age > limit:
                least = WARNING
            if age > limit - LOOK:
                most = WARNING
        log = world.source.log(HEARTBEATS, 0)
        waits, newest = self._waits(log) if log is not None else (0.0, 0.0)
        if waits > STALE_BEAT and newest < CEASED - self.late:
            least = WARNING
        if waits > STALE_BEAT - LOOK:
            most = WARNING
        ceased = log is not None and newest > CEASED - self.late
        return Bounds(least, most, ceased)

    def _waits(self, log: Log) -> tuple[float, float]:
        """Return the ages of the oldest heartbeat that waits, and of the
        newest one.
        """
        now = self.world.source.milliseconds()
        if log.end == log.start:
            return 0.0, 0.0
        waiting = 0.0
        # From the end: of hundreds, few wait.
        for offset in range(log.end - 1, log.start - 1, -1):
            record = log.at(offset)
            if record.copied or record.left:
                break
            waiting = (now - record.timestamp) / 1000
        return waiting, (now - log.at(log.end - 1).timestamp) / 1000


@dataclass
class FactsJudge:
    """Holds four checks to what is so of a world."""

    world: World
    interval: float
    kind: str = "mirrormaker2"
    every: float = 300.0
    chosen: bool = False
    steps: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = field(init=False)
    _able_since: float | None = None
    _silent_since: float | None = None

    def __post_init__(self) -> None:
        world, late = self.world, 3 * self.interval + 45
        told = Told.by(world, self.kind)
        # After a start positions wait for two commits.
        commits = 4 * max(world.mirror.settings.flush, MINUTE)
        self.rules = (
            TopicsRule(world, late, told, chosen=self.chosen),
            ConfigsRule(world, late, told, every=self.every),
            RetentionRule(world, late + commits, told, chosen=self.chosen),
            HeartbeatsRule(world, late, told),
        )
        self.world.schedule.every(lambda: LOOK, self.look)
        self.look()

    def look(self) -> None:
        """See what is so now."""
        world, now = self.world, self.world.schedule.elapsed
        answers = (
            world.source.reachable is True and world.target.reachable is True
        )
        runs = world.agent.running and world.agent.frozen_until <= now
        if answers:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        if not (answers and runs):
            self._able_since = None
        else:
            since = now if self._able_since is None else self._able_since
            self._able_since = max(since, world.agent.started_at)
        able = 0.0 if self._able_since is None else now - self._able_since
        silent = (
            0.0 if self._silent_since is None else now - self._silent_since
        )
        for rule in self.rules:
            rule.look(now, able, silent)

    def take(self, report: Report) -> str | None:
        """Judge a report; return what is wrong with it, if anything is."""
        if "clock steps" in self.steps:
            return None
        self.look()
        by_check = {v.check: v for v in report.verdicts}
        for rule in self.rules:
            verdict = by_check[rule.check]
            why = rule.judge(verdict)
            if why is not None:
                return (
                    f"{rule.check} {why}: {verdict.health.name} "
                    f"{verdict.reason}"
                )
        return None
