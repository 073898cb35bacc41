"""Up to where the mirror is proved to have come, of what has settled."""

from datetime import timedelta

from mirrorwatch.domain.audit.facts import (
    AuditFound,
    Question,
    RecordAt,
    run_batched,
)
from mirrorwatch.domain.audit.ranges import settled_of
from tests.support.audit_world import World, a_copied_world, lane_of


def test_markers_before_a_record_that_waits_do_not_wait() -> None:
    world = a_copied_world()
    world.mark()
    world.write(3)
    world.now += timedelta(hours=1)
    outcome = world.night()
    assert [stated.count for stated in outcome.stated] == [3]
    assert lane_of(outcome).sources[0].position == 31


def test_a_position_says_nothing_of_what_was_written_later() -> None:
    world = a_copied_world(syncs_every=1)
    lane = lane_of(world.night(write=5, copy=2))
    assert world.syncs[-1] == (33, 33)
    assert lane.sources[0].retained.end == 30
    assert lane.sources[0].position == 30


class Expired(World):
    """One whose cluster is asked for nothing that it lost."""

    def _answer(self, question: Question) -> AuditFound:
        if isinstance(question, RecordAt):
            assert question.offset >= question.log.retained.start
        return super()._answer(question)


def test_a_position_in_what_expired_is_looked_for_where_the_log_begins() -> (
    None
):
    world = Expired()
    world.write(30)
    world.copy(10)
    world.commit()
    world.source_start = 20
    later = world.now + timedelta(hours=1)
    (feed,) = world.freeze().feeds
    (found,) = run_batched([settled_of(feed, later, later)], world.answer)
    assert found.position == 20
