"""Where groups start after a failover, and which method is trusted."""

from dataclasses import replace

from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    Method,
    Start,
    merge,
    translate,
)
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


def test_syncs_lead_further_than_a_checkpoint_which_says_by_how_much() -> None:
    start = translate(
        at(300, (201, 201)), CopiedPartition(copies=COPIES, end=465)
    )
    assert chosen(start) == (Method.SYNC, 300, 0, 0, True)
    (other,) = start.others
    assert (other.by, other.offset) == (Method.CHECKPOINT, 201)
    assert (other.repeated, other.missed, other.exact) == (99, 0, True)
    assert "99 offsets before" in other.why


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
        assert "of a topic that was there before" in start.others[0].why
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
    assert start.problem == "Every start that is known would miss records"
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
    assert start.problem is not None
    assert "beyond the target's end (12)" in start.problem


def test_unread_records_that_expired_at_the_target_leave_no_start() -> None:
    copied = CopiedPartition(copies=COPIES, start=200, end=465)
    start = translate(at(170, (150, 150)), copied)
    assert start.chosen is None
    assert start.problem == (
        "30 records that it has not read have expired at the target, where "
        "the log starts at offset 200"
    )
    by_sync, checkpoint = start.others
    assert (by_sync.offset, by_sync.repeated, by_sync.missed) == (200, 0, 30)
    assert by_sync.why == (
        "It is the log start: what was before it has expired"
    )
    assert checkpoint.missed == 30
    # Its copy is between two syncs: some of what expired, it has read.
    copied = replace(copied, start=364)
    problem = translate(at(361), copied).problem
    assert problem is not None
    assert problem.startswith("At least 3 records that it has not read have")
    # Of what is no copy for sure, one is known by its sync.
    noisy = replace(copied, start=200, noisy=True)
    problem = translate(at(170), noisy).problem
    assert problem is not None
    assert problem.startswith("At least 1 record that it has not read has")


def test_what_a_group_has_read_may_expire_at_the_target() -> None:
    copied = CopiedPartition(copies=COPIES, start=200, end=465)
    start = translate(at(200, (150, 150)), copied)
    assert chosen(start) == (Method.SYNC, 200, 0, 0, True)
    # All has expired, and how much it had read is known by the last sync.
    whole = CopiedPartition(copies=OffsetMap([(0, 0, 96)]), start=99, end=99)
    start = translate(at(99, (96, 96)), whole)
    assert chosen(start) == (Method.SYNC, 99, 0, 0, False)
    for others in (replace(whole, noisy=True), replace(whole, marked=True)):
        assert chosen(translate(at(99), others))[:4] == (Method.SYNC, 99, 0, 0)
    # A checkpoint alone does not show what the group had read after it.
    start = translate(at(99, (96, 96)), CopiedPartition(start=99, end=99))
    assert chosen(start) == (Method.CHECKPOINT, 99, None, 0, False)


def test_what_expired_at_the_source_too_is_not_missed_at_the_target() -> None:
    copied = CopiedPartition(
        copies=COPIES, start=200, end=465, source_start=171
    )
    start = translate(at(170), copied)
    assert chosen(start) == (Method.SYNC, 200, 0, 0, True)
    start = translate(at(170), replace(copied, source_start=170))
    assert start.chosen is None


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
    for place, problem in (
        (at(40), "before the first offset sync"),
        (at(None), "Neither its offset"),
    ):
        start = translate(place, copied)
        assert start.problem is not None
        assert problem in start.problem
    start = translate(at(40), CopiedPartition())
    assert "no offset syncs" in (start.problem or "")


def test_a_group_ahead_of_the_mirror_starts_at_the_end() -> None:
    copied = CopiedPartition(copies=COPIES, end=465)
    start = translate(at(900), copied)
    assert chosen(start)[:4] == (Method.SYNC, 465, 0, 0)


def test_checkpoints_join_the_offsets_of_their_partitions() -> None:
    found = merge([at(10)], [at(None, (9, 8))])
    assert found == (at(10, (9, 8)),)
    assert merge([], [at(None, (9, 8))]) == (at(None, (9, 8)),)
