"""Five readers of a mirror's facts, and how far each says that it has come.

The lag, the skips, the resets of positions, the canary and the audit read the
same committed offsets, syncs and log ends. Whatever the history, they agree,
or differ as each documents.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.audit.mirror import MirrorReader
from mirrorwatch.config import Config
from mirrorwatch.domain.cluster_view import FlowView, PositionSource, prove
from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.domain.mirror_records import MirrorFact
from mirrorwatch.domain.position.model import PositionState
from mirrorwatch.domain.position.tracker import PositionInputs, PositionTracker
from mirrorwatch.domain.report import Flow
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.surveyor import CanarySurveyWorker
from mirrorwatch.sources.mirror_state import MirrorState
from tests.domain.copies.world import KEY, TOPIC, World
from tests.support.examples import examples

COPYING = ["write", "write", "write", "copy", "copy 3", "flush", "look"]
FAULTS = ["drop", "drop 3", "crash", "fail", "takeover", "copy_other 2"]
FAULTS += ["fence", "forget", "mark", "commit_target"]


NOTHING: Any = None
"""Stands for what working out a position does not use."""

FLOW = {"source": "a", "target": "b", "topics": {"include": [TOPIC]}}
KAFKA = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
CONFIG = Config.from_mapping(
    {
        "clusters": {"a": KAFKA, "b": KAFKA},
        "flows": [FLOW | {"naming": "identity"}],
    }
)


class Audit(MirrorReader):
    """Reads a mirror's topics from memory."""

    def __init__(self, facts: list[MirrorFact]) -> None:
        super().__init__(CONFIG.flows[0], NOTHING, NOTHING)
        self._facts = facts

    def _read(self, *kinds: str) -> Iterator[MirrorFact]:
        del kinds
        return iter(self._facts)


def canary_of(facts: list[MirrorFact], view: FlowView) -> list[int]:
    """Return the positions that the canary has for a proof."""
    mirror = MirrorState()
    for fact in facts:
        mirror.note(fact)
    surveyor = CanarySurveyWorker(
        settings=CanarySettings(
            flow=Flow(name="f", source="a", target="b"),
            topic=TOPIC,
            remote_topic=TOPIC,
            interval=timedelta(seconds=1),
            deadline=timedelta(seconds=30),
            warmup=timedelta(minutes=10),
            create=True,
        ),
        source=NOTHING,
        target=NOTHING,
        positions=mirror,
        settler=NOTHING,
        state=NOTHING,
        interval=timedelta(seconds=5),
        clock=lambda: view.at,
    )
    found = surveyor._read_positions(view.at, ordered=True)  # noqa: SLF001
    return [each.position for each in found.get(KEY[1], ())]


class Readers(World):
    """A mirror, and all who work out how far it has come."""

    def __init__(self) -> None:
        super().__init__()
        self.lag = LagTracker(flow="f", class_of=lambda _: "", configs=dict)
        self.resets = PositionTracker(
            flow="f", source="a", target="b", state=PositionState()
        )
        self.proved_before = 0

    def see(self) -> None:
        """Let all of them take the same survey."""
        syncs = tuple(self.unread)
        super().see()
        # The survey that the skips have just taken, of the same time.
        view = replace(self.view(), new_syncs=syncs)
        self.lag_seen = self.lag.take(view)
        self.resets.take(view, PositionInputs())
        self.compare(view)

    def compare(self, view: FlowView) -> None:
        committed, sync = view.committed.get(KEY), view.syncs.get(KEY)
        known = []
        if committed is not None and committed.position is not None:
            known.append(committed.position)
        if sync is not None:
            known.append(sync.upstream + 1)
        facts = [fact for fact in (committed, sync) if fact is not None]
        # The highest that is committed or synced is the position, for all.
        proved = prove(committed, sync)
        assert (proved.offset if proved else None) == max(known, default=None)
        audit = Audit(list(facts))
        audit.read_positions({})
        assert audit.position(KEY) == max(known, default=None)
        assert canary_of(list(facts), view) == known
        # None of them is beyond what the mirror has passed.
        assert max(known, default=0) <= self.passed
        self.compare_lag(view, max(known, default=None))
        self.compare_resets(max(known, default=0))
        assert self.pair.passed <= max(self.passed, self.start)

    def compare_lag(self, view: FlowView, proved: int | None) -> None:
        """The lag is that of the proved position, or of an estimate."""
        assert view.source is not None
        (topic,) = self.lag_seen.topics
        if not topic.records:
            return
        assert topic.position is not None
        match topic.origin:
            case PositionSource.ESTIMATE:
                assert proved is not None
                assert proved < topic.position <= view.source.ends[KEY]
            case PositionSource.START:
                assert proved is None
                assert topic.position == view.source.starts[KEY]
            case _:
                assert topic.position == proved

    def compare_resets(self, proved: int) -> None:
        """Resets are judged by what was there one survey before."""
        place = self.resets.state.places.get(KEY)
        reached = 0 if place is None else place.reached or 0
        assert self.proved_before <= reached <= self.passed
        if place is not None and place.reached is not None:
            assert (place.estimate(len(self.target)) or 0) >= reached
        self.proved_before = max(self.proved_before, proved) if place else 0


@given(st.lists(st.sampled_from([*COPYING, *COPYING, *FAULTS]), max_size=60))
@examples(200)
def test_proved_positions_agree_whatever_the_mirror_does(
    actions: list[str],
) -> None:
    Readers().do("look", *actions, "look", "look", "look")


@given(st.lists(st.sampled_from(COPYING), max_size=60))
@examples(200)
def test_positions_counted_back_from_the_target_are_true_without_faults(
    actions: list[str],
) -> None:
    readers = Readers().do("look", *actions, "look", "look", "look")
    end = len(readers.target)
    if readers.told:
        (topic,) = readers.lag_seen.topics
        assert topic.records == len(readers.source) - readers.passed
        assert topic.position in {None, readers.passed}
        place = readers.resets.state.places[KEY]
        assert place.estimate(end) == readers.passed
