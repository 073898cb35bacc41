"""Which target record is a copy of which source record."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.skips.model import OffsetPair, RangeRequest
from mirrorwatch.domain.skips.settle import RangeContent, trace


def test_altered_copies_before_a_sync_may_be_of_what_expired_since() -> None:
    sync = OffsetPair(85, 125)
    request = RangeRequest(
        topic="t",
        partition=0,
        remote="t",
        source_id="s",
        target_id="t",
        start=OffsetPair(60, 119),
        points=(sync,),
        source=(OffsetRange(50, 90),),
        target=OffsetRange(120, 126),
    )
    # 120 and 121 were copied before the records up to 81 expired, 122 to 124
    # are of 82 to 84.
    reading = RangeContent(
        source={n: n for n in range(82, 90)},
        target={n: -n for n in range(120, 126)},
        source_start=82,
    )
    found = trace(request, reading)
    assert found.copied == [61, 62, 82, 83, 84, 85]
    assert found.copies == list(range(120, 126))


@pytest.mark.parametrize(
    ("only_end", "fitting"), [(False, [120]), (True, [80, 119])]
)
def test_what_an_end_proves_fits_no_other_end(
    only_end: bool, fitting: list[int]
) -> None:
    tail = RangeRequest(
        topic="t",
        partition=0,
        remote="t",
        source_id="s",
        target_id="t",
        start=OffsetPair(60, 99),
        points=(),
        source=(),
        target=OffsetRange(120 if only_end else 100, 120),
        passed=None if only_end else 140,
        only_end=only_end,
    )
    assert tail.by_end
    assert not replace(tail, passed=None, only_end=False).by_end
    ends = [None, 80, 119, 120, 121]
    assert [end for end in ends if tail.fits(end)] == fitting
