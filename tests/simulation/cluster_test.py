"""What an agent can know of the logs of a world."""

import pytest

from tests.simulation.cluster import ASKED_AFTER, Log, Record


@pytest.mark.parametrize(
    ("before", "after", "is_unseen"),
    [(20, 0, True), (1, 20, True), (1, 1, False)],
)
def test_a_log_as_long_again_before_anybody_could_ask_hides_its_truncation(
    before: int, after: int, is_unseen: bool
) -> None:
    # Seed 9996500281 of truncations: it was told once that the log was short.
    now = [0.0]
    log = Log(clock=lambda: now[0])

    def write(count: int) -> None:
        for _ in range(count):
            log.append(Record(None, b"", 0))

    write(20)
    log.tell(log.end)
    log.truncate(10)
    write(before)
    log.tell(log.end)
    write(after)
    now[0] = ASKED_AFTER + 1
    write(20)
    log.tell(log.end)
    assert log.outgrown is is_unseen


def log_of(count: int) -> Log:
    log = Log()
    for _ in range(count):
        log.append(Record(None, b"", 0))
    return log


def test_epochs_tell_where_the_logs_of_two_leaders_part() -> None:
    log = log_of(20)
    log.truncate(10)
    log.elect(leader=2)
    assert [log.end_of(epoch) for epoch in (0, 1, 2)] == [10, 10, 10]
    log.append(Record(None, b"", 0))
    assert [log.end_of(epoch) for epoch in (0, 1, 2)] == [10, 10, 11]
    log.truncate(5)
    assert [log.end_of(epoch) for epoch in (0, 1, 2)] == [5, 5, 5]


def test_a_new_leader_shows_records_up_to_its_high_watermark() -> None:
    log = log_of(20)
    log.elect(leader=2, behind=5)
    assert log.visible_end(committed=False) == 15
    assert len(log.read(0, 100, committed=False)) == 15


@pytest.mark.parametrize(("keep", "start"), [(25, 10), (30, 10), (0, 40)])
def test_whole_segments_expire(keep: int, start: int) -> None:
    log = log_of(40)
    log.segment = 10
    log.expire(log.end - keep)
    assert log.start == start
