"""When to try again."""

from collections.abc import Callable

from mirrorwatch.sinks.backoff import Backoff
from tests.support.isolation import FakeClock


def always(value: float) -> Callable[[], float]:
    return lambda: value


def test_pauses_double_up_to_a_limit_and_vary() -> None:
    clock = FakeClock()
    for share in (0.5, 1.0):
        backoff = Backoff(clock=clock, jitter=always(share * 2 - 1))
        assert backoff.remaining_seconds == 0
        pauses = []
        for _ in range(7):
            backoff.fail()
            pauses.append(backoff.remaining_seconds / share)
        assert pauses == [1, 2, 4, 8, 16, 30, 30]
        backoff.succeed()
        assert backoff.remaining_seconds == 0
