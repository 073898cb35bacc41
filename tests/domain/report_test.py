from datetime import timedelta

import pytest

from mirrorwatch.domain.report import seconds


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(milliseconds=400), "0 s"),
        (timedelta(seconds=119), "119 s"),
        (timedelta(seconds=120), "2 min"),
        (timedelta(minutes=119), "119 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=6.5), "6.5 h"),
        (timedelta(hours=48), "2 d"),
        (timedelta(days=7), "7 d"),
        (timedelta(days=9, hours=12), "9.5 d"),
    ],
)
def test_a_duration_is_as_a_person_says_it(
    duration: timedelta, words: str
) -> None:
    assert seconds(duration) == words
