"""The worker hands on the pairs that are proved, and forgets those that are
void.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.record_matching import (
    CopiesRequest,
    FoundCopies,
    MatcherState,
    SourceWindow,
)
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.record_matching import RecordMatchingWorker
from tests.domain.record_matching_test import World, written
from tests.support.builders import NOON


class WorkerOnLogs(RecordMatchingWorker):
    """Reads the logs of a world in the place of those of two clusters."""

    def __init__(self, world: World, positions: MirrorState) -> None:
        clusters: Any = [SimpleNamespace(alias=name) for name in ("s", "t")]
        store: Any = SimpleNamespace(load=MatcherState, save=lambda _: None)
        super().__init__(
            flow="f",
            source=clusters[0],
            target=clusters[1],
            properties={"s": {}, "t": {}},
            positions=positions,
            store=store,
            clock=lambda: NOON,
        )
        self._world = world

    def _read_copies(
        self, requests: Sequence[CopiesRequest]
    ) -> dict[TopicPartition, FoundCopies]:
        return {
            request.key: sorted(
                (offset, look)
                for offset, look in self._log("target", request).items()
                if request.copies.first <= offset < request.copies.end
            )
            for request in requests
        }

    def _read_windows(
        self,
        requests: Iterable[CopiesRequest],
        copies: Mapping[TopicPartition, FoundCopies],
    ) -> dict[TopicPartition, SourceWindow]:
        return {
            request.key: SourceWindow(
                since=0,
                end=request.log_end,
                log_end=request.log_end,
                records=self._log("source", request),
            )
            for request in requests
        }

    def _log(self, side: str, request: CopiesRequest) -> dict[int, Any]:
        logs = getattr(self._world, side)
        return dict(logs[request.key[1]].records)


def look(worker: WorkerOnLogs, world: World) -> None:
    worker.take(world.view)
    worker.step()


def test_the_first_pair_of_a_recreated_topic_is_kept() -> None:
    world, positions = World(), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1, 2)
    look(worker, world)
    assert [s.upstream for s in positions.all_syncs().values()] == [2]
    again = World(source_id="s2", target_id="t2")
    world.source, world.target = again.source, again.target
    world.source_id, world.target_id = "s2", "t2"
    written(world, 7, 8)
    world.copy(0)
    look(worker, world)
    # The old pair is void, and the new one is not taken for it.
    assert [s.upstream for s in positions.all_syncs().values()] == [0]


def test_the_pair_of_a_recreated_topic_without_copies_is_forgotten() -> None:
    world, positions = World(), MirrorState()
    worker = WorkerOnLogs(world, positions)
    written(world, 1, 2, 3)
    world.copy(0, 1, 2)
    look(worker, world)
    again = World()
    world.source, world.target = again.source, again.target
    world.source_id, world.target_id = "s2", "t2"
    look(worker, world)
    assert not positions.all_syncs()
