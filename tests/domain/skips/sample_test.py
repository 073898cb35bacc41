"""Ranges that are too long to read: what a sample of them proves."""

from tests.domain.skips.world import SampledWorld

LOOK = ["look", "look"]


def sampled(*actions: str) -> SampledWorld:
    """A mirror beside which others write: all that it copies is read."""
    world = SampledWorld()
    world.do("look", "stranger", "write", "copy", *LOOK, *actions)
    world.finish()
    return world


def test_a_sample_recognises_skipped_records_that_were_copied_since() -> None:
    again = ["crash", "copy 3", "drop 9"]
    world = sampled("write 5", "drop", "copy", "look", *again)
    assert world.skipped == world.missing == {3, 4, 5}
    assert world.tally.recovered == 1
    assert world.tally.repeated == world.repeated == 2
    assert world.tally.unverifiable == 0


def test_so_it_does_where_no_sync_shows_the_rewind() -> None:
    again = ["crash", "copy 3", "write 4", "drop 3", "copy", "forget"]
    world = sampled("write 2", "drop", "copy", *LOOK, *again)
    assert world.missing == {3, 4, 5}
    assert world.skipped == {4, 5}
    assert world.tally.recovered == 1
    assert world.tally.unverifiable == 1


def test_repeats_in_a_sample_hide_no_loss() -> None:
    again = ["crash", "copy 3", "drop 9", "drop"]
    world = sampled("write 12", "copy 10", *LOOK, *again)
    assert world.skipped == world.missing == {11, 12}
    assert world.tally.repeated == world.repeated == 3
    assert world.tally.unverifiable == 0


def test_skipped_records_without_a_copy_in_a_sample_stay_skipped() -> None:
    on = ["copy 3", "drop 5", "write 6"]
    world = sampled("write 9", "drop", "copy", *LOOK, *on)
    assert world.skipped == world.missing
    assert world.tally.recovered == 0
