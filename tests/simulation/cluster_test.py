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
