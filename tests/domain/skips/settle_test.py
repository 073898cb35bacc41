"""Which target record is a copy of which source record."""

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
