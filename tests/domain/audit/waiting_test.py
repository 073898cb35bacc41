"""What a night tells of what it does not compare."""

from datetime import timedelta

from mirrorwatch.domain.audit.facts import AuditFound, Question, RecordAt
from tests.support.audit_world import SETTLE, World, a_copied_world, lane_of

HOUR = timedelta(hours=1)

STEP = timedelta(minutes=10)


class Mute(World):
    """One whose record at the position cannot be read."""

    def _answer(self, question: Question) -> AuditFound:
        if isinstance(question, RecordAt):
            return AuditFound(None, failed=True)
        return super()._answer(question)


def test_what_a_mirror_that_goes_on_has_not_copied_is_in_flight() -> None:
    world = a_copied_world()
    world.write(10)
    world.now += HOUR
    world.night()
    world.copy(4)
    world.commit()
    outcome = world.night()
    assert outcome.unverifiable == ()
    assert [stated.count for stated in outcome.stated] == [6]


def test_what_cannot_be_read_is_not_taken_for_aborted() -> None:
    world = Mute(**vars(a_copied_world(syncs_every=1)))
    world.read_committed = None
    world.write(10)
    world.now += HOUR
    world.night()
    (gap,) = world.night().unverifiable
    assert "has not moved" in gap.reason


def test_a_log_that_is_not_whole_and_cannot_be_paired_is_told() -> None:
    world = a_copied_world(timestamps=False, syncs_every=None)
    world.source_start = 10
    outcome = world.night(write=1)
    assert outcome.lane is None
    (gap,) = outcome.unverifiable
    assert gap.records == 20
    assert "belong together" in gap.reason


def test_what_expired_is_told_though_the_rest_cannot_be_cut() -> None:
    whole = World(syncs_every=None)
    for _ in range(100):
        whole.write(1)
        whole.now += STEP
    whole.copy(5)
    whole.commit()
    whole.night()
    world = Mute(**vars(whole))
    world.copy(75)
    world.commit()
    world.source_start = world.target_start = 10
    outcome = world.night()
    assert outcome.lane is None
    expired, uncut = (gap.reason for gap in outcome.unverifiable)
    assert "expired at the source" in expired
    assert "no place is known" in uncut


def test_a_partition_that_rests_for_days_is_up_to_date_at_once() -> None:
    world = a_copied_world()
    world.night()
    world.now += timedelta(days=5)
    outcome = world.night()
    assert lane_of(outcome).cut_at == world.now - SETTLE
    assert not outcome.more
