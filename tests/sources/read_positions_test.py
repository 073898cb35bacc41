"""What changed from one reading of all positions to the next."""

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.read_positions import ReadPositions
from tests.support.builders import NOON

KEY: TopicPartition = ("t", 0)


class Readings:
    """Readings of one partition's position, `None` where it is gone."""

    def __init__(self) -> None:
        self.positions = MirrorState()
        self.read = ReadPositions(self.positions)

    def note(self, offset: int | None, *, deletes: bool = True) -> int | None:
        """Note a reading, and return the position that then stands."""
        found = {} if offset is None else {KEY: offset}
        self.read.note(found, NOON, deletes=deletes)
        return self.positions.all_committed()[KEY].position


def test_one_that_is_gone_in_two_readings_was_deleted() -> None:
    readings = Readings()
    assert readings.note(5) == 5
    assert readings.note(None) == 5
    assert readings.note(None) is None
    assert readings.note(7) == 7


def test_one_that_is_back_was_not_deleted() -> None:
    readings = Readings()
    readings.note(5)
    readings.note(None)
    assert readings.note(5) == 5
    assert readings.note(None) == 5


def test_one_that_expired_stands() -> None:
    readings = Readings()
    readings.note(5)
    for _ in range(3):
        assert readings.note(None, deletes=False) == 5


def test_a_reading_that_shows_no_deletion_begins_anew() -> None:
    readings = Readings()
    readings.note(5)
    assert readings.note(None) == 5
    assert readings.note(None, deletes=False) == 5
    assert readings.note(None) == 5
    assert readings.note(None) is None


def test_how_many_are_gone_is_returned() -> None:
    read = ReadPositions(MirrorState())
    assert read.note({KEY: 5, ("t", 1): 6}, NOON) == 0
    assert read.note({KEY: 5}, NOON) == 1
