"""Tests of how often a mirror is seen to commit."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.mirror_records import (
    FLUSH,
    LONGEST_FLUSH,
    CommitCadence,
    Committed,
)
from tests.support.builders import NOON


def learned(
    *seconds: float, records: int = 100, unread: int | None = None
) -> timedelta | None:
    cadence = CommitCadence()
    commits = [
        Committed(
            topic="a",
            partition=0,
            position=n * records,
            written_at=NOON + timedelta(seconds=at),
        )
        for n, at in enumerate(seconds)
    ]
    for n, now in enumerate(commits):
        before = commits[n - 1] if n else None
        if n == unread:
            cadence.interrupt()
        cadence.see(before, now)
    return cadence.interval()


def test_one_commit_shows_nothing() -> None:
    assert learned(0) is None


@pytest.mark.parametrize(
    ("seconds", "interval"),
    [
        ((0, 300, 600), 300),
        ((0, 300, 420, 720), 300),  # restarted in between
        ((0, 60, 7200, 7260), 60),  # away in between
        ((0, 1, 2, 3), FLUSH.total_seconds()),
        ((0, 86400), LONGEST_FLUSH.total_seconds()),
    ],
)
def test_the_gap_between_commits_is_the_interval(
    seconds: tuple[float, ...], interval: float
) -> None:
    assert learned(*seconds) == timedelta(seconds=interval)


def test_a_gap_in_which_commits_could_not_be_read_is_no_interval() -> None:
    assert learned(0, 3600, unread=1) is None
    assert learned(0, 3600, 3900, unread=1) == timedelta(seconds=300)


def test_a_quiet_partition_shows_when_its_records_came() -> None:
    assert learned(0, 3600, 7200, records=1) is None
