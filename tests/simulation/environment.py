"""One script, two environments: real clusters, or a simulated world.

A scenario is written once against `Environment`, with what the agent must say
of it. `LabEnvironment` of `tests.support.lab_environment` runs it on real
brokers and a real MirrorMaker, `SimEnvironment` here in a simulated world.
Both are held to what is written, so neither is the measure of the other.
"""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Literal, Self

from mirrorwatch.domain.canary.model import CanaryObservation
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.position.model import (
    PositionObservation,
    Reset,
    ResetKind,
    resets_of,
)
from mirrorwatch.domain.report import Health, Report, Verdict
from mirrorwatch.domain.skips.model import SkipsObservation
from tests.simulation.cluster import Kind, Record
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.world import CANARY, World
from tests.support.findings import Fact, is_found

__all__ = [
    "DROPPED",
    "FIRST",
    "FLUSH",
    "PATIENT",
    "REFRESH",
    "Environment",
    "Maybe",
    "Scenario",
    "Side",
    "SimEnvironment",
    "matches",
]

FLUSH, REFRESH = 5, 5
"""Seconds of the mirror's ``offset.flush.interval.ms`` and
``refresh.topics.interval.seconds``."""

PATIENT = 300.0
"""Seconds within which everything must happen; nobody waits so long in a
simulated world, nor on a machine that is idle."""

DROPPED = "dropped "
"""How the value of a record begins that the mirror's transform drops."""

SYNCED_EVERY = 100
"""Records of a partition between two syncs: ``offset.lag.max``."""

FIRST = 20
"""Records that each topic holds, copied and committed, when the agent
starts."""

Side = Literal["source", "target"]

STEADY = 2.0
"""Seconds that all must be as expected before anything is done."""


@dataclass(frozen=True)
class Maybe:
    """A health that may be seen or not.

    What is allowed so is decided by the moment at which the mirror commits,
    or the agent looks, within one tick or flush interval. Each says which.
    """

    health: Health
    because: str


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What happens, and what the agent must say of it."""

    name: str
    script: "Callable[[Environment], None]"
    healths: Mapping[str, tuple[Health | Maybe, ...]]
    """Healths of each check that it concerns, in their order. None is seen
    twice in a row. What comes before the first one belongs to the start of
    the agent, and is not compared."""

    counts: Mapping[str, int]
    """What must have been counted in the end. What is not named must be
    0."""

    partitions: int = 1
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    patches: Mapping[str, Any] = field(default_factory=dict)

    def flow(self) -> dict[str, Any]:
        """Return the configuration of the agent's flow."""
        return {
            "topics": {"include": [f"{self.name}([.].*)?"]},
            "canary": {
                "topic": CANARY,
                "interval": "500ms",
                "deadline": "10s",
            },
            "limits": {
                **self.limits,
                # Many scenarios start the mirror of one lab again.
                "tasks": {"restarts": 100, **self.limits.get("tasks", {})},
                # A probe that is late is of no concern where nobody asks.
                "canary": {
                    "warning_window": "5s",
                    **self.limits.get("canary", {}),
                },
            },
        }


def matches(seen: list[Health], expected: tuple[Health | Maybe, ...]) -> bool:
    """Tell whether healths came as expected."""
    if not expected:
        return not seen
    first, rest = expected[0], expected[1:]
    if isinstance(first, Maybe):
        if seen and seen[0] is first.health and matches(seen[1:], rest):
            return True
        return matches(seen, rest)
    return bool(seen) and seen[0] is first and matches(seen[1:], rest)


def counted(report: Report | None, topic: str) -> Counter[str]:
    """Return what an agent has counted of a topic and those named after it,
    and of probes.
    """
    found: Counter[str] = Counter()

    def is_its(name: str) -> bool:
        return name == topic or name.startswith(f"{topic}.")

    observed = report.observations if report else ()
    skips = next(
        (o for o in observed if isinstance(o, SkipsObservation)), None
    )
    for seen in observed:
        if isinstance(seen, SkipsObservation):
            found += _skips(seen, is_its)
        elif isinstance(seen, PositionObservation):
            found += _resets(resets_of(seen, skips), is_its)
        elif isinstance(seen, LagObservation):
            found["lag"] = seen.records
        elif isinstance(seen, CanaryObservation):
            lost = sum(p.counts.lost for p in seen.partitions)
            found["lost probes"] += lost
    return +found


def _skips(
    seen: SkipsObservation, is_its: Callable[[str], bool]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for tally in (tally for name, tally in seen.counters if is_its(name)):
        found["skipped"] += tally.skipped - tally.recovered
        found["repeated"] += tally.repeated
        found["unverifiable"] += tally.unverifiable
    found["foreign"] = sum(f.records for t, f in seen.foreign if is_its(t))
    return found


def _resets(
    resets: Iterable[Reset], is_its: Callable[[str], bool]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for reset in resets:
        if not is_its(reset.topic):
            continue
        found[f"{reset.kind} resets"] += 1
        # How far back a rewind went, the syncs tell to a hundred records;
        # what it repeated is counted by the skips.
        if reset.kind is not ResetKind.REWIND and not reset.harmless:
            found[f"{reset.kind} records"] += reset.count
    return found


class Environment(ABC):
    """Two clusters, a mirror, and an agent, of which one scenario asks.

    Parameters
    ----------
    scenario
        What is run in it.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.topic = scenario.name
        self.report: Report | None = None
        self.said: dict[str, list[Verdict]] = defaultdict(list)
        self._recording = False
        self._starting: set[str] = set()
        self._numbers = count()
        self._last: dict[tuple[str, int], str] = {}

    @abstractmethod
    def __enter__(self) -> Self:
        """Start the agent, on a new state file."""

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""

    @abstractmethod
    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so."""

    @abstractmethod
    def let_pass(self, seconds: float) -> None:
        """Wait while the agent reports."""

    @abstractmethod
    def create(self, topic: str, partitions: int = 1) -> None:
        """Create a topic at the source."""

    @abstractmethod
    def recreate(self, topic: str, side: Side = "source") -> None:
        """Delete a topic and create it again."""

    @abstractmethod
    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions at the source."""

    @abstractmethod
    def expire(self, topic: str, keep: int) -> None:
        """Delete all but the newest records of partition 0."""

    @abstractmethod
    def write_foreign(self, topic: str, records: int) -> None:
        """Write to the target, as another producer does."""

    @abstractmethod
    def transact(self, topic: str, records: int, *, commit: bool) -> None:
        """Write a transaction to partition 0."""

    @abstractmethod
    def stop_mirror(self) -> None:
        """Stop the mirror in good order."""

    @abstractmethod
    def kill_mirror(self) -> None:
        """Kill the mirror."""

    @abstractmethod
    def start_mirror(self) -> None:
        """Start the mirror."""

    @abstractmethod
    def freeze_mirror(self) -> None:
        """Let the mirror hang."""

    @abstractmethod
    def thaw_mirror(self) -> None:
        """Let it go on."""

    @abstractmethod
    def stop_agent(self) -> None:
        """Stop the agent."""

    @abstractmethod
    def start_agent(self) -> None:
        """Start the agent, on its state file."""

    @abstractmethod
    def cut_source(self) -> None:
        """Take the source away from the agent."""

    @abstractmethod
    def restore_source(self) -> None:
        """Give it back."""

    @abstractmethod
    def drop_probes(self, probes: int) -> None:
        """Let the mirror's transform drop the next probes."""

    @abstractmethod
    def write(self, topic: str, values: list[str], partition: int) -> None:
        """Write records at the source."""

    @abstractmethod
    def target_values(self, topic: str) -> set[str]:
        """Return the values that the target holds."""

    @abstractmethod
    def committed(self, topic: str) -> int:
        """Return the offset of partition 0 that was committed last."""

    @abstractmethod
    def synced(self, topic: str) -> int:
        """Return the source offset of the last sync of partition 0."""

    @abstractmethod
    def end(self, topic: str) -> int:
        """Return the source's end of partition 0."""

    def produce(
        self,
        records: int,
        *,
        topic: str | None = None,
        partition: int = 0,
        dropped: bool = False,
    ) -> None:
        """Write records at the source."""
        name = topic or self.topic
        mark = DROPPED if dropped else ""
        values = [f"{mark}{next(self._numbers)}" for _ in range(records)]
        self.write(name, values, partition)
        if not dropped:
            self._last[name, partition] = values[-1]

    def await_copied(self) -> None:
        """Wait until the target holds what was written last."""
        for (topic, _), value in self._last.items():
            self.wait(lambda t=topic, v=value: v in self.target_values(t))  # type: ignore[misc]

    def await_committed(self) -> None:
        """Wait until the mirror has committed what it copied."""
        self.wait(
            lambda: self.committed(self.topic) >= self.end(self.topic) - 1
        )

    def kill_after(self, records: int) -> None:
        """Kill the mirror when it has copied so many and committed none.

        Just after a commit; again, should the next have come meanwhile. Its
        last sync is written: else nothing but the copies tells where it was.
        """

        def is_left() -> bool:
            self.await_committed()
            before = self.committed(self.topic)
            self.produce(records)
            self.await_copied()
            self.wait(
                lambda: (
                    self.synced(self.topic)
                    >= self.end(self.topic) - SYNCED_EVERY
                )
            )
            self.freeze_mirror()
            if self.committed(self.topic) == before:
                return True
            self.thaw_mirror()
            return False

        self.wait(is_left)
        self.kill_mirror()

    @contextmanager
    def agent_away(self) -> Iterator[None]:
        """Let the agent be away. What is `unknown` to it when it comes back
        is not compared until it knows.
        """
        self.stop_agent()
        yield
        self._starting = set(self.scenario.healths)
        before = self.report
        self.start_agent()
        self.wait(lambda: self.report is not before)

    def restart_agent(self) -> None:
        """Stop the agent, and start it on its state file."""
        with self.agent_away():
            pass

    def health(self, check: str) -> Health | None:
        """Return the health that a check has now."""
        found = self.report.verdicts if self.report else ()
        return next((v.health for v in found if v.check == check), None)

    def await_health(self, check: str, health: Health) -> None:
        """Wait until a check has a health."""
        self.wait(lambda: self.health(check) is health)

    def await_found(self, code: str, **facts: Fact) -> None:
        """Wait for a finding of a code, whose subject and numbers hold the
        facts.
        """

        def is_there() -> bool:
            verdicts = self.report.verdicts if self.report else ()
            return any(is_found(v, code, **facts) for v in verdicts)

        self.wait(is_there)

    def await_counts(self, **expected: int) -> None:
        """Wait until so much is counted."""
        self.wait(
            lambda: all(
                self.counts()[k.replace("_", " ")] >= n
                for k, n in expected.items()
            )
        )

    def counts(self) -> Counter[str]:
        return counted(self.report, self.topic)

    def note(self, report: Report) -> None:
        """Take a report."""
        self.report = report
        if not self._recording:
            return
        for verdict in report.verdicts:
            if verdict.health is not Health.UNKNOWN:
                self._starting.discard(verdict.check)
            if verdict.check in self._starting:
                continue
            said = self.said[verdict.check]
            if not said or said[-1].health is not verdict.health:
                said.append(verdict)

    def begin(self) -> None:
        """Wait until nothing is left of the start, and record from then on."""

        def is_usual() -> bool:
            return all(
                self.health(check) is healths[0]
                for check, healths in self.scenario.healths.items()
            )

        def stays_usual() -> bool:
            self.wait(is_usual)
            self.let_pass(STEADY)
            return is_usual()

        self.wait(stays_usual)
        self._recording = True
        assert self.report is not None
        self.note(self.report)

    def finish(self) -> None:
        """Wait for the last healths and counts, see them stay, and compare."""
        scenario = self.scenario

        def is_done() -> bool:
            return self.counts() == scenario.counts and all(
                self.health(check) is healths[-1]
                for check, healths in scenario.healths.items()
            )

        self.wait(is_done)
        self.let_pass(STEADY)
        assert self.counts() == scenario.counts, self.describe()
        for check, expected in scenario.healths.items():
            seen = [verdict.health for verdict in self.said[check]]
            assert matches(seen, expected), (check, self.describe())

    def run(self) -> None:
        """Run the scenario, and compare."""
        self.begin()
        self.scenario.script(self)
        self.finish()

    def describe(self) -> str:
        """Return what was said and counted, for whoever looks at a failure."""
        counts = dict(self.counts())
        return "\n".join(
            [
                f"counted {counts}, expected {dict(self.scenario.counts)}",
                *(
                    f"{check}: {v.health.name} {v.since:%T} {v.reason}"
                    for check in self.scenario.healths
                    for v in self.said[check]
                ),
                *(
                    f"now {v.check}: {v.health.name} {v.reason}"
                    for v in (self.report.verdicts if self.report else ())
                ),
            ]
        )


class SimEnvironment(Environment):
    """The scenario in a simulated world."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.world = World(
            mirror=MirrorSettings(
                flush=FLUSH, refresh=REFRESH, poll=0.25, tells_transforms=True
            ),
            flow=scenario.flow(),
            interval=1,
            coarse=1,
        )
        self._probes_to_drop = 0

    def __enter__(self) -> Self:
        world = self.world
        world.__enter__()
        world.source.create(self.topic, self.scenario.partitions)
        world.mirror.drops = self._drops
        self.produce(FIRST)
        world.mirror.start()
        self.await_committed()
        world.agent.on_report = self.note
        self.start_agent()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.world.__exit__(kind, error, trace)

    def _drops(self, topic: str, _: int, record: Record) -> bool:
        if topic != CANARY:
            return (record.value or b"").startswith(DROPPED.encode())
        if not self._probes_to_drop:
            return False
        self._probes_to_drop -= 1
        return True

    def wait(self, condition: Callable[[], bool]) -> None:
        try:
            self.world.run_until(condition, PATIENT, look=0.25)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{self.describe()}") from None

    def let_pass(self, seconds: float) -> None:
        self.world.run(seconds)

    def create(self, topic: str, partitions: int = 1) -> None:
        self.world.source.create(topic, partitions)

    def recreate(self, topic: str, side: Side = "source") -> None:
        world = self.world
        cluster = world.source if side == "source" else world.target
        partitions = len(cluster.topics[topic].logs)
        cluster.delete(topic)
        cluster.create(topic, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        self.world.source.grow(topic, partitions)

    def expire(self, topic: str, keep: int) -> None:
        self.world.expire(topic, 0, keep)

    def write_foreign(self, topic: str, records: int) -> None:
        for _ in range(records):
            self.world.target.append(topic, 0, b"foreign")

    def transact(self, topic: str, records: int, *, commit: bool) -> None:
        log = self.world.source.log(topic, 0)
        assert log is not None
        now = self.world.source.milliseconds()
        kind = Kind.DATA if commit else Kind.ABORTED
        for _ in range(records):
            log.append(Record(None, b"in a transaction", now, kind))
        log.append(Record(None, None, now, Kind.MARKER))

    def stop_mirror(self) -> None:
        self.world.mirror.stop()

    def kill_mirror(self) -> None:
        self.world.mirror.kill()

    def start_mirror(self) -> None:
        self.world.mirror.frozen = False
        self.world.mirror.start()

    def freeze_mirror(self) -> None:
        self.world.mirror.frozen = True

    def thaw_mirror(self) -> None:
        self.world.mirror.frozen = False

    def stop_agent(self) -> None:
        self.world.agent.kill()

    def start_agent(self) -> None:
        self.world.agent.start()

    def cut_source(self) -> None:
        self.world.source.reachable = False

    def restore_source(self) -> None:
        self.world.source.reachable = True

    def drop_probes(self, probes: int) -> None:
        self._probes_to_drop = probes
        self.wait(lambda: not self._probes_to_drop)

    def write(self, topic: str, values: list[str], partition: int) -> None:
        for value in values:
            self.world.source.append(topic, partition, value.encode())

    def target_values(self, topic: str) -> set[str]:
        return set(self._values(topic))

    def _values(self, topic: str) -> Iterator[str]:
        found = self.world.target.topics.get(topic)
        for log in found.logs if found else ():
            for _, record in log.read(log.start, log.end, committed=False):
                yield (record.value or b"").decode()

    def committed(self, topic: str) -> int:
        return self.world.mirror.committed.get((topic, 0), -1)

    def synced(self, topic: str) -> int:
        return self.world.mirror.synced(topic, 0)

    def end(self, topic: str) -> int:
        log = self.world.source.log(topic, 0)
        assert log is not None
        return log.end
