"""The order in which offsets of both sides are frozen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from mirrorwatch.audit.offsets import freeze_offsets
from mirrorwatch.domain.audit.facts import Draft, PairBuilder, SourceTopic
from mirrorwatch.domain.audit.plan import AuditedEnd
from tests.support.builders import NOON

PLACE = ("t", 0)

DRAFT = Draft(
    cluster="ldf",
    place=PLACE,
    topic_id="there",
    origins=(
        SourceTopic(flow="f", cluster="summit", place=PLACE, topic_id="here"),
    ),
    flow="f",
    topic="t",
)


@dataclass
class FakeSite:
    name: str
    asked: list[str]
    open_reads: int = 0
    """Reads for which a transaction stays open."""

    def ends(
        self, places: Iterable[tuple[str, int]], *, read_committed: bool
    ) -> Mapping[tuple[str, int], int]:
        level = "committed" if read_committed else "all"
        self.asked.append(f"{self.name} {level}")
        end = 10
        if read_committed and self.open_reads:
            self.open_reads -= 1
            end = 7
        return dict.fromkeys(places, end)

    def starts(
        self, places: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[str, int], int]:
        return dict.fromkeys(places, 3)


@dataclass
class FakeMirror:
    asked: list[str]
    read_committed: bool | None = False
    floors: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def read_positions(self, floors: Mapping[tuple[str, int], int]) -> None:
        self.asked.append("positions")
        self.floors = floors


def an_end(source_end: int) -> AuditedEnd:
    return AuditedEnd(
        flow="f",
        topic="t",
        partition=0,
        source_end=source_end,
        target_end=0,
        source_id="here",
        target_id="there",
        cut_at=NOON,
    )


def test_positions_are_read_between_the_ends_of_both_sides() -> None:
    asked: list[str] = []
    sites = {name: FakeSite(name, asked) for name in ("summit", "ldf")}
    mirror = FakeMirror(asked)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]), {"f": mirror}, sites, {}
    )
    assert asked == [
        *("summit all", "positions"),
        *("ldf all", "ldf committed", "summit all"),
    ]
    assert found.starts == {("summit", PLACE): 3, ("ldf", PLACE): 3}
    assert found.unsure == frozenset()


def test_syncs_are_wanted_from_where_it_was_audited_up_to() -> None:
    sites = {name: FakeSite(name, []) for name in ("summit", "ldf")}
    for source_end, floor in ((2, 3), (5, 5)):
        mirror, end = FakeMirror([]), an_end(source_end)
        drafts = PairBuilder(lanes=[DRAFT])
        freeze_offsets(drafts, {"f": mirror}, sites, {end.place: end})
        assert mirror.floors == {PLACE: floor}


def test_the_markers_of_an_exactly_once_mirror_are_waited_for() -> None:
    asked: list[str] = []
    sites = {"summit": FakeSite("summit", asked)}
    sites["ldf"] = FakeSite("ldf", asked, open_reads=2)
    mirror = FakeMirror(asked, read_committed=True)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]), {"f": mirror}, sites, {}
    )
    assert asked == [
        "summit committed",
        "positions",
        "ldf all",
        *["ldf committed"] * 3,
        "summit committed",
    ]
    assert found.targets == {("ldf", PLACE): 10}
    assert found.unsure == frozenset()


def test_a_transaction_that_stays_open_leaves_positions_unproved() -> None:
    sites = {"summit": FakeSite("summit", [])}
    sites["ldf"] = FakeSite("ldf", [], open_reads=1000)
    mirror = FakeMirror([], read_committed=True)
    found = freeze_offsets(
        PairBuilder(lanes=[DRAFT]),
        {"f": mirror},
        sites,
        {},
        markers=timedelta(milliseconds=400),
    )
    assert found.targets == {("ldf", PLACE): 7}
    assert found.unsure == {("ldf", PLACE)}
