"""Two sites, a mirror, InfluxDB, an agent and traffic, and their faults."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Self

from mirrorwatch_lab import CANARY_TOPIC, SOURCE, TARGET, Lab, LabSettings
from mirrorwatch_lab.exceptions import LabError
from mirrorwatch_lab.faults import MARK, drop_marked, expire, recreate_topic
from mirrorwatch_lab.waiting import wait_until
from tests.support.influx import (
    InfluxServer,
    influx_config,
    influx_environment,
)
from tests.support.series import Series
from tests.support.stalls import Stalls
from tests.support.watch import describe

from .grading import (
    BLINDING,
    LOST_SECONDS,
    SIGHT_SECONDS,
    WARNED_SECONDS,
    Claim,
    Injection,
    counts_said,
    reports,
)
from .internals import InternalTopics
from .schedule import Kind, Step
from .truth import Reader, Traffic, written_by
from .watcher import WatchedAgent

__all__ = ["Stage"]

STEADY = "chaos.steady"
DROPPED = "chaos.dropped"
TAIL = "chaos.tail"
EXPIRED = "chaos.expired"
GROWN = "chaos.grown"
AGAIN = "chaos.again"
THERE = "chaos.there"

OFFSET_SYNCS = f"mm2-offset-syncs.{TARGET}.internal"
OFFSETS = f"mm2-offsets.{SOURCE}.internal"

PARTITIONS = {STEADY: 2, DROPPED: 2, EXPIRED: 2, GROWN: 1}
"""Topics that are written to all the time."""

RATES = {STEADY: 5, DROPPED: 3, EXPIRED: 3, GROWN: 2}

QUIET = {TAIL: 1, AGAIN: 1, THERE: 1}
"""Topics to which only faults write."""

CANARY_PARTITIONS = 2

FOLLOWED = (*PARTITIONS, TAIL, CANARY_TOPIC)
"""Topics that are never made again."""

REMADE = (AGAIN, THERE)

EXPIRES = frozenset({Kind.EXPIRE, Kind.DELETE, Kind.LOSE_PROBES})

AT_ONCE = EXPIRES | {
    *(Kind.RECREATE_SHORTER, Kind.RECREATE_LONGER, Kind.RECREATE_TARGET),
    *(Kind.GROW, Kind.CREATE, Kind.DROP),
}
"""What has happened once it began, and is only to be seen."""

UNHIDDEN_SECONDS = SIGHT_SECONDS + 25
"""How long a fault goes on once the agent is there to see it."""

KEPT = 3
"""Records of a partition that do not expire, so that the mirror resumes."""

FIRST = 40
"""Records that a quiet topic has from the start."""

IN_FLIGHT_SECONDS = 2.0
"""Between two looks at the target: what is in flight arrives meanwhile, and
what is the same in both does not."""

LOOKS = 20
"""Most of them, on a machine that does other things."""

SETTLE_SECONDS = 75.0
"""Longest until counts are true: the mirror writes a sync for each hundredth
record of a partition."""

OPERATOR_SECONDS = 100.0
"""After so long somebody restarts a mirror that does not recover."""

LIMIT = timedelta(seconds=240)


def mirror_properties() -> dict[str, str]:
    """Return what the mirror has beside the lab's fast intervals."""
    return {
        **drop_marked(),
        "tasks.max": "2",
        f"{TARGET}.offset.flush.interval.ms": "5000",
        "refresh.topics.interval.seconds": "10",
        "sync.topic.configs.interval.seconds": "5",
    }


def configure(lab: Lab, influx: InfluxServer) -> dict[str, Any]:
    """Return the agent's configuration: all limits fit for an hour."""
    config = describe(lab, canary={"interval": "250ms", "deadline": "10s"})
    (flow,) = config["flows"]
    flow["mirror"]["jmx"] = {
        "format": "jolokia",
        "urls": [lab.mirror.jolokia_url],
    }
    lost, warned = f"{LOST_SECONDS}s", f"{WARNED_SECONDS}s"
    windows = {"warning_window": warned}
    flow["limits"] = {
        "losses": {"critical": lost},
        "canary": windows,
        # Two flushes of this mirror, as by default.
        "skips": windows,
        "position": {"rewind_window": warned},
        "configs": {"every": "10s"},
        # An hour of chaos is full of restarts.
        "tasks": {"failures": 1000, "restarts": 1000},
    }
    config["interval"] = "1s"
    config["sinks"] = {"influxdb": influx_config(influx)}
    return config


Deed = Callable[[Injection, Step], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """What is true, and what was said, by topic, since the start."""

    missing: Mapping[str, int]
    """Records that are not at the target."""

    copies: Mapping[str, int]
    """Copies beyond the first of each record."""

    skipped: Mapping[str, int]
    """Records that the agent says are skipped, and not copied later."""

    repeated: Mapping[str, int]
    probes_lost: int


class Stage:
    """Everything that runs.

    Parameters
    ----------
    folder
        An empty folder.
    influx
        Kind of InfluxDB.
    mirror_kafka
        Version of MirrorMaker 2; that of the brokers if empty.
    """

    def __init__(
        self,
        folder: Path,
        influx: type[InfluxServer],
        *,
        mirror_kafka: str = "",
    ) -> None:
        self._folder = folder
        self._mirror_kafka = mirror_kafka
        self._influx_kind = influx
        self._open = ExitStack()
        self._pausing = Event()
        self.injections: list[Injection] = []
        self.doubts: list[str] = []

        self._made: dict[str, list[bytes]] = {}
        """What was written to topics that only faults write to."""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def _start(self) -> None:
        place = self._folder / "influx"
        place.mkdir(parents=True)
        self.influx = self._influx_kind(place)
        self._open.callback(self.influx.kill)
        self.influx.start()
        self.influx.set_up()
        settings = LabSettings(
            topics={CANARY_TOPIC: CANARY_PARTITIONS, **PARTITIONS, **QUIET},
            intervals="fast",
            mirror_kafka=self._mirror_kafka,
            mirror_properties=mirror_properties(),
        )
        self.lab = self._open.enter_context(Lab(settings))
        # What does not run cannot be stopped in order.
        self._open.callback(self._thaw)
        for topic in QUIET:
            self._write(topic, FIRST)
        # So each partition is known before anything happens to it.
        self.source, self.target = (
            self._open.enter_context(Reader(site.bootstrap, FOLLOWED))
            for site in (self.lab.source, self.lab.target)
        )
        self.traffic = self._open.enter_context(
            Traffic(self.lab.source.bootstrap, RATES)
        )
        self.traffic.partitions.update(PARTITIONS)
        self.agent = self._open.enter_context(
            WatchedAgent(
                self._folder / "agents",
                configure(self.lab, self.influx),
                influx_environment(self.influx),
            )
        )
        self._open.enter_context(
            InternalTopics(
                self._folder / "internals.jsonl",
                {
                    self.lab.source.bootstrap: OFFSET_SYNCS,
                    self.lab.target.bootstrap: OFFSETS,
                },
                lambda: self.agent.now,
            )
        )
        self.stalls = self._open.enter_context(Stalls(self._folder))
        wait_until(
            self.agent.is_well,
            limit=LIMIT,
            what=lambda: f"not all is ok: {self.agent.troubles()}",
        )
        self.pause(20)  # all syncs of the start are judged

    def _thaw(self) -> None:
        for part in self.lab.parts.values():
            part.thaw()
        self.influx.thaw()
        for link in (self.lab.link_mirror, self.lab.link_agent):
            link.restore()

    def pause(self, seconds: float) -> None:
        """Let things take their course."""
        self._pausing.wait(seconds)

    def say(self, text: str) -> None:
        """Print what happens, with the time."""
        print(f"{self.agent.now:7.1f} s  {text}", flush=True)

    def run(self, step: Step) -> None:
        """Inject what a step has, repair it, and wait until all is ok."""
        self.say(f"{step.number}. {step}")
        try:
            self._run(step)
        except LabError as e:
            # One fault that was not injected as it should be, of many.
            self.say(f"   NOT DONE: {e}")
            self.doubts.append(f"{step.number} {step.kind} was not done: {e}")
            self._put_in_order()

    def _put_in_order(self) -> None:
        self._thaw()
        self._thaw_agent()
        if not self.influx.is_running:
            self.influx.start()
        for part in (self.lab.source, self.lab.target, self.lab.mirror):
            part.start()
        if self.agent.agent is None:
            self.agent.start()
        self.traffic.go_on(EXPIRED)
        unrepaired = [i for i in self.injections if i.healed is None]
        for injection in unrepaired:
            injection.ended = injection.ended or self.agent.now
        if unrepaired:
            self._heal(unrepaired)

    def _run(self, step: Step) -> None:
        before = self._counts()
        main = self._begin(step.kind, step)
        quick = step.kind in AT_ONCE
        until = self.agent.now + (step.seconds // 2 if quick else step.seconds)
        injected = [main]
        if step.beside is not None:
            self.pause(3)
            beside = self._begin(step.beside, step)
            injected.append(beside)
            self.pause(step.beside_seconds)
            self._end(beside, step)
            if step.beside in BLINDING:
                # What it hid is to be seen before the other ends.
                until = max(until, self.agent.now + UNHIDDEN_SECONDS)
        self.pause(max(0.0, until - self.agent.now))
        self._end(main, step)
        self._heal(injected)
        self._settle(main, before)
        self._heal(injected)
        self._say_result(injected)

    def _say_result(self, injected: Sequence[Injection]) -> None:
        told = [
            f"{r.check} " + ("not due" if r.waived else _after(r.seconds))
            for r in reports(self.injections, self.agent.looks)
            if r.injection in injected
        ]
        counts = [
            f"{c.what} {c.said}/{c.true}" for i in injected for c in i.claims
        ]
        healed = [
            f"healed after {i.healed - i.ended:.0f} s"
            for i in injected[:1]
            if i.healed is not None and i.ended is not None
        ]
        self.say("   " + "; ".join([*told, *counts, *healed]))

    def _begin(self, kind: Kind, step: Step) -> Injection:
        injection = Injection(
            number=step.number, kind=kind, began=self.agent.now
        )
        self.injections.append(injection)
        begin = self._deeds[kind][0]
        begin(injection, step)
        return injection

    def _end(self, injection: Injection, step: Step) -> None:
        end = self._deeds[injection.kind][1]
        end(injection, step)
        injection.ended = self.agent.now

    @property
    def _deeds(self) -> Mapping[Kind, tuple[Deed, Deed]]:
        lab, agent = self.lab, self.agent

        def plain(
            begin: Callable[[], object], end: Callable[[], object]
        ) -> tuple[Deed, Deed]:
            return lambda _, __: begin(), lambda _, __: end()

        start_mirror = plain(self._nothing, lab.mirror.start)[1]
        nothing = plain(self._nothing, self._nothing)[1]
        return {
            Kind.KILL_MIRROR: plain(lab.mirror.kill, lab.mirror.start),
            Kind.FREEZE_MIRROR: plain(lab.mirror.freeze, lab.mirror.thaw),
            Kind.STOP_MIRROR: plain(lab.mirror.stop, lab.mirror.start),
            Kind.KILL_SOURCE: plain(lab.source.kill, lab.source.start),
            Kind.FREEZE_SOURCE: plain(lab.source.freeze, lab.source.thaw),
            Kind.KILL_TARGET: plain(lab.target.kill, lab.target.start),
            Kind.FREEZE_TARGET: plain(lab.target.freeze, lab.target.thaw),
            Kind.CUT_MIRROR: plain(
                lab.link_mirror.cut, lab.link_mirror.restore
            ),
            Kind.STALL_MIRROR: plain(
                lab.link_mirror.stall, lab.link_mirror.restore
            ),
            Kind.CUT_AGENT: plain(lab.link_agent.cut, lab.link_agent.restore),
            Kind.STALL_AGENT: plain(
                lab.link_agent.stall, lab.link_agent.restore
            ),
            Kind.KILL_INFLUX: plain(self.influx.kill, self.influx.start),
            Kind.FREEZE_INFLUX: plain(self.influx.freeze, self.influx.thaw),
            Kind.KILL_AGENT: plain(agent.kill, agent.start),
            Kind.FREEZE_AGENT: plain(self._freeze_agent, self._thaw_agent),
            Kind.EXPIRE: (self._expire, start_mirror),
            Kind.DELETE: (self._delete, start_mirror),
            Kind.LOSE_PROBES: (self._lose_probes, start_mirror),
            Kind.RECREATE_SHORTER: (self._recreate_source, start_mirror),
            Kind.RECREATE_LONGER: (self._recreate_source, start_mirror),
            Kind.RECREATE_TARGET: (self._recreate_target, start_mirror),
            Kind.GROW: (self._grow, nothing),
            Kind.CREATE: (self._create, nothing),
            Kind.DROP: (self._drop, nothing),
            Kind.DROP_TAIL: (self._drop_tail, self._pass_tail),
        }

    def _nothing(self) -> None:
        """Repair nothing: it repairs itself."""

    @property
    def spooled(self) -> int:
        """Points that wait to be written; -1 if the agent does not say."""
        return self._sink_points("mirrorwatch_sink_spooled_points")

    @property
    def lost_points(self) -> int:
        """Points that the agent gave up, as it says."""
        return self._sink_points("mirrorwatch_sink_lost_points_total")

    def _sink_points(self, name: str) -> int:
        figures = self.agent.metrics()
        found = figures.get((name, (("sink", "influxdb"),)), -1)
        return round(found)

    def read_whole(self) -> str:
        """Read both sides once more from the start; note what differs from
        what was read as it came.
        """
        records = 0
        for topic in FOLLOWED:
            copies = self._read_target(topic)
            records += copies.total()
            followed = self.target.values(topic)
            if copies != followed:
                self.doubts.append(
                    f"The truth itself is in doubt: {topic} has "
                    f"{copies.total()} records at the target, "
                    f"{followed.total()} were read as they came"
                )
        return f"{records} records at the target"

    def _freeze_agent(self) -> None:
        if self.agent.agent is not None:
            self.agent.agent.freeze()

    def _thaw_agent(self) -> None:
        if self.agent.agent is not None:
            self.agent.agent.thaw()

    def _put_down_mirror(self, step: Step) -> None:
        if step.crash:
            self.lab.mirror.kill()
        else:
            self.lab.mirror.stop()

    def _write(
        self,
        topic: str,
        number: int,
        *,
        partition: int = 0,
        headers: Mapping[str, bytes] | None = None,
    ) -> list[bytes]:
        known = self._made.setdefault(topic, [])
        sent = written_by(
            self.lab.source.bootstrap,
            topic,
            [f"{topic} by hand {len(known) + n}" for n in range(number)],
            partition=partition,
            headers=headers,
        )
        known += sent
        return sent

    def _expire(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({EXPIRED})
        self._put_down_mirror(step)
        self.pause(3)
        self._write(EXPIRED, step.amount)
        self.traffic.pause(EXPIRED)
        self._read_all(EXPIRED)
        expire(self.lab.source.topics, EXPIRED)
        injection.due = self.agent.now
        self.traffic.go_on(EXPIRED)

    def _delete(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({EXPIRED})
        self._put_down_mirror(step)
        self.pause(3)
        self._write(EXPIRED, step.amount)
        self._cut_off(injection, EXPIRED)

    def _lose_probes(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({CANARY_TOPIC})
        self._put_down_mirror(step)
        self.pause(6)
        self._cut_off(injection, CANARY_TOPIC)

    def _cut_off(self, injection: Injection, topic: str) -> None:
        """Delete all records of a topic but the last."""
        ends = self._read_all(topic)
        self.lab.delete_records(
            topic, {p: max(0, end - KEPT) for p, end in ends.items()}
        )
        injection.due = self.agent.now

    def _read_all(self, topic: str) -> dict[int, int]:
        """Read what a topic of the source holds, before it is deleted."""
        found = self.lab.source.topics.ends(topic)
        ends = {p: end for p, (_, end) in found.items()}
        self.source.read_to(topic, ends)
        return ends

    def _recreate_source(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({AGAIN})
        self._put_down_mirror(step)
        self.pause(3)
        ((_, position),) = self.lab.source.topics.ends(AGAIN).values()
        longer = injection.kind is Kind.RECREATE_LONGER
        number = position + step.amount if longer else position // 2
        recreate_topic(self.lab.source.topics, AGAIN, 1)
        injection.due = self.agent.now
        self._new = self._write(AGAIN, max(1, number))

    def _recreate_target(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({THERE})
        self._put_down_mirror(step)
        self.pause(3)
        ((low, high),) = self.lab.target.topics.ends(THERE).values()
        recreate_topic(self.lab.target.topics, THERE, 1)
        injection.due = self.agent.now
        injection.gone = high - low
        self._new = self._write(THERE, step.amount)

    def _grow(self, injection: Injection, step: Step) -> None:
        number = self.traffic.partitions[GROWN]
        self.lab.grow(GROWN, number + 1)
        self._write(GROWN, step.amount, partition=number)
        self.traffic.partitions[GROWN] = number + 1

    def _create(self, injection: Injection, step: Step) -> None:
        name = f"chaos.new.{step.number}"
        injection.topics = frozenset({name})
        self.lab.create_topic(name, 1)
        self._new = self._write(name, step.amount)

    def _drop(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({DROPPED})
        partition = step.amount % PARTITIONS[DROPPED]
        self._write(DROPPED, 5, partition=partition)
        marked = {MARK: b""}
        self._write(DROPPED, step.amount, partition=partition, headers=marked)
        self._write(DROPPED, 5, partition=partition)
        injection.due = self.agent.now

    def _drop_tail(self, injection: Injection, step: Step) -> None:
        injection.topics = frozenset({TAIL})
        self._write(TAIL, 5)
        self._write(TAIL, step.amount, headers={MARK: b""})
        injection.due = self.agent.now
        self.pause(10)

    def _pass_tail(self, injection: Injection, step: Step) -> None:
        self._write(TAIL, 1)

    def _counts(self) -> Counts:
        missing, copies = self._true()
        figures = self._figures()

        def total(name: str, topic: str | None = None) -> int:
            return round(
                sum(
                    figure
                    for (metric, labels), figure in figures.items()
                    if metric == f"mirrorwatch_{name}_total"
                    and (topic is None or ("topic", topic) in labels)
                )
            )

        topics = (*FOLLOWED, *REMADE)
        return Counts(
            missing=missing,
            copies=copies,
            skipped={
                topic: total("skipped_records", topic)
                - total("recovered_records", topic)
                for topic in topics
            },
            repeated={t: total("repeated_records", t) for t in topics},
            probes_lost=total("canary_lost") - total("canary_recovered"),
        )

    def _true(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return what is missing of all that is written by now, and what was
        copied again, by topic, once nothing of it is in flight.
        """
        written = {topic: self._written(topic) for topic in FOLLOWED}
        before: dict[str, int] = {}
        for _ in range(LOOKS):
            self.pause(IN_FLIGHT_SECONDS)
            found = {topic: self.target.values(topic) for topic in FOLLOWED}
            missing = {
                topic: len(values - found[topic].keys())
                for topic, values in written.items()
            }
            if missing == before:
                break
            before = missing
        # Their copies are read whole where they matter: nothing of them is
        # lost or repeated of which `skips` is to speak.
        none = dict.fromkeys(REMADE, 0)
        copies = {t: c.total() - len(c) for t, c in found.items()}
        return missing | none, copies | none

    def _figures(self) -> Series:
        found: Series = {}

        def answers() -> bool:
            found.update(self.agent.metrics())
            return bool(found)

        wait_until(answers, limit=LIMIT, what="the agent does not answer")
        return found

    def _written(self, topic: str) -> set[bytes]:
        return (
            set(self.source.values(topic))
            | set(self.traffic.written.get(topic, ()))
            | set(self._made.get(topic, ()))
        )

    def _settle(self, injection: Injection, before: Counts) -> None:
        """Wait until what was said is what is true, and keep both."""
        deadline = self.agent.now + SETTLE_SECONDS
        while True:
            claims = [*self._claims(injection, before, self._counts())]
            wrong = [claim for claim in claims if claim.said != claim.true]
            if not wrong or self.agent.now > deadline:
                break
        injection.claims = claims
        for claim in wrong:
            self.say(f"   WRONG: {claim}")

    def _claims(
        self, injection: Injection, before: Counts, now: Counts
    ) -> Iterator[Claim]:
        kind = injection.kind
        for topic in (*FOLLOWED, *REMADE):
            missing = now.missing[topic] - before.missing[topic]
            if kind in EXPIRES and topic in injection.topics:
                yield self._claim_of(
                    injection, "position.expired-unread", missing, "expired"
                )
                missing = 0
            skipped = now.skipped[topic] - before.skipped[topic]
            if skipped or missing or topic in injection.topics:
                yield Claim(
                    what=f"skipped in {topic}", said=skipped, true=missing
                )
            repeated = now.repeated[topic] - before.repeated[topic]
            copies = now.copies[topic] - before.copies[topic]
            if repeated or copies:
                yield Claim(
                    what=f"repeated in {topic}", said=repeated, true=copies
                )
        missing = now.missing[CANARY_TOPIC] - before.missing[CANARY_TOPIC]
        lost = now.probes_lost - before.probes_lost
        if lost or missing:
            yield Claim(what="probes lost", said=lost, true=missing)
        yield from self._claims_of_recreated(injection)

    def _claims_of_recreated(self, injection: Injection) -> Iterator[Claim]:
        kind = injection.kind
        if kind in {Kind.RECREATE_SHORTER, Kind.RECREATE_LONGER}:
            lost = self._not_at_target(AGAIN)
            yield self._claim_of(
                injection, "position.recreated", lost, "never copied"
            )
        if kind is Kind.RECREATE_TARGET:
            name = "position.target-recreated"
            yield self._claim_of(injection, name, injection.gone, "gone")
            yield Claim(
                what="new ones not copied",
                said=0,
                true=self._not_at_target(THERE),
            )
        if kind is Kind.CREATE:
            (topic,) = injection.topics
            yield Claim(
                what="not copied", said=0, true=self._not_at_target(topic)
            )

    def _not_at_target(self, topic: str) -> int:
        return len(set(self._new) - self._read_target(topic).keys())

    def _read_target(self, topic: str) -> Counter[bytes | None]:
        found: list[Counter[bytes | None]] = []

        def is_read() -> bool:
            # A broker that was just away may not know its partitions yet.
            with suppress(LabError):
                records = self.lab.read("target", topic)
                found.append(Counter(r.value() for r in records))
            return bool(found)

        wait_until(is_read, limit=LIMIT, what=f"{topic} cannot be read")
        return found[0]

    def _claim_of(
        self, injection: Injection, name: str, true: int, what: str
    ) -> Claim:
        counts = counts_said(
            [look for look in self.agent.looks if look.at >= injection.began],
            name,
            injection.topics,
        )
        return Claim(
            what=what,
            said=counts[-1] if counts else 0,
            true=true,
            most=max(counts, default=None),
        )

    def _heal(self, injections: Iterable[Injection]) -> None:
        """Wait until all is ok, for three ticks."""
        mine = list(injections)
        ended = max(i.ended or 0.0 for i in mine)
        well_since: float | None = None
        while self.agent.now < ended + 2 * OPERATOR_SECONDS:
            if self.agent.revive():
                self.say(f"   CRASH: {self.agent.crashes[-1]}")
            elif not self.agent.is_well():
                well_since = None
                self._look_after_mirror(mine[0])
            elif well_since is None:
                well_since = self.agent.now
            elif self.agent.now - well_since > 3:
                for injection in mine:
                    injection.healed = well_since
                return
            self.pause(0.25)
        self.say(f"   NOT HEALED: {self.agent.troubles()}")

    def _look_after_mirror(self, injection: Injection) -> None:
        """Do what an operator does with a mirror that does not recover."""
        since = self.agent.now - (injection.ended or self.agent.now)
        failed = any(
            s.name == "tasks.failed" for s in self.agent.looks[-1].sayings
        )
        gone = not self.lab.mirror.running
        if injection.restarted is not None or not self.agent.looks[-1].tick:
            return
        if gone or (failed and since > 20) or since > OPERATOR_SECONDS:
            self.say(f"   operator restarts mirror: {self.agent.troubles()}")
            self.lab.mirror.stop()
            self.lab.mirror.start()
            injection.restarted = self.agent.now


def _after(seconds: float | None) -> str:
    return "never" if seconds is None else f"after {seconds:.1f} s"
