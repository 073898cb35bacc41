"""Worlds by chance with consumer groups: which there are, and what they do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from .episodes import Step
from .groups import CheckpointSettings, Groups, SimReader
from .mirrormaker import SYNCS
from .world import World

__all__ = ["GROUP_EPISODES", "GROUP_MENDED", "READERS", "GroupsPlan"]
__all__ += ["do_groups", "draw_groups"]

MINUTE = 60.0

READERS: Mapping[str, Any] = {"readers": {"groups": ["sink.*"]}}


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One group before its world runs."""

    name: str
    topics: tuple[str, ...]
    every: float
    most: int


@dataclass(frozen=True)
class GroupsPlan:
    """The groups of a world before it runs."""

    readers: tuple[GroupPlan, ...]
    sinks: tuple[GroupPlan, ...]
    checkpoints: CheckpointSettings | None

    def make(self, world: World) -> Groups:
        """Let them read."""
        groups = Groups(world)
        if self.checkpoints is not None:
            groups.emit(CheckpointSettings(**asdict(self.checkpoints)))
        for each in self.readers:
            groups.read(
                each.name, each.topics, every=each.every, most=each.most
            )
        for each in self.sinks:
            groups.sink(
                each.name, each.topics, every=each.every, most=each.most
            )
        return groups


def draw_groups(
    random: Random, topics: Sequence[str], length: float
) -> tuple[GroupsPlan, list[Step]]:
    """Draw groups, and what goes wrong with them."""

    def group(name: str) -> GroupPlan:
        count = random.randint(1, len(topics))
        # Some are slow, and none so slow as to fall behind for ever.
        every, most = random.choice([(5.0, 5000), (5.0, 20), (60.0, 5000)])
        return GroupPlan(
            name,
            tuple(random.sample(topics, count)),
            every,
            most,
        )

    readers = tuple(group(f"app{n}") for n in range(random.choice([1, 2, 3])))
    sinks = tuple(group(f"sink{n}") for n in range(random.choice([1, 1, 2])))
    checkpoints = None
    if random.random() < 0.9:
        checkpoints = CheckpointSettings(
            interval=random.choice([10.0, 60.0, 60.0]),
            refresh=random.choice([60.0, 600.0]),
            reloads=random.random() < 0.7,
            syncs_groups=random.random() < 0.5,
        )
    names = [each.name for each in (*readers, *sinks)]
    steps: list[Step] = []
    # Each once: a task that fails twice in an hour is flapping.
    count = random.choice([0, 1, 2, 3])
    for kind in random.sample(list(GROUP_EPISODES), count):
        at = random.uniform(5 * MINUTE, length)
        lasts = random.choice([20.0, 2 * MINUTE, 10 * MINUTE, 15 * MINUTE])
        name, by = random.choice(names), random.choice([-200, -5, 20, 5000])
        for after, what in GROUP_EPISODES[kind]:
            steps.append(Step(round(at + after * lasts, 1), what, name, 0, by))
    return GroupsPlan(readers, sinks, checkpoints), steps


GROUP_EPISODES: Mapping[str, Sequence[tuple[float, str]]] = {
    "group stopped": [(0.0, "group stops"), (1.0, "group starts")],
    "group reset": [
        (0.0, "group stops"),
        (0.5, "group is reset"),
        (1.0, "group starts"),
    ],
    "group deleted": [
        (0.0, "group stops"),
        (0.1, "group is deleted"),
        (1.0, "group starts"),
    ],
    "offset-syncs compacted": [(0.0, "syncs are compacted")],
    "checkpoint task failed": [
        (0.0, "checkpoint task fails"),
        (1.0, "checkpoint task restarts"),
    ],
}
"""What may go wrong with groups: steps, and when of the time it lasts."""

GROUP_MENDED = ("groups start", "checkpoint task restarts")


def _start_all(groups: Groups, _: Step) -> None:
    for reader in groups.all():
        reader.start()


def _fail_task(groups: Groups, _: Step) -> None:
    if groups.checkpoints is not None:
        groups.checkpoints.fail()


def _restart_task(groups: Groups, _: Step) -> None:
    if groups.checkpoints is not None and groups.checkpoints.failed:
        groups.checkpoints.restart()


def _compact_syncs(groups: Groups, _: Step) -> None:
    """As the log cleaner does: the newest sync of each partition is left."""
    log = groups.world.source.log(SYNCS, 0)
    if log is not None:
        log.compact(log.end)


def _of_group(
    deed: Callable[[SimReader, Step], None],
) -> Callable[[Groups, Step], None]:
    def work(groups: Groups, step: Step) -> None:
        deed((groups.readers | groups.sinks)[step.topic], step)

    return work


_DEEDS: Mapping[str, Callable[[Groups, Step], None]] = {
    "group stops": _of_group(lambda g, _: g.stop()),
    "group starts": _of_group(lambda g, _: g.start()),
    "group is reset": _of_group(lambda g, s: g.reset(int(s.amount))),
    "group is deleted": _of_group(lambda g, _: g.delete()),
    "syncs are compacted": _compact_syncs,
    "groups start": _start_all,
    "checkpoint task fails": _fail_task,
    "checkpoint task restarts": _restart_task,
}


def do_groups(groups: Groups | None, step: Step) -> bool:
    """Do a step, if it is one of groups."""
    deed = _DEEDS.get(step.what)
    if deed is None or groups is None:
        return False
    deed(groups, step)
    return True
