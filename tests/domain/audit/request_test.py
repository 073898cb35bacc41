from datetime import UTC, date, datetime, timedelta, timezone

from mirrorwatch.domain.audit.plan import Request, TimeWindow

TODAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_a_nightly_run_is_named_after_its_night_and_piece() -> None:
    assert Request().run_id(TODAY) == "nightly-2026-11-21"
    assert Request(piece=2).run_id(TODAY) == "nightly-2026-11-21-2"
    night = date(2026, 11, 3)
    assert Request(night=night).run_id(TODAY) == "nightly-2026-11-03"


def test_an_ad_hoc_run_is_named_after_its_window_in_utc() -> None:
    santiago = timezone(timedelta(hours=-3))
    window = TimeWindow(
        NOON.astimezone(santiago), NOON + timedelta(hours=1, milliseconds=5)
    )
    name = Request(window=window).run_id(TODAY)
    assert name == "adhoc-20261120T120000Z-20261120T130000.005000Z"


def test_a_part_of_the_topics_is_another_run() -> None:
    names = {
        request.run_id(TODAY)
        for request in (
            Request(),
            Request(flow="a"),
            Request(topics="a"),
            Request(flow="a", topics="b"),
        )
    }
    assert len(names) == 4
    assert all(name.startswith("nightly-2026-11-21") for name in names)
