"""Where a mirror goes on in a log that was truncated at the source."""

from dataclasses import dataclass, field, replace

import pytest

from mirrorwatch.domain.cluster_view import FlowView
from mirrorwatch.domain.skips import alignment
from mirrorwatch.domain.skips.model import RangeRequest, SkipEvent, SkipKind
from mirrorwatch.domain.skips.settle import RangeContent

from .world import KEY, AlteredWorld, World, Writer


@dataclass
class CutWorld(World):
    """A world whose source may lose the end of its log."""

    found: list[SkipEvent] = field(default_factory=list)
    start_here: int = 0
    hidden: int = 0
    """Records at the end of the source that a new leader does not know."""
    is_away: bool = False
    """Whether the target does not answer."""

    def truncate(self) -> None:
        """The newest record is lost; the target keeps its copy."""
        last = len(self.source) - 1
        self.source.pop()
        self.target = [None if up == last else up for up in self.target]
        self.passed = min(self.passed, last)

    def resume_at_end(self) -> None:
        """The mirror restarts: its position is beyond the end."""
        self.writers = [Writer(len(self.source))]

    def leave(self) -> None:
        """From now on the target does not answer, or it does again."""
        self.is_away = not self.is_away

    def see(self) -> None:
        """Survey both sides, and take what was found."""
        super().see()
        self.found += self.books.events
        self.books.events.clear()

    def view(self) -> FlowView:
        view = super().view()
        assert view.source is not None
        ends = {KEY: len(self.source) - self.hidden}
        return replace(
            view,
            source=replace(view.source, ends=ends),
            target=None if self.is_away else view.target,
        )

    def read(self, request: RangeRequest) -> RangeContent | None:
        reading = super().read(request)
        if reading is None:
            return None
        return replace(reading, target_start=self.start_here)

    @property
    def lost(self) -> list[tuple[SkipKind, tuple[tuple[int, int], ...]]]:
        return [(event.kind, event.ranges) for event in self.found]


@dataclass
class AlteredCutWorld(AlteredWorld, CutWorld):
    """The same of a mirror that alters what it copies."""


@dataclass
class PartlyAlteredWorld(CutWorld):
    """The same of a mirror that alters some of what it copies."""

    altered: range = range(0)

    def _look_of(self, down: int) -> int:
        return super()._look_of(down) - (down in self.altered)


def cut(world: CutWorld, *actions: str) -> CutWorld:
    """Return a world whose log lost 20 of 40 records, all copied."""
    if not world.source:
        world.do("write 40", "look", "copy 40")
    return world.do("flush", "look 3", "truncate 20", *actions)


@pytest.mark.parametrize("seen", [(), ("look 3",)])
def test_what_was_written_before_it_resumed_at_the_end_is_lost(
    seen: tuple[str, ...],
) -> None:
    # The log is longer again when its end is seen (9995600258).
    world = cut(CutWorld(), "write 5", *seen, "resume_at_end", "write 3")
    world.do("copy 3", "look 5", "write 2", "copy 2", "flush", "look 4")
    assert world.lost == [(SkipKind.SKIPPED, ((20, 24),))]
    assert world.skipped == {*range(20, 25)}


def test_one_that_resumed_at_the_truncation_lost_nothing() -> None:
    world = cut(CutWorld(), "resume_at_end", "write 5", "copy 5", "look 5")
    world.do("write 2", "copy 2", "flush", "look 4")
    assert world.lost == []
    assert world.tally.unverifiable == 0


def test_one_that_copies_all_again_lost_nothing() -> None:
    world = cut(CutWorld(), "write 5")
    world.writers[0] = Writer(0)
    world.do("copy 25", "look 5", "write 2", "copy 2", "flush", "look 4")
    assert SkipKind.SKIPPED not in {kind for kind, _ in world.lost}


def test_of_what_is_altered_nothing_is_called_lost() -> None:
    world = cut(AlteredCutWorld(), "write 5", "resume_at_end", "write 3")
    world.do("copy 3", "look 5", "write 2", "copy 2", "flush", "look 4")
    assert world.lost == []


@pytest.mark.parametrize("lost", [5, 0])
def test_what_is_altered_is_in_doubt_where_a_mirror_may_resume_at_the_end(
    lost: int,
) -> None:
    # Position said that skips show what was left out, and these were ok
    # (9997000032, 9997000132).
    world = AlteredCutWorld()
    world.books.may_resume_at_end = True
    cut(world, *([f"write {lost}"] if lost else ()), "resume_at_end")
    world.do("write 3", "copy 3", "look 5", "write 2", "copy 2", "flush")
    world.do("look 4")
    doubted = (SkipKind.UNVERIFIABLE, ((0, 19 + lost),))
    assert world.lost == [doubted]
    assert world.skipped == set()


def test_what_is_altered_is_verified_where_a_mirror_begins_anew() -> None:
    world = AlteredCutWorld()
    world.books.may_resume_at_end = True
    cut(world, "write 5")
    world.writers = [Writer(0)]
    world.do("copy 25", "look 5", "write 2", "copy 2", "flush", "look 4")
    assert world.lost == []


def test_what_is_not_altered_is_exact_where_a_mirror_may_resume_there() -> (
    None
):
    world = CutWorld()
    world.books.may_resume_at_end = True
    cut(world, "write 5", "look 3", "resume_at_end", "write 3", "copy 3")
    world.do("look 5", "write 2", "copy 2", "flush", "look 4")
    assert world.lost == [(SkipKind.SKIPPED, ((20, 24),))]


@pytest.mark.parametrize("start_here", [0, 1])
def test_where_copies_expired_none_before_the_known_ones_is_missed(
    start_here: int,
) -> None:
    # Where those before the first known one are is not certain then.
    world = CutWorld(start_here=start_here).do("write 40", "copy 35")
    world.do("flush", "forget", "look", "copy 5")
    world = cut(world, "write 5", "resume_at_end")
    world.do("write 3", "copy 3", "look 5", "write 2", "copy 2", "flush")
    world.do("look 4")
    lost = [(SkipKind.SKIPPED, ((20, 24),))]
    assert world.lost == ([] if start_here else lost)


@pytest.mark.parametrize("left", [0, 3, 25])
def test_a_log_that_was_as_long_again_when_it_resumed_there_is_in_doubt(
    left: int,
) -> None:
    # It resumed at its old position, and both sides went on alike: nothing
    # but an end that fell for a moment shows it.
    world = CutWorld().do("write 40", "look", "copy 40", "flush", "look 3")
    world.do(f"truncate {40 - left}", "write 2", "look", "write 50")
    world.do("copy 5", "flush", "look 4")
    lost = (SkipKind.UNVERIFIABLE, ((left, 39),))
    assert world.lost == [lost]
    assert world.skipped == set()


@pytest.mark.parametrize("altered", [range(0), range(38, 40), range(0, 40, 2)])
def test_an_end_that_a_new_leader_does_not_know_puts_nothing_in_doubt(
    altered: range,
) -> None:
    world = PartlyAlteredWorld(altered=altered)
    world.do("write 40", "look", "copy 40", "flush", "look 3")
    world.hidden = 5
    world.do("look")
    world.hidden = 0
    world.do("write 9", "copy 9", "flush", "look 4")
    assert world.lost == []
    assert world.tally.unverifiable == 0


def test_one_that_copies_again_from_within_a_longer_log_is_told_so() -> None:
    # What it had committed lies behind the truncation.
    world = CutWorld().do("write 40", "look", "copy 40", "flush", "look 3")
    world.do("truncate 20", "write 2", "look", "write 40")
    world.writers = [Writer(25)]
    world.do("copy 37", "flush", "look 5")
    lost = [ranges for kind, ranges in world.lost if kind != "repeated"]
    assert lost == [((20, 24),)]


@pytest.mark.parametrize("lost", [2, 0])
def test_a_log_that_was_truncated_while_the_target_was_away(lost: int) -> None:
    # It was as long again when the target answered (9996500444).
    world = CutWorld().do("write 40", "look", "copy 40", "flush", "look 3")
    world.do("leave", "truncate 5", *([f"write {lost}"] if lost else ()))
    world.do("look", "resume_at_end", "write 9", "copy 9", "look", "leave")
    world.do("look 2", "write 2", "copy 2", "flush", "look 4")
    found = [each for each in world.lost if each[0] is not SkipKind.REPEATED]
    assert found == ([(SkipKind.UNVERIFIABLE, ((35, 36),))] if lost else [])


@pytest.mark.parametrize("lost", [3, 0])
@pytest.mark.parametrize("compacted", [True, False])
def test_what_has_no_copy_below_all_that_were_is_in_doubt(
    lost: int, compacted: bool
) -> None:
    # The mirror had begun at the end, and all of the log was truncated: what
    # is below where it began may be older, or was written since (9996500331).
    world = CutWorld(target_compacted=compacted)
    world.do("write 5", "resume_at_end", "write 35", "copy 35", "flush")
    world.do("look 3", "truncate 40")
    world.do(*([f"write {lost}"] if lost else ()), "look 3", "resume_at_end")
    world.do("write 3", "copy 3", "look 5", "write 2", "copy 2", "flush")
    world.do("look 4")
    doubted = [(SkipKind.UNVERIFIABLE, ((0, lost - 1),))]
    assert world.lost == (doubted if lost and not compacted else [])


@pytest.mark.parametrize("size", [1500, 8000])
def test_more_records_than_are_compared_below_a_truncation_are_counted(
    size: int,
) -> None:
    world = CutWorld().do("write 6000", "look", "copy 6000")
    world = cut(world, "look 5", f"write {size}", "look 3", "resume_at_end")
    world.do("write 3", "copy 3", "look 5", "write 2", "copy 2", "flush")
    world.do("look 4")
    lost = (5980, 5980 + size - 1)
    assert world.lost == [(SkipKind.SKIPPED, (lost,))]
    assert world.tally.unverifiable == 0


@pytest.mark.parametrize(
    ("truncated", "size", "lost"),
    [
        # The first ones are compared, and each of the others is doubted.
        (
            300,
            900,
            [
                (SkipKind.SKIPPED, ((1700, 2149),)),
                (SkipKind.UNVERIFIABLE, ((2150, 2599),)),
            ],
        ),
        # Copies of what was truncated are too many to be read.
        (480, 25, [(SkipKind.UNVERIFIABLE, ((1520, 1544),))]),
        (
            480,
            900,
            [
                (SkipKind.UNVERIFIABLE, ((1520, 1969),)),
                (SkipKind.UNVERIFIABLE, ((1970, 2419),)),
            ],
        ),
        # Nor is it known where the log was truncated.
        (1000, 25, [(SkipKind.UNVERIFIABLE, ((0, 1024),))]),
    ],
)
def test_what_is_too_much_to_be_compared_is_doubted(
    truncated: int,
    size: int,
    lost: list[tuple[SkipKind, tuple[tuple[int, int], ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alignment, "SMALL", 500)
    monkeypatch.setattr(alignment, "_BELOW", 50)
    monkeypatch.setattr(alignment, "_LITTLE", 300)
    world = CutWorld().do("write 2000", "look", "copy 2000", "flush", "look 3")
    world.do(f"truncate {truncated}", "look 5", f"write {size}", "look 3")
    world.do("resume_at_end", "write 3", "copy 3", "look 5", "write 2")
    world.do("copy 2", "flush", "look 4")
    assert world.lost == lost


def test_what_is_too_much_to_be_compared_and_was_copied_is_not_doubted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(alignment, "SMALL", 500)
    monkeypatch.setattr(alignment, "_LITTLE", 300)
    world = CutWorld().do("write 2000", "look", "copy 2000", "flush", "look 3")
    world.do("truncate 1000", "look 5", "write 25", "look 3")
    world.writers[0] = Writer(1000)
    world.do("copy 25", "look 5", "write 2", "copy 2", "flush", "look 4")
    assert world.lost == []
