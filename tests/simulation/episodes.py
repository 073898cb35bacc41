"""What goes wrong in worlds by chance, how it is drawn, and how it is done.

An episode is drawn as a list of plain steps, so that a world that fails can be
made smaller by leaving steps out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from .cluster import Kind, Log, Record
from .mirrormaker import OFFSETS, SYNCS
from .world import World

__all__ = ["EPISODES", "FAMILY_EPISODES", "LATER_EPISODES", "LATEST_EPISODES"]
__all__ += ["MENDED"]
__all__ += ["Episode", "Step", "do"]

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens to a world."""

    at: float
    what: str
    topic: str = ""
    partition: int = 0
    amount: float = 0.0


@dataclass(frozen=True)
class Episode:
    """Something that goes wrong, and how it is mended, as it is drawn."""

    random: Random
    at: float
    lasts: float
    topic: str
    partition: int

    def step(self, what: str, after: float = 0.0, amount: float = 0.0) -> Step:
        at = round(self.at + after, 1)
        return Step(at, what, self.topic, self.partition, amount)

    def pair(
        self, begin: str, end: str, lasts: float | None = None
    ) -> list[Step]:
        after = self.lasts if lasts is None else lasts
        return [self.step(begin), self.step(end, after)]

    def one(self, what: str, *amounts: float) -> list[Step]:
        return [self.step(what, 0.0, self.random.choice(amounts or (0.0,)))]

    def expiry(self) -> list[Step]:
        left = self.random.choice([0, 5, 200])
        restarts = self.random.random() < 0.5
        return [
            self.step("mirror dies"),
            self.step("expire", self.lasts, left),
            *([self.step("agent restarts", self.lasts + 20, 5)] * restarts),
            self.step("mirror starts", 2 * self.lasts + 40),
        ]

    def truncation(self) -> list[Step]:
        lost = self.random.choice([1, 20, 400])
        found = [self.step("truncate", 5.0, lost)]
        if self.random.random() < 0.5:
            found.insert(0, self.step("mirror dies"))
            found.append(self.step("mirror starts", self.lasts))
        return found

    def recreation(self) -> list[Step]:
        side = self.random.choice(["source", "target"])
        return [
            self.step(f"{side} topic is deleted"),
            self.step(f"{side} topic is back", self.random.choice([1.0, 90])),
        ]

    def filled_again(self) -> list[Step]:
        """Recreate a topic that is filled at once, and not wholly copied."""
        drops = self.random.random() < 0.5
        burst = self.random.choice([100, 500, 3000])
        after = self.random.choice([1.0, 3.0, 20.0])
        stopped = self.random.random() < 0.5
        return [
            *([self.step("mirror stops")] * stopped),
            self.step("source topic is deleted", 1.0),
            *([self.step("offset is deleted", 2.0)] * stopped),
            self.step("source topic is back", 3.0),
            self.step("burst", 3.5, 50),
            *([self.step("mirror starts", 4.0)] * stopped),
            *([self.step("drop", 4.0 + after, 20)] * drops),
            self.step("burst", 4.5 + after, burst),
            self.step("nothing is dropped", 30.0 + after),
        ]

    def failed_records(self) -> list[Step]:
        count = self.random.choice([1, 3, 50])
        return [
            self.step("records fail", 0.0, count),
            self.step("no record fails", self.lasts),
        ]

    def stale_copies(self) -> list[Step]:
        too_low = self.random.choice([1, 20, 200])
        lasts = self.random.choice([STALE, 2 * STALE])
        return [
            self.step("end of the copies is stale", 0.0, too_low),
            self.step("answers are right", lasts),
        ]

    def position_loss(self) -> list[Step]:
        what = self.random.choice(["offset", "offsets topic"])
        return [
            self.step("mirror stops"),
            self.step(f"{what} is deleted", 5.0),
            self.step("mirror starts", 5.0 + self.lasts),
        ]

    def lost_copies(self) -> list[Step]:
        lost = self.random.choice([1, 20, 150, 700])
        found = [self.step("copies are truncated", 5.0, lost)]
        if self.random.random() < 0.3:
            found.insert(0, self.step("mirror dies"))
            found.append(self.step("mirror starts", self.lasts))
        if self.random.random() < 0.3:
            found.append(self.step("burst", 5.5, 300))
        if self.random.random() < 0.3:
            found.append(self.step("agent restarts", 6.0, 30))
        return found

    def set_offset(self) -> list[Step]:
        by = self.random.choice([-500, -20, 20, 500])
        return [
            self.step("mirror stops"),
            self.step("burst", 1.0, self.random.choice([0, 600])),
            self.step("offset is set", 5.0, by),
            self.step("mirror starts", 5.0 + self.lasts),
        ]

    def open_transaction(self) -> list[Step]:
        ends = self.random.choice(["commits", "aborts"])
        return self.pair("transaction begins", f"transaction {ends}")


STALE = 10.0
"""Seconds for which a broker answers with what was so before."""

EPISODES: dict[str, Callable[[Episode], list[Step]]] = {
    "expiry": Episode.expiry,
    "retention": lambda e: e.one("retention"),
    "drop": lambda e: [
        *e.one("drop", 1, 3, 50),
        e.step("nothing is dropped", e.lasts),
    ],
    "mirror crash": lambda e: e.pair("mirror dies", "mirror starts"),
    "mirror restart": lambda e: e.pair("mirror stops", "mirror starts"),
    "freeze": lambda e: e.pair("mirror freezes", "mirror thaws"),
    "zombie": lambda e: e.pair("mirror rebalances", "zombies are fenced"),
    "rename": lambda e: e.one("connector is renamed"),
    "allow-list": lambda e: e.pair("allow-list narrows", "allow-list widens"),
    "position loss": Episode.position_loss,
    "agent restart": lambda e: e.one("agent restarts", 1, 60, e.lasts),
    "delayed ticks": lambda e: e.one("agent stalls", 45, e.lasts),
    "source away": lambda e: e.pair("source is cut", "source is back"),
    "source hangs": lambda e: e.pair("source hangs", "source is back"),
    "target away": lambda e: e.pair("target is cut", "target is back"),
    "target hangs": lambda e: e.pair("target hangs", "target is back"),
    "both away": lambda e: e.pair("brokers are down", "brokers are up"),
    "denied topic": lambda e: e.pair("topic is denied", "topic is allowed"),
    "hidden topic": lambda e: e.pair("topic is hidden", "all is listed", 12),
    "hidden copy": lambda e: e.pair("copy is hidden", "all is listed", 12),
    "hidden offsets": lambda e: e.pair(
        "offsets are hidden", "all is listed", 12
    ),
    "leaderless": lambda e: e.pair("leader is lost", "leader is elected"),
    "truncation": Episode.truncation,
    "recreation": Episode.recreation,
    "compaction": lambda e: e.one("compaction"),
    "compaction of copies": lambda e: e.one("copies are compacted"),
    "new topic": lambda e: e.one("topic appears"),
    "growth": lambda e: e.one("topic grows"),
    "stale start": lambda e: e.pair(
        "start is stale", "answers are right", STALE
    ),
    "stale end": lambda e: e.pair("end is stale", "answers are right", STALE),
    "clock": lambda e: e.one("clock steps", -3600, -37, 86_400),
    "transaction": lambda e: e.one("transaction", 0, 1),
    "open transaction": Episode.open_transaction,
    "burst": lambda e: e.one("burst", 500, 5000),
    "foreign": lambda e: e.one("foreign records", 1, 50, 2000),
    "slow": lambda e: e.pair("answers are slow", "answers are fast"),
}

LATER_EPISODES: dict[str, Callable[[Episode], list[Step]]] = {
    "failed records": Episode.failed_records,
    "failed syncs": lambda e: e.pair("syncs fail", "syncs are written"),
    "filled again": Episode.filled_again,
    "stale end of copies": Episode.stale_copies,
}
"""The same, of worlds from `chance.WIDER_FROM` on: seeds before it give what
they always gave."""

ANY = (
    *("expiry", "expiry", "retention", "mirror crash", "mirror restart"),
    *("freeze", "agent restart", "delayed ticks", "source away"),
    *("source hangs", "target away", "target hangs", "both away"),
    *("denied topic", "hidden topic", "hidden copy", "leaderless"),
    *("truncation", "compaction", "new topic", "growth", "stale start"),
    *("stale end", "stale end of copies", "clock", "transaction"),
    *("open transaction", "burst", "slow"),
)

LATEST_EPISODES: dict[str, Callable[[Episode], list[Step]]] = {
    "lost copies": Episode.lost_copies,
    "retention of copies": lambda e: e.one("copies expire", 0, 5, 200),
    "offset set": Episode.set_offset,
}

COMMITS = (
    *ANY,
    *("drop", "position loss", "recreation", "compaction of copies"),
    "foreign",
)

FAMILY_EPISODES: Mapping[str, tuple[str, ...]] = {
    "mirrormaker1": COMMITS,
    "brooklin": COMMITS,
    "group": COMMITS,
    "redpanda-migrator": COMMITS,
    "mirus": (*COMMITS, "zombie"),
    # It copies batches as they are, and nobody else may write to its topics.
    "linked": ANY,
}
"""What worlds of mirrors without offset-syncs may have, by kind; what is named
twice is as likely again."""

MENDED = [
    "producers write",
    "nothing is dropped",
    "no record fails",
    "syncs are written",
    "mirror thaws",
    "zombies are fenced",
    "allow-list widens",
    "source is back",
    "target is back",
    "brokers are up",
    "leaders are elected",
    "brokers are complete",
    "transactions end",
    "all is listed",
    "topic is allowed",
    "topics are back",
    "answers are right",
    "answers are fast",
    "tasks move",
    "mirror starts",
]
"""What is done to every world before it is left alone."""


def do(world: World, step: Step) -> None:
    """Do one step to a world."""
    _DEEDS[step.what](world, step)


def _set(**values: object) -> Callable[[World, Step], None]:

    def work(world: World, _: Step) -> None:
        for name, value in values.items():
            part, _sep, attribute = name.partition("_")
            setattr(getattr(world, part), attribute, value)

    return work


def _restart_agent(world: World, step: Step) -> None:
    if world.agent.running:
        world.agent.kill()
        world.schedule.after(step.amount, world.agent.start)


def _stall_agent(world: World, step: Step) -> None:
    world.agent.frozen_until = world.schedule.elapsed + step.amount


def _lead(world: World, step: Step, *, is_led: bool) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is not None:
        log.leader = log.preferred if is_led else None


def _source_logs(world: World) -> list[Log]:
    return [log for t in world.source.topics.values() for log in t.logs]


def _elect(world: World, _: Step) -> None:
    for log in _source_logs(world):
        log.leader = log.preferred


def _complete(world: World, step: Step) -> None:
    for cluster in (world.source, world.target):
        cluster.return_broker(int(step.amount))


def _appear(world: World, step: Step) -> None:
    name = f"{step.topic}.new{int(step.at)}"
    world.source.create(name, 1)
    world.traffic(name, per_second=0.5)


def _grow(world: World, step: Step) -> None:
    topic = world.source.topics.get(step.topic)
    if topic is not None:
        world.source.grow(step.topic, len(topic.logs) + 1)


def _make_start_stale(world: World, step: Step) -> None:
    topic = world.source.topics.get(step.topic)
    if topic is not None:
        topic.stale_starts[step.partition] = 0


def _make_end_stale(world: World, step: Step) -> None:
    topic = world.source.topics.get(step.topic)
    if topic is not None:
        log = topic.logs[step.partition]
        topic.stale_ends[step.partition] = max(log.start, log.end - 20)


def _make_copies_stale(world: World, step: Step) -> None:
    topic = world.target.topics.get(world.remote(step.topic))
    if topic is not None and step.partition < len(topic.logs):
        log = topic.logs[step.partition]
        too_low = max(log.start, log.end - int(step.amount))
        topic.stale_ends[step.partition] = too_low


def _answer_rightly(world: World, _: Step) -> None:
    for cluster in (world.source, world.target):
        for topic in cluster.topics.values():
            topic.stale_starts.clear()
            topic.stale_ends.clear()


def _step_clock(world: World, step: Step) -> None:
    world.schedule.step += timedelta(seconds=step.amount)


def _transact(world: World, step: Step) -> None:
    _begin(world, step)
    _end(world, step, aborts=bool(step.amount))


def _begin(world: World, step: Step) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is None or log.leader is None or log.open_from is not None:
        return
    log.open_from = log.end
    at = world.source.milliseconds()
    for n in range(5):
        key = b"t%d" % n if world.keys.get(step.topic) else None
        log.append(Record(key, b"t", at, in_transaction=True))


def _end(world: World, step: Step, *, aborts: bool) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is not None:
        log.end_transaction(world.source.milliseconds(), aborts=aborts)


def _end_all(world: World, _: Step) -> None:
    for log in _source_logs(world):
        log.end_transaction(world.source.milliseconds(), aborts=False)


def _write_foreign(world: World, step: Step) -> None:
    log = world.target.log(world.remote(step.topic), step.partition)
    if log is not None:
        for _ in range(int(step.amount)):
            at = world.target.milliseconds()
            log.append(Record(None, b"foreign", at))


def _next(step: Step) -> Callable[[str, int, Record], bool]:
    """Return whether a record is one of the next ones of a partition."""
    left = [int(step.amount)]

    def is_one(name: str, partition: int, _: Record) -> bool:
        if (name, partition) == (step.topic, step.partition) and left[0]:
            left[0] -= 1
            return True
        return False

    return is_one


def _drop(world: World, step: Step) -> None:
    world.mirror.drops = _next(step)


def _fail(world: World, step: Step) -> None:
    world.mirror.fails = _next(step)


def _retain(world: World, step: Step) -> None:
    """Let records expire that were copied, but for the last of them."""
    log = world.source.log(step.topic, step.partition)
    if log is None:
        return
    start = log.start
    for offset, record in log.span(log.start, log.end - 20):
        if record.kind is Kind.DATA and not (record.copied or record.left):
            break
        start = offset + 1
    # What was not committed is not known to be copied.
    last = world.mirror.committed.get((step.topic, step.partition), -1)
    log.expire(min(start, last + 1))


def _truncate(world: World, step: Step) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is not None:
        log.truncate(log.end - int(step.amount))
        key = step.topic, step.partition
        world.truncated[key] = world.schedule.elapsed


def _truncate_copies(world: World, step: Step) -> None:
    log = world.target.log(world.remote(step.topic), step.partition)
    if log is not None:
        world.oracle.uncopy(log.truncate(log.end - int(step.amount)))
        world.mirror.expect()
        world.cut_copies.add((step.topic, step.partition))


def _retain_copies(world: World, step: Step) -> None:
    """Let copies expire, as where the target keeps less than the source."""
    log = world.target.log(world.remote(step.topic), step.partition)
    if log is not None:
        log.expire(log.end - int(step.amount))


def _set_offset(world: World, step: Step) -> None:
    key = step.topic, step.partition
    last = world.mirror.committed.get(key)
    if last is not None:
        world.mirror.set_offset(key, last + int(step.amount))


def _compact(world: World, step: Step) -> None:
    log = world.source.log(step.topic, step.partition)
    if log is not None and world.keys.get(step.topic):
        log.compact(log.end - 5)


def _compact_copies(world: World, step: Step) -> None:
    log = world.target.log(world.remote(step.topic), step.partition)
    if log is not None and world.keys.get(step.topic):
        log.compact(log.end - 5)


def _delete_source(world: World, step: Step) -> None:
    topic = world.source.topics.get(step.topic)
    if topic is not None:
        world.deleted[step.topic] = len(topic.logs), dict(topic.configs)
        world.source.delete(step.topic)


def _recreate_source(world: World, step: Step) -> None:
    if step.topic in world.deleted:
        partitions, configs = world.deleted.pop(step.topic)
        world.source.create(
            step.topic,
            partitions,
            **{k.replace(".", "_"): v for k, v in configs.items()},
        )


def _recreate_all(world: World, step: Step) -> None:
    for topic in list(world.deleted):
        _recreate_source(world, Step(step.at, "", topic))


def _delete_target(world: World, step: Step) -> None:
    world.target.delete(world.remote(step.topic))


def _recreate_target(world: World, step: Step) -> None:
    """Make it again as MirrorMaker's producer does, at the first record."""
    topic = world.source.topics.get(step.topic)
    if topic is not None:
        configs = {k.replace(".", "_"): v for k, v in topic.configs.items()}
        remote = world.remote(step.topic)
        world.target.create(remote, len(topic.logs), **configs)


def _narrow(world: World, step: Step) -> None:
    others = [t for t in world.source.topics if t != step.topic]
    world.mirror.stop()
    world.mirror.settings.include = ",".join(
        t.replace(".", "[.]") for t in others
    )
    world.mirror.start()


def _widen(world: World, _: Step) -> None:
    if world.mirror.settings.include != ".*":
        world.mirror.stop()
        for name, topic in world.source.topics.items():
            if not world.mirror.carries(name):
                for partition, log in enumerate(topic.logs):
                    world.oracle.begins[name, partition] = log.end
        world.mirror.settings.include = ".*"
        world.mirror.start()


def _deny(world: World, step: Step) -> None:
    world.source.denied.add(step.topic)


def _allow(world: World, _: Step) -> None:
    world.source.denied.clear()
    world.target.denied.clear()


def _list_all(world: World, _: Step) -> None:
    world.source.hidden.clear()
    world.target.hidden.clear()


def _hide_internal(world: World, _: Step) -> None:
    world.target.hidden.add(OFFSETS)
    world.source.hidden.add(SYNCS)


_DEEDS: Mapping[str, Callable[[World, Step], None]] = {
    "mirror dies": lambda w, _: w.mirror.kill(),
    "mirror stops": lambda w, _: w.mirror.stop(),
    "mirror starts": lambda w, _: w.mirror.start(),
    "mirror freezes": _set(mirror_frozen=True),
    "mirror thaws": _set(mirror_frozen=False),
    "mirror rebalances": lambda w, _: w.mirror.rebalance(),
    "worker dies": lambda w, _: w.mirror.lose_worker(),
    "tasks move": lambda w, _: w.mirror.move_tasks(),
    "worker is back": lambda w, _: w.mirror.return_worker(),
    "zombies are fenced": lambda w, _: w.mirror.fence(),
    "connector is renamed": lambda w, _: w.mirror.rename(),
    "allow-list narrows": _narrow,
    "allow-list widens": _widen,
    "offset is deleted": lambda w, s: w.mirror.forget((s.topic, s.partition)),
    "offsets topic is deleted": lambda w, _: w.mirror.forget(),
    "expire": lambda w, s: w.expire(s.topic, s.partition, int(s.amount)),
    "retention": _retain,
    "drop": _drop,
    "nothing is dropped": _set(mirror_drops=lambda *_: False),
    "records fail": _fail,
    "no record fails": _set(mirror_fails=lambda *_: False),
    "syncs fail": _set(mirror_syncs_fail=True),
    "syncs are written": _set(mirror_syncs_fail=False),
    "agent restarts": _restart_agent,
    "agent stalls": _stall_agent,
    "source is cut": _set(source_reachable=False),
    "source hangs": _set(source_reachable=None),
    "source is back": _set(source_reachable=True),
    "target is cut": _set(target_reachable=False),
    "target hangs": _set(target_reachable=None),
    "target is back": _set(target_reachable=True),
    "brokers are down": _set(
        source_up=False,
        target_up=False,
        source_reachable=False,
        target_reachable=False,
    ),
    "brokers are up": _set(
        source_up=True,
        target_up=True,
        source_reachable=True,
        target_reachable=True,
    ),
    "topic is denied": _deny,
    "topic is allowed": _allow,
    "topic is hidden": lambda w, s: w.source.hidden.add(s.topic),
    "copy is hidden": lambda w, s: w.target.hidden.add(w.remote(s.topic)),
    "offsets are hidden": _hide_internal,
    "all is listed": _list_all,
    "leader is lost": lambda w, s: _lead(w, s, is_led=False),
    "leader is elected": lambda w, s: _lead(w, s, is_led=True),
    "leaders are elected": _elect,
    "source broker is lost": lambda w, s: w.source.lose_broker(int(s.amount)),
    "target broker is lost": lambda w, s: w.target.lose_broker(int(s.amount)),
    "brokers are complete": _complete,
    "truncate": _truncate,
    "source topic is deleted": _delete_source,
    "source topic is back": _recreate_source,
    "topics are back": _recreate_all,
    "target topic is deleted": _delete_target,
    "target topic is back": _recreate_target,
    "copies are truncated": _truncate_copies,
    "copies expire": _retain_copies,
    "offset is set": _set_offset,
    "compaction": _compact,
    "copies are compacted": _compact_copies,
    "topic appears": _appear,
    "topic grows": _grow,
    "start is stale": _make_start_stale,
    "end is stale": _make_end_stale,
    "end of the copies is stale": _make_copies_stale,
    "answers are right": _answer_rightly,
    "clock steps": _step_clock,
    "transaction": _transact,
    "transaction begins": _begin,
    "transaction commits": lambda w, s: _end(w, s, aborts=False),
    "transaction aborts": lambda w, s: _end(w, s, aborts=True),
    "transactions end": _end_all,
    "burst": lambda w, s: w.produce(
        s.topic, s.partition, int(s.amount), w.keys.get(s.topic, 0)
    ),
    "foreign records": _write_foreign,
    "producers rest": lambda w, _: setattr(w, "quiet", True),
    "producers write": lambda w, _: setattr(w, "quiet", False),
    "answers are slow": _set(network_slow=0.1),
    "answers are fast": _set(network_slow=0.0),
}
