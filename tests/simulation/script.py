"""Scenarios that run in both, lab and simulation: `SCENARIOS`.

Each is a short script with the healths and counts that an agent must come to.
Of the checks, only those are compared that a scenario concerns. What the start
of an agent looks like is not compared; a health that the moment of a commit or
of a look decides is a `Maybe` that says so; everything else is compared
strictly: all healths in their order, and all counts.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mirrorwatch.domain.report import Health

from .environment import FLUSH, Environment, Maybe, Scenario

__all__ = ["SCENARIOS"]

OK, UNKNOWN = Health.OK, Health.UNKNOWN
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL

SCENARIOS: list[Scenario] = []

FIRST_SILENT = Maybe(
    UNKNOWN,
    "the last arrival is up to an interval of probes older than the oldest "
    "probe that is missed, and a look may fall between both deadlines",
)

FIRST_CONNECTOR = Maybe(
    WARNING,
    "a worker stops its connectors one after another, and a look may fall "
    "before that of the one that copies",
)

Script = Callable[[Environment], None]


def scenario(
    counts: Mapping[str, int] | None = None,
    *,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
    patches: Mapping[str, Any] | None = None,
    partitions: int = 1,
    **healths: tuple[Health | Maybe, ...],
) -> Callable[[Script], Script]:
    """Make a scenario of a function, and of what must be said of it."""

    def make(script: Script) -> Script:
        SCENARIOS.append(
            Scenario(
                name=script.__name__,
                script=script,
                healths=healths,
                counts=counts or {},
                limits=limits or {},
                patches=patches or {},
                partitions=partitions,
            )
        )
        return script

    return make


@scenario(canary=(OK,), lag=(OK,), skips=(OK,), position=(OK,), tasks=(OK,))
def nothing_happens(it: Environment) -> None:
    for _ in range(3):
        it.produce(30)
        it.await_copied()
        it.let_pass(FLUSH)


@scenario(
    lag=(OK, CRITICAL, OK),
    tasks=(OK, FIRST_CONNECTOR, CRITICAL, OK),
    skips=(OK,),
    position=(OK,),
    limits={"tasks": {"grace": "3s"}},
)
def stopped_and_started(it: Environment) -> None:
    it.stop_mirror()
    it.produce(50)
    it.await_health("lag", CRITICAL)
    it.await_health("tasks", CRITICAL)
    it.start_mirror()
    it.await_copied()


@scenario(
    lag=(OK, CRITICAL, OK),
    canary=(OK, FIRST_SILENT, CRITICAL, WARNING, OK),
    skips=(OK,),
    position=(OK,),
    limits={"canary": {"warning_window": "10s"}},
)
def frozen_and_thawed(it: Environment) -> None:
    it.freeze_mirror()
    it.produce(50)
    it.await_health("lag", CRITICAL)
    it.await_health("canary", CRITICAL)
    it.thaw_mirror()
    it.await_copied()


@scenario(
    {"repeated": 150, "rewind resets": 1},
    skips=(OK, WARNING),
    position=(OK, WARNING),
)
def killed_and_started(it: Environment) -> None:
    # Enough for an offset-sync, by which the agent knows where it was.
    it.kill_after(150)
    it.start_mirror()
    it.produce(120)
    it.await_copied()


@scenario(
    lag=(OK, CRITICAL, OK),
    tasks=(OK, UNKNOWN, OK),
    patches={"mirrorwatch.sources.tasks.ALIVE": 15},
)
def killed_for_long(it: Environment) -> None:
    it.await_committed()
    it.kill_mirror()
    it.produce(50)
    it.await_health("lag", CRITICAL)
    it.await_health("tasks", UNKNOWN)
    it.start_mirror()
    it.await_copied()


@scenario(
    {"expired records": 70, "expired resets": 1},
    position=(OK, CRITICAL),
    skips=(OK,),
)
def expired_unread(it: Environment) -> None:
    it.kill_after(40)
    it.produce(100)
    it.expire(it.topic, keep=30)
    it.await_counts(expired_records=70)
    it.start_mirror()
    it.await_copied()
    it.produce(10)
    it.await_copied()


@scenario(
    {"expired records": 70, "expired resets": 1},
    position=(OK, CRITICAL),
    skips=(OK,),
)
def expired_unread_and_agent_restarted(it: Environment) -> None:
    it.await_committed()
    it.kill_mirror()
    it.produce(100)
    it.expire(it.topic, keep=30)
    it.restart_agent()
    it.await_counts(expired_records=70)
    it.restart_agent()
    it.start_mirror()
    it.await_copied()
    it.produce(10)
    it.await_copied()


@scenario(
    {"expired records": 70, "expired resets": 1},
    position=(OK, CRITICAL),
    skips=(OK,),
)
def expired_unread_while_the_agent_is_away(it: Environment) -> None:
    it.await_committed()
    with it.agent_away():
        it.kill_mirror()
        it.produce(100)
        it.expire(it.topic, keep=30)
        it.start_mirror()
        it.await_copied()


@scenario(
    {"skipped": 10},
    skips=(OK, CRITICAL),
    position=(OK,),
    lag=(OK,),
    partitions=2,
)
def dropped_between(it: Environment) -> None:
    it.produce(30, partition=1)
    it.produce(10, partition=1, dropped=True)
    it.produce(1, partition=1)
    it.await_copied()
    it.await_found(
        "skips.dropped",
        topic=it.topic,
        records=10,
        ranges="partition 1: 30-39",
    )


@scenario(
    {"skipped": 10},
    skips=(OK, CRITICAL),
    position=(OK,),
    partitions=2,
)
def dropped_tail(it: Environment) -> None:
    it.produce(10, dropped=True)
    # The same task goes on with another partition.
    it.produce(20, partition=1)
    it.produce(1)
    it.await_copied()
    it.await_counts(skipped=10)


@scenario(
    {"skipped": 5, "repeated": 150, "rewind resets": 1},
    skips=(OK, CRITICAL),
    position=(OK, WARNING),
)
def dropped_and_killed(it: Environment) -> None:
    it.produce(30)
    it.produce(5, dropped=True)
    it.produce(30)
    it.await_copied()
    it.await_counts(skipped=5)
    it.kill_after(150)
    it.start_mirror()
    it.produce(120)
    it.await_copied()
    it.await_counts(repeated=150)
    it.restart_agent()


@scenario(
    {"skipped": 5, "repeated": 150, "rewind resets": 1},
    skips=(OK, CRITICAL),
    position=(OK, WARNING),
)
def dropped_and_killed_while_the_agent_is_away(it: Environment) -> None:
    with it.agent_away():
        it.produce(30)
        it.produce(5, dropped=True)
        it.produce(30)
        it.await_copied()
        it.kill_after(150)
        it.start_mirror()
        it.produce(120)
        it.await_copied()


@scenario(skips=(OK,), position=(OK,), lag=(OK,))
def aborted_and_markers(it: Environment) -> None:
    it.transact(it.topic, 10, commit=True)
    it.transact(it.topic, 10, commit=False)
    it.produce(150)
    it.transact(it.topic, 10, commit=False)
    it.transact(it.topic, 10, commit=True)
    it.await_copied()
    it.let_pass(2.5 * FLUSH)


@scenario(skips=(OK,), position=(OK,), lag=(OK,), topics=(OK,))
def grown(it: Environment) -> None:
    it.grow(it.topic, 3)
    for partition in range(3):
        it.produce(50, partition=partition)
    it.await_copied()
    it.let_pass(FLUSH)


@scenario(skips=(OK,), position=(OK,), lag=(OK,), topics=(OK,))
def another_topic(it: Environment) -> None:
    name = f"{it.topic}.new"
    it.create(name, 2)
    for partition in range(2):
        it.produce(50, topic=name, partition=partition)
    it.await_copied()
    it.let_pass(FLUSH)


@scenario({"foreign": 7}, skips=(OK, WARNING), position=(OK,), lag=(OK,))
def another_producer(it: Environment) -> None:
    it.write_foreign(it.topic, 7)
    it.produce(120)
    it.await_copied()


@scenario(
    {"source_recreated resets": 1},
    position=(OK, WARNING, CRITICAL, WARNING),
    skips=(OK,),
)
def recreated_and_shorter(it: Environment) -> None:
    it.produce(100)
    it.await_copied()
    it.stop_mirror()
    it.recreate(it.topic)
    it.await_health("position", WARNING)
    it.produce(50)
    it.await_health("position", CRITICAL)
    it.start_mirror()
    it.await_copied()


@scenario(
    {"source_recreated resets": 1, "source_recreated records": 120},
    position=(OK, WARNING, CRITICAL),
    skips=(OK,),
)
def recreated_and_longer(it: Environment) -> None:
    it.produce(100)
    it.await_copied()
    it.stop_mirror()
    it.recreate(it.topic)
    it.await_health("position", WARNING)
    it.produce(200)
    it.await_health("position", CRITICAL)
    it.start_mirror()
    it.await_copied()


@scenario(
    {"target_recreated resets": 1},
    position=(OK, CRITICAL),
    skips=(OK,),
)
def recreated_at_the_target(it: Environment) -> None:
    it.produce(100)
    it.await_copied()
    it.stop_mirror()
    it.recreate(it.topic, "target")
    it.await_health("position", CRITICAL)
    it.start_mirror()
    it.produce(50)
    it.await_copied()


@scenario({"lost probes": 7}, canary=(OK, CRITICAL), skips=(OK,))
def probes_dropped(it: Environment) -> None:
    it.drop_probes(7)


@scenario(
    canary=(OK, UNKNOWN, OK),
    lag=(OK, UNKNOWN, OK),
    skips=(OK, UNKNOWN, OK),
    position=(OK, UNKNOWN, OK),
)
def source_unreachable(it: Environment) -> None:
    it.cut_source()
    for check in it.scenario.healths:
        it.await_health(check, UNKNOWN)
    it.restore_source()
    it.produce(50)
    it.await_copied()
