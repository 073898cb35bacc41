from datetime import timedelta

import pytest

from mirrorwatch.domain.wording import as_duration, as_ranges, as_size, counted


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "250 ms"),
        (1, "1 s"),
        (59, "59 s"),
        (90, "1.5 min"),
        (4000, "1.1 h"),
        (86_400, "1 d"),
    ],
)
def test_durations_have_the_unit_that_suits(
    seconds: float, words: str
) -> None:
    assert as_duration(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (12_300_000, "12.3 MB"),
        (999_999, "1 MB"),
        (2e17, "200 PB"),
    ],
)
def test_sizes_have_the_unit_that_suits(size: float, words: str) -> None:
    assert as_size(size) == words


def test_one_is_singular() -> None:
    assert counted(1, "record") == "1 record"
    assert counted(1234, "record") == "1,234 records"


def test_many_ranges_are_cut_short() -> None:
    assert as_ranges(((1, 1), (3, 5))) == "1, 3-5"
    many = tuple((n * 2, n * 2) for n in range(10))
    assert as_ranges(many) == "0, 2, 4, 6, 8, 10, 12, 14, and 2 more"
