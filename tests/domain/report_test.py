from datetime import timedelta

import pytest

from mirrorwatch.domain.report import agree, alike, counted, every, seconds


def test_one_is_told_as_one_and_many_as_many() -> None:
    said = [
        f"{counted(n, 'record')} {agree(n, 'were written again')}"
        for n in (0, 1, 2000)
    ]
    assert said == [
        "0 records were written again",
        "1 record was written again",
        "2,000 records were written again",
    ]


def test_all_of_one_is_the_one() -> None:
    assert [every(n, "topic") for n in (1, 2, 2000)] == [
        "the one topic",
        "all 2 topics",
        "all 2,000 topics",
    ]


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("record of t topic waits, a", "records of t topics wait, a"),
        ("partition is no longer copied", "partitions are no longer copied"),
        ("kept in the one topic", "kept in all topics"),
        ("1 task that copies runs", "1 tasks that copy run"),
        ("has been, and its task holds", "have been, and their task hold"),
    ],
)
def test_what_is_said_of_one_and_of_many_is_found_alike(
    one: str, many: str
) -> None:
    assert alike(one) == alike(many) != alike(one + " x")


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
