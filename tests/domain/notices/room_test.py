"""Where more happens than people are told in an hour."""

from datetime import timedelta

from mirrorwatch.domain.notices.model import NoticeKind
from mirrorwatch.domain.notices.notifier import NotificationPolicy
from mirrorwatch.domain.report import Health
from tests.support.builders import FLOW
from tests.support.notices import OTHER, Telling

OK, CRITICAL = Health.OK, Health.CRITICAL
WARNING = Health.WARNING
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_what_found_no_room_is_summed_up_in_the_next_notice() -> None:
    telling = Telling(NotificationPolicy(most_per_hour=2))
    for _ in range(8):
        telling.last(CRITICAL, 2 * MINUTE)
        telling.last(OK, 2 * MINUTE)
    first, second = telling.told
    assert not first.is_last
    assert second.is_last

    # Four times it was bad and nobody was told; it is well, as was told.
    (after,) = telling.last(CRITICAL, HOUR)

    assert after.kind is NoticeKind.WORSE
    assert after.untold == 7


def test_what_still_stands_when_there_is_room_is_told_then() -> None:
    telling = Telling(NotificationPolicy(most_per_hour=1))
    telling.last(WARNING, MINUTE)
    (late,) = telling.last(CRITICAL, HOUR)
    assert (late.before, late.health, late.untold) == (WARNING, CRITICAL, 0)


def test_a_flow_that_broke_goes_before_one_that_is_reminded_of() -> None:
    telling = Telling(
        NotificationPolicy(most_per_hour=1, remind=HOUR), flows=[FLOW, OTHER]
    )
    telling.last(CRITICAL, HOUR)
    for _ in range(20):
        telling.tick(OK, flow=OTHER.name, after=5 * MINUTE)
    assert [n.kind for n in telling.told] == [
        NoticeKind.WORSE,
        *[NoticeKind.REMINDER] * 2,
    ]
    telling.told.clear()

    for _ in range(24):
        telling.tick(WARNING, flow=OTHER.name, after=5 * MINUTE)

    assert [n.flow for n in telling.told] == [OTHER.name, FLOW.name]
