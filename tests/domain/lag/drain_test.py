"""How long it takes until nothing waits."""

from datetime import timedelta

from mirrorwatch.domain.lag.tracker import LagTrend


def test_it_is_estimated_as_soon_as_a_mirror_goes_on() -> None:
    trend = LagTrend()
    # It stands for two minutes; 1,200 records are written meanwhile.
    for second in range(120):
        trend.see(second, 0, min(1200, 20 * second), second)
        assert trend.drain(1200) is None
    for second in range(120, 140):
        copied = 30 * (second - 119)
        trend.see(second, copied, 1200, second)
        estimate = trend.drain(1200 - copied)
        if second < 129:
            assert estimate is None  # perhaps it is one batch
        else:
            assert estimate == timedelta(seconds=(1200 - copied) / 30)


def test_what_is_written_meanwhile_is_taken_off() -> None:
    trend = LagTrend()
    for second in range(90):
        trend.see(second, 30 * second, 1000 + 10 * second, 5)
    assert trend.drain(200) == timedelta(seconds=10)


def test_a_mirror_that_stands_again_drains_slower_and_then_not_at_all() -> (
    None
):
    trend = LagTrend()
    for second in range(31):
        trend.see(second, 30 * second, 2000, 5)
    fast = trend.drain(1000)
    for second in range(31, 60):
        trend.see(second, 900, 2000, 5)
    slow = trend.drain(1000)
    assert fast is not None
    assert slow is not None
    assert slow > fast
    for second in range(60, 120):
        trend.see(second, 900, 2000, 5)
    assert trend.drain(1000) is None
