"""Where groups start after a failover, and which method is trusted."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    Method,
    Start,
    merge,
    translate,
)
from mirrorwatch.domain.finding import render
from mirrorwatch.domain.offsets import OffsetMap

# Ten records were dropped behind (358, 358), and 0 to 358 are one run.
COPIES = OffsetMap([(0, 0, 359), (375, 365, 100)])


def at(
    committed: int | None, checkpoint: tuple[int, int] | None = None
) -> GroupOffset:
    upstream, downstream = checkpoint or (None, None)
    return GroupOffset(
        topic="t",
        partition=0,
        committed=committed,
        upstream=upstream,
        downstream=downstream,
    )


def chosen(start: Start) -> tuple[str, int, int | None, int | None, bool]:
    found = start.chosen
    assert found is not None, start.problem
    assert start.problem is None
    return found.by, found.offset, found.repeated, found.missed, found.exact


def expired(offset: int, **records: int) -> str:
    return render(texts.EXPIRED, {"offset": offset, **records})


def may_have_expired(offset: int, records: int) -> str:
    numbers = {"offset": offset, "records": records}
    return render(texts.MAY_HAVE_EXPIRED, numbers)


def is_safe(place: GroupOffset, copied: CopiedPartition) -> bool:
    """Return whether a group has a start that misses nothing, which is the
    log start.
    """
    found = translate(place, copied).chosen
    assert found is None or (found.offset, found.missed) == (copied.start, 0)
    return found is not None


def test_syncs_lead_further_than_a_checkpoint_which_says_by_how_much() -> None:
    start = translate(
        at(300, (201, 201)), CopiedPartition(copies=COPIES, end=465)
    )
    assert chosen(start) == (Method.SYNC, 300, 0, 0, True)
    (other,) = start.others
    assert (other.by, other.offset) == (Method.CHECKPOINT, 201)
    assert (other.repeated, other.missed, other.exact) == (99, 0, True)
    basis = render(texts.CHECKPOINT, {"offset": 201})
    assert other.why == render(texts.EARLIER, {"basis": basis, "offsets": 99})


def test_a_count_that_is_not_exact_is_the_most() -> None:
    start = translate(at(366, (301, 301)), CopiedPartition(copies=COPIES))
    assert chosen(start) == (Method.SYNC, 359, 6, 0, False)
    assert start.others[0].repeated == 64
    assert not start.others[0].exact


def test_markers_and_foreign_records_make_no_count_exact() -> None:
    for copied in (
        CopiedPartition(copies=COPIES, marked=True),
        CopiedPartition(copies=COPIES, noisy=True),
    ):
        assert chosen(translate(at(300), copied)) == (
            Method.SYNC,
            300,
            0,
            0,
            False,
        )


def test_a_checkpoint_holds_where_there_are_no_syncs() -> None:
    start = translate(at(300, (201, 190)), CopiedPartition(end=465))
    assert chosen(start) == (Method.CHECKPOINT, 190, None, 0, False)


def test_a_checkpoint_holds_where_the_source_never_told_the_group() -> None:
    start = translate(at(None, (201, 190)), CopiedPartition(copies=COPIES))
    assert chosen(start) == (Method.CHECKPOINT, 190, None, 0, False)


def test_a_checkpoint_of_a_target_that_was_recreated_is_not_trusted() -> None:
    # The new topic begins with what the source has from 1500 on.
    copied = CopiedPartition(copies=OffsetMap([(1500, 0, 3000)]), end=5000)
    for committed in (1000, 1200, None):
        start = translate(at(committed, (1000, 990)), copied)
        assert start.chosen is None
        assert start.others[0].missed == 990
        basis = render(texts.CHECKPOINT, {"offset": 1000})
        assert start.others[0].why == render(
            texts.CHECKPOINT_OF_OTHER_LOG, {"basis": basis}
        )
        # It has grown less than that: a start behind its end is none.
        start = translate(at(committed, (1000, 990)), replace(copied, end=500))
        assert start.chosen is None


def test_a_checkpoint_from_before_all_known_syncs_is_trusted() -> None:
    copied = CopiedPartition(copies=OffsetMap([(1500, 990, 3000)]), end=5000)
    start = translate(at(1000, (1000, 700)), copied)
    assert chosen(start) == (Method.CHECKPOINT, 700, None, 0, False)
    # The mirror began again, and has come past it once more.
    again = OffsetMap([(1500, 990, 10), (1, 1100, 1)])
    start = translate(at(1000, (1000, 2099)), replace(copied, copies=again))
    assert chosen(start) == (Method.CHECKPOINT, 2099, None, 0, False)


def test_a_checkpoint_of_before_a_reset_is_not_trusted() -> None:
    start = translate(at(100, (201, 190)), CopiedPartition())
    assert start.chosen is None
    assert start.problem == texts.MISSES
    assert start.others[0].missed == 101
    # Where syncs are known, they say where the group went.
    start = translate(at(100, (201, 201)), CopiedPartition(copies=COPIES))
    assert chosen(start) == (Method.SYNC, 100, 0, 0, True)
    assert (start.others[0].missed, start.others[0].exact) == (101, True)


def test_the_translation_of_an_old_mirror_that_skips_is_not_trusted() -> None:
    # Before Kafka 3.5 it added the distance, whatever was dropped.
    start = translate(at(370, (370, 370)), CopiedPartition(copies=COPIES))
    assert chosen(start) == (Method.SYNC, 359, 6, 0, False)
    assert (start.others[0].missed, start.others[0].exact) == (11, False)


def test_an_offset_beyond_the_end_of_the_target_is_not_trusted() -> None:
    start = translate(at(300, (201, 190)), CopiedPartition(end=12))
    assert start.chosen is None
    assert start.problem == render(texts.BEYOND_END, {"offset": 12})


def test_unread_records_that_expired_at_the_target_leave_no_start() -> None:
    copied = CopiedPartition(copies=COPIES, start=200, end=465)
    start = translate(at(170, (150, 150)), copied)
    assert start.chosen is None
    assert start.problem == expired(200, records=30)
    by_sync, checkpoint = start.others
    assert (by_sync.offset, by_sync.repeated, by_sync.missed) == (200, 0, 30)
    assert by_sync.why == texts.LOG_START
    assert checkpoint.missed == 30
    # Its copy is between two syncs: some of what expired, it has read.
    copied = replace(copied, start=364)
    assert translate(at(361), copied).problem == expired(364, least=3)
    # Of what is no copy for sure, one is known by its sync.
    noisy = replace(copied, start=200, noisy=True)
    assert translate(at(170), noisy).problem == expired(200, least=1)


def test_what_a_group_has_read_may_expire_at_the_target() -> None:
    copied = CopiedPartition(copies=COPIES, start=200, end=465)
    start = translate(at(200, (150, 150)), copied)
    assert chosen(start) == (Method.SYNC, 200, 0, 0, True)
    # All has expired, and the group has read all that the source holds.
    whole = CopiedPartition(
        copies=OffsetMap([(0, 0, 96)]), start=99, end=99, source_end=99
    )
    start = translate(at(99, (96, 96)), whole)
    assert chosen(start) == (Method.SYNC, 99, 0, 0, False)
    for others in (replace(whole, noisy=True), replace(whole, marked=True)):
        assert chosen(translate(at(99), others))[:4] == (Method.SYNC, 99, 0, 0)
    # A checkpoint alone does not show what the group had read after it.
    alone = replace(whole, copies=None)
    start = translate(at(99, (96, 96)), alone)
    assert chosen(start) == (Method.CHECKPOINT, 99, None, 0, False)
    # The source holds one more, which may be among what has expired.
    for each in (whole, alone):
        for end in (100, None):
            start = translate(at(99, (96, 96)), replace(each, source_end=end))
            assert start.chosen is None
            assert start.problem == may_have_expired(99, 3)
    # It had not been read when the source was lost, but a sync shows it.
    copies = OffsetMap([(0, 0, 96), (99, 98, 1)])
    start = translate(at(99), replace(whole, copies=copies))
    assert start.chosen is None


def test_what_expired_at_the_source_too_is_not_missed_at_the_target() -> None:
    copied = CopiedPartition(
        copies=COPIES, start=200, end=465, source_start=200
    )
    start = translate(at(170), copied)
    assert chosen(start) == (Method.SYNC, 200, 0, 0, True)
    # The source holds some of what expired at the target.
    start = translate(at(170), replace(copied, source_start=171))
    assert start.chosen is None
    assert start.others[0].missed == 29
    assert start.problem == expired(200, records=29)
    start = translate(at(170), replace(copied, source_start=170))
    assert start.others[0].missed == 30
    # Or it is not known how much: its first copy is between two syncs.
    start = translate(
        at(170), replace(copied, start=362, end=465, source_start=360)
    )
    (by_sync,) = start.others
    assert (by_sync.missed, by_sync.exact) == (3, False)


def test_a_time_is_compared_with_the_others() -> None:
    early = CopiedPartition(copies=COPIES, end=465, at_time=250)
    start = translate(at(300), early)
    assert chosen(start) == (Method.SYNC, 300, 0, 0, True)
    other = start.others[0]
    assert (other.by, other.repeated, other.missed) == (Method.TIME, 50, 0)
    late = CopiedPartition(copies=COPIES, end=465, at_time=350)
    other = translate(at(300), late).others[0]
    assert (other.repeated, other.missed, other.exact) == (0, 50, True)


def test_a_time_is_the_last_resort() -> None:
    start = translate(at(300), CopiedPartition(end=465, at_time=250))
    assert chosen(start) == (Method.TIME, 250, None, None, False)


def test_it_is_said_why_a_group_cannot_be_translated() -> None:
    copied = CopiedPartition(copies=OffsetMap([(50, 0, 10)]))
    before = render(texts.BEFORE_SYNCS, {"offset": 40})
    assert translate(at(40), copied).problem == before
    assert translate(at(None), copied).problem == texts.NO_OFFSET
    assert translate(at(40), CopiedPartition()).problem == texts.NO_SYNCS


def test_a_group_ahead_of_the_mirror_starts_at_the_end() -> None:
    copied = CopiedPartition(copies=COPIES, end=465)
    start = translate(at(900), copied)
    assert chosen(start)[:4] == (Method.SYNC, 465, 0, 0)


def test_checkpoints_join_the_offsets_of_their_partitions() -> None:
    found = merge([at(10)], [at(None, (9, 8))])
    assert found == (at(10, (9, 8)),)
    assert merge([], [at(None, (9, 8))]) == (at(None, (9, 8)),)


def test_a_checkpoint_does_not_save_what_expired_before_the_log_start() -> (
    None
):
    """The agent began after the group stopped: it knows one newer sync."""
    copied = CopiedPartition(
        copies=OffsetMap([(5000, 5000, 1)]),
        start=3000,
        end=5001,
        source_start=0,
    )
    # The group is where its checkpoint is: 96 to 2999 it has not read.
    start = translate(at(96, (96, 96)), copied)
    assert start.chosen is None or start.chosen.missed != 0
    # The same without any sync, as with merged topics.
    bare = CopiedPartition(start=3000, end=5001, source_start=0)
    start = translate(at(96, (96, 96)), bare)
    assert start.chosen is None or start.chosen.missed != 0
    assert start.problem == may_have_expired(3000, 2904)


def test_a_checkpoint_holds_where_nothing_unread_has_expired() -> None:
    copied = CopiedPartition(
        copies=OffsetMap([(5000, 5000, 1)]),
        start=3000,
        end=5001,
        source_start=0,
        source_end=5001,
    )
    bare = replace(copied, copies=None)
    for each in (copied, bare):
        # Its checkpoint is at the log start.
        start = translate(at(3000, (3000, 3000)), each)
        assert chosen(start) == (Method.CHECKPOINT, 3000, None, 0, False)
    # Its checkpoint is old, and it has read all that the source holds.
    start = translate(at(5001, (96, 96)), bare)
    assert chosen(start) == (Method.CHECKPOINT, 3000, None, 0, False)
    # What it has not read has expired at the source: all, or up to a sync.
    for each in (
        replace(bare, source_start=5001),
        replace(copied, source_start=5000),
    ):
        for committed in (96, None):
            start = translate(at(committed, (96, 96)), each)
            assert chosen(start) == (Method.CHECKPOINT, 3000, None, 0, False)


def a_marked_mirror(kind: str, start: int) -> CopiedPartition:
    """Return a mirror that commits each hundred records, exactly once."""
    copies = OffsetMap()
    for number in range(51):
        copies.add(100 * number, 101 * number)
    return CopiedPartition(
        copies=copies,
        start=start,
        end=5051,
        source_start=0,
        source_end=5001,
        marked=kind == "marked",
        noisy=kind == "noisy",
    )


@pytest.mark.parametrize("kind", ["marked", "noisy"])
def test_markers_hide_no_record_that_expired_unread(kind: str) -> None:
    copied = a_marked_mirror(kind, start=4000)
    # Copies of 2,050 to about 3,960 have expired at the target only.
    start = translate(at(2050), copied)
    assert start.chosen is None or start.chosen.missed != 0


@pytest.mark.parametrize("kind", ["marked", "noisy"])
def test_markers_may_expire_where_a_group_has_read_all(kind: str) -> None:
    # The log starts at the copy of its next record, whose sync is known.
    copied = a_marked_mirror(kind, start=4040)
    assert is_safe(at(4000), copied)
    # What it has not read below that has expired at the source, too.
    assert is_safe(at(2050), replace(copied, source_start=4000))
    assert not is_safe(at(2050), replace(copied, source_start=3999))
    # The group is at the end, behind which there is a marker yet.
    ended = replace(copied, start=5052, end=5052)
    assert is_safe(at(5001), ended)
    assert not is_safe(at(5001), replace(ended, source_end=5002))


def test_what_others_write_makes_no_start_unsafe() -> None:
    """A group has not read the newest copies, among nine times as many
    records of others.
    """
    copies = OffsetMap([(100 * n, 1000 * n, 1) for n in range(51)])
    copied = CopiedPartition(
        copies=copies, noisy=True, start=45_000, end=50_001, source_start=0
    )
    assert is_safe(at(4500), copied)
    assert not is_safe(at(4499), copied)


def test_what_may_have_expired_unread_between_two_syncs_is_no_safe_start() -> (
    None
):
    # Ten of 101 to 199 were dropped; the first ones, for all that is known.
    copied = CopiedPartition(
        copies=OffsetMap([(0, 0, 101), (200, 190, 1)]),
        start=145,
        end=191,
        source_start=0,
    )
    # The copy of 150 is then at 140, and 150 to 154 have expired.
    start = translate(at(150), copied)
    assert start.chosen is None or start.chosen.missed != 0
    # It is safe once these have expired at the source, or at the next sync.
    held = replace(copied, source_start=200)
    assert chosen(translate(at(150), held))[:4] == (Method.SYNC, 145, 5, 0)
    held = replace(copied, start=190)
    assert chosen(translate(at(200), held))[:4] == (Method.SYNC, 190, 0, 0)


def test_one_record_that_expired_at_the_source_takes_no_others_along() -> None:
    copied = CopiedPartition(
        copies=OffsetMap([(0, 0, 5000)]),
        start=3000,
        end=5000,
        source_start=11,  # it holds 11 to 4999; the target 3000 to 4999
    )
    start = translate(at(10), copied)
    assert start.chosen is None or start.chosen.missed != 0
    assert start.others[0].missed == 2989
    # All that has expired at the target has at the source, too.
    held = replace(copied, source_start=3000)
    assert chosen(translate(at(10), held))[:4] == (Method.SYNC, 3000, 0, 0)
