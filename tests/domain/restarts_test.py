"""Failed tasks are started again within bounds."""

from datetime import datetime, timedelta

from mirrorwatch.domain.tasks.model import RestartRules, may_restart
from tests.support.builders import NOON

RULES = RestartRules(enabled=True, most_per_hour=3)


def after(*minutes: float) -> list[datetime]:
    return [NOON + timedelta(minutes=m) for m in minutes]


def may(minute: float, *done: float, rules: RestartRules = RULES) -> bool:
    return may_restart(
        rules,
        failed_at=NOON,
        done=after(*done),
        now=NOON + timedelta(minutes=minute),
    )


def test_nothing_is_restarted_unless_that_is_wanted() -> None:
    assert not may(30, rules=RestartRules())


def test_pauses_double() -> None:
    assert not may(0.9)
    assert may(1)
    assert not may(2.9, 1)
    assert may(3, 1)
    assert not may(6.9, 1, 3)
    assert may(7, 1, 3)


def test_no_more_than_some_within_an_hour() -> None:
    assert not may(59, 1, 3, 7)
    assert may(61 + 7, 1, 3, 7)
