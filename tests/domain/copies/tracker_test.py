"""Histories of a mirror, and what the tracker says of each.

The columns of the table: history in the world's words, events, lost records by
name, position of the mirror (`None` while nothing shows it). Each history goes
on with three quiet surveys, and holds the same if the agent restarts after any
of its surveys, or is killed before it saved one.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import FlowView, TopicFacts
from mirrorwatch.domain.copies.coverage import OffsetPair, State
from mirrorwatch.domain.copies.journal import CopyEvent
from mirrorwatch.domain.copies.pair import Beginning, EventKind, RangeEvent
from mirrorwatch.domain.copies.ranges import to_ranges
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.domain.mirror_records import Sync
from mirrorwatch.domain.topics import FilteredRule, FilteredTopics
from tests.domain.copies.world import (
    KEY,
    START,
    TOPIC,
    AlikeWorld,
    AlteredWorld,
    HarshWorld,
    Writer,
)


@dataclass
class Watched(HarshWorld):
    """A world whose source may be truncated, and that is not always seen as it
    is; an uncopied topic is beside the copied one.
    """

    is_shown: bool = True
    is_led: bool = True
    low: str = ""
    """Side of which an end of five less is told, as by a stale leader."""

    late: list[Sync] = field(default_factory=list)

    def check(self) -> None:
        """Do nothing: a truncated source makes other records of some."""

    def truncate(self) -> None:
        """Lose the newest record; its copy is of no record any more."""
        del self.source[-1:]
        end = len(self.source)
        self.target = [None if up == end else up for up in self.target]
        self.passed = min(self.passed, end)
        for writer in self.writers:
            writer.at = min(writer.at, end)

    def jump(self) -> None:
        """Go on at a later position."""
        self.writers[0].at += 1
        self.passed = max(self.passed, self.writers[0].at)

    def go_back(self) -> None:
        """Begin at the first record again."""
        self.writers = [Writer(self.start)]

    def alter(self) -> None:
        """The newest copy has another content."""
        self.target[-1] = None

    def hide(self) -> None:
        self.is_shown = not self.is_shown

    def unlead(self) -> None:
        self.is_led = not self.is_led

    def lower_source(self) -> None:
        self.low = "" if self.low else "source"

    def lower_target(self) -> None:
        self.low = "" if self.low else "target"

    def hold(self) -> None:
        """The syncs that are not read yet come late."""
        self.late, self.unread = self.unread, []

    def release(self) -> None:
        self.unread = self.late + self.unread

    def lose_syncs(self) -> None:
        self.told, self.unread = [], []

    def view(self) -> FlowView:
        view = super().view()
        source, target, names = view.source, view.target, view.names
        assert source is not None
        assert target is not None
        topics = {**source.topics, "u": _facts("u")}
        ends = {KEY: len(self.source) - 5 * (self.low == "source")}
        if not self.is_shown:
            del topics[TOPIC]
            names = {}
        if not (self.is_shown and self.is_led):
            ends = {}
        if self.low == "target":
            target = replace(target, ends={KEY: len(self.target) - 5})
        source = replace(source, topics=topics, ends=ends)
        return replace(view, source=source, target=target, names=names)

    @property
    def position(self) -> int | None:
        pair, seen = self.books.pairs[KEY], self.books.surveyed.get(KEY)
        if seen is None or pair.cursor is None:
            return None
        if pair.waiting or pair.awaits_first:
            return None
        return pair.position(seen.source_end, seen.copies_end)


def _facts(topic_id: str, partitions: int = 1) -> TopicFacts:
    return TopicFacts(id=topic_id, partitions=partitions, replication_factor=1)


BEFORE = "look, write 20, copy 20, flush, look 3, "
"""Twenty copied records that were accounted for."""

AFTER = ", look 3"


def words(history: str) -> list[str]:
    """Return each action of a history, one by one."""
    found = []
    for action in history.split(", "):
        name, _, times = action.partition(" ")
        found += [name] * int(times or 1)
    return found


def named(ranges: list[tuple[int, int]]) -> str:
    return " ".join(f"{a}-{b}" for a, b in ranges)


def events(world: HarshWorld) -> list[str]:
    return [
        f"{event.kind.value} {event.count}: {named([*event.ranges])}"
        for event in world.store.events()
    ]


def lost(world: HarshWorld) -> str:
    ranges = to_ranges(sorted(world.named))
    return named([(span.start, span.stop - 1) for span in ranges])


SILENT: list[str] = []

HISTORIES = {
    # Nothing is wrong.
    "copied": (BEFORE + "write 5, copy 5, flush", SILENT, "", 25),
    "transactions of a producer": (
        BEFORE + "write 3, mark, write 3, mark, copy 6, write, copy, flush",
        SILENT,
        "",
        29,
    ),
    "transactions of an exactly-once mirror": (
        BEFORE + "write 6, copy 3, commit_target, copy 3, commit_target, "
        "write, copy, flush",
        SILENT,
        "",
        27,
    ),
    "compacted before it was copied": (
        BEFORE + "write 9, remove_ahead 7, copy 9, flush",
        SILENT,
        "",
        29,
    ),
    "another producer": (
        BEFORE + "stranger 3, write 9, copy 9, flush",
        SILENT,
        "",
        29,
    ),
    "another producer beside records that wait to be copied": (
        BEFORE + "stranger 3, write 9, copy 9, flush, look 2, write 5, "
        "stranger 5",
        SILENT,
        "",
        29,
    ),
    "syncs that come late": (
        BEFORE + "write 9, copy 9, flush, hold, look 2, release",
        SILENT,
        "",
        29,
    ),
    "dropped amid many transactions that are read at once": (
        BEFORE + "write 2, mark, " * 200 + "copy 20, drop 3, copy 377, flush",
        ["skipped 3: 50-51 53-53"],
        "50-51 53-53",
        619,
    ),
    "copied before it was watched": (
        "write 9, copy 2, drop 4, copy 3, flush",
        SILENT,
        "",
        9,
    ),
    # Drops.
    "seven dropped": (
        BEFORE + "write 12, copy 3, drop 7, copy 2, flush",
        ["skipped 7: 23-29"],
        "23-29",
        32,
    ),
    "seven dropped at the tail, which no commit shows": (
        BEFORE + "write 12, copy 3, drop 7, flush, look 4",
        SILENT,
        "",
        23,
    ),
    "two tolerated at the tail": (
        BEFORE + "write 5, copy 3, fail 2, flush, look 2",
        ["tail 2: 23-24"],
        "23-24",
        25,
    ),
    "a head of fifty": (
        "look, write 50, drop 50, write, copy, flush",
        ["head 50: 0-49"],
        "0-49",
        51,
    ),
    "two dropped before the last copy, as a commit shows": (
        BEFORE + "write 9, copy 3, drop 2, copy 4, flush, hold, look 4",
        ["skipped 2: 23-24"],
        "23-24",
        29,
    ),
    "the same three dropped twice": (
        BEFORE + "write 30, copy 10, drop 3, copy 17, look, crash, "
        "copy 10, drop 3, copy 17, write, copy, flush, look 5",
        ["skipped 3: 30-32", "repeated 27: 20-29 33-50"],
        "30-32",
        51,
    ),
    "two dropped, then copied": (
        BEFORE + "write 4, drop 2, copy 2, look 2, crash, copy 4, write, "
        "copy, flush",
        ["skipped 2: 20-21", "repeated 2: 20-24"],
        "",
        25,
    ),
    "copies that are farther than the sync": (
        BEFORE + "write 9, drop 6, copy 3, crash_hard, write 20, drop 6, "
        "copy 2, crash_hard, drop 6, copy 23, flush",
        ["skipped 6: 20-25", "repeated 5: 26-27 26-48"],
        "20-25",
        49,
    ),
    "a marker and two dropped": (
        BEFORE + "write 12, copy 2, mark, copy 3, drop 2, copy 7, flush",
        ["skipped 2: 25-26"],
        "25-26",
        32,
    ),
    "two dropped by an exactly-once mirror": (
        BEFORE + "write 9, copy 3, commit_target, copy 2, drop 2, copy 2, "
        "commit_target, flush",
        ["skipped 2: 25-26"],
        "25-26",
        29,
    ),
    "one dropped and one marker, so that both sides are alike": (
        BEFORE + "write 3, copy 3, commit_target, write 3, copy 3, flush, "
        "look 3, write 9, copy 3, drop, commit_target, copy 5, flush",
        ["skipped 1: 29-29"],
        "29-29",
        35,
    ),
    # Duplicates.
    "three copied again from far before, of which no sync tells": (
        BEFORE + "write 40, copy 40, flush, look 3, write 5, go_back, "
        "copy 3, crash_hard, copy 5, flush",
        ["repeated 3: 0-2"],
        "",
        65,
    ),
    "thirty doubled after a kill": (
        BEFORE + "write 30, copy 30, crash, copy 30, flush",
        ["repeated 30: 20-49"],
        "",
        50,
    ),
    "twenty doubled that were copied before it was watched": (
        "write 20, copy 20, flush, look 3, go_back, write, copy 21, flush",
        ["repeated 20: 0-20"],
        "",
        21,
    ),
    "two tasks at once": (
        BEFORE + "write 9, copy 6, takeover, copy_other 3, copy 9, flush, "
        "look 2, fence, write 8, copy 8, flush",
        ["repeated 9: 20-28"],
        "",
        37,
    ),
    # Something hides which records were lost.
    "three foreign and two dropped": (
        BEFORE + "stranger 3, write 12, copy 3, drop 2, copy 7, flush",
        ["unverifiable 2: 23-24"],
        "",
        32,
    ),
    "two foreign and three dropped": (
        BEFORE + "write 12, copy 3, stranger 2, drop 3, copy 6, flush",
        ["unverifiable 2: 23-25", "skipped 1: 23-25"],
        "",
        32,
    ),
    "as many foreign as tolerated at the tail": (
        BEFORE
        + "stranger 3, write 9, copy 9, flush, look 3, write 3, fail 3, "
        "stranger 3, flush, look 2",
        ["unverifiable 3: 29-31"],
        "",
        32,
    ),
    "one altered": (
        BEFORE + "write 3, mark, write 3, copy 2, alter, copy 4, flush",
        ["unverifiable 1: 21-21"],
        "",
        27,
    ),
    "copies that expired": (
        BEFORE + "write 3, mark, write 3, copy 6, expire_here 24, flush",
        ["unverifiable 3: 20-22"],
        "",
        27,
    ),
    "one dropped among copies that expired on both sides": (
        BEFORE + "write 9, copy 3, drop, copy 5, flush, expire 27, "
        "expire_here 26",
        ["unverifiable 1: 20-23 25-26"],
        "",
        29,
    ),
    "two dropped among copies that expired on both sides": (
        BEFORE + "write 9, copy 3, drop 2, copy 4, flush, expire 27, "
        "expire_here 25",
        ["expired 2: 20-24 26-26"],
        "",
        29,
    ),
    "a copy that was compacted": (
        BEFORE + "write 9, copy 3, drop, copy 5, remove_last_here, flush",
        ["unverifiable 1: 23-23 27-27", "skipped 1: 23-23 27-27"],
        "",
        29,
    ),
    "four dropped that expire while they are read": (
        BEFORE + "write 9, copy 2, drop 4, copy 3, expire 24, "
        "expire_meanwhile, flush",
        ["expired 4: 22-25"],
        "22-25",
        29,
    ),
    "three dropped that expire before they are read": (
        BEFORE + "write 9, drop 3, copy, copy 5, expire 25, flush",
        ["expired 3: 20-22"],
        "20-22",
        29,
    ),
    "four dropped in a range that cannot be read": (
        BEFORE + "deny, write 9, drop 4, copy 5, flush",
        ["unverifiable 4: 20-28"],
        "",
        29,
    ),
    "two tolerated where nothing can be read": (
        BEFORE + "deny, write 5, copy 3, fail 2, flush, look 2",
        ["unverifiable 2: 23-24"],
        "",
        25,
    ),
    # Expired unread, as the check `position` tells.
    "fifteen expired while the mirror was down": (
        BEFORE + "write 30, expire 35, look 3, copy 15, flush",
        ["expired 15: 20-34"],
        "20-34",
        50,
    ),
    "fifteen expired before the first copy": (
        "look, write 20, expire 15, look 3, copy 5, flush",
        ["expired 15: 0-14"],
        "0-14",
        20,
    ),
    # Recreated topics.
    "a recreated source, copied from the beginning": (
        BEFORE + "recreate_source, write 30, look, copy 30, flush",
        SILENT,
        "",
        30,
    ),
    "a recreated source, resumed at the old position": (
        BEFORE + "recreate_source, write 30, look, jump 20, copy 10, flush",
        SILENT,
        "",
        30,
    ),
    "two dropped of a recreated source": (
        BEFORE + "recreate_source, write 15, copy 10, flush, look 3, "
        "write 10, copy 5, drop 2, copy 8, flush",
        ["skipped 2: 15-16"],
        "15-16",
        25,
    ),
    "syncs of the topic before": (
        BEFORE + "write 4, drop 2, copy 2, look, hide, look, "
        "recreate_source, write 30, look, hide",
        SILENT,
        "",
        None,
    ),
    "a recreated target": (
        BEFORE + "recreate_target, look, write 15, copy 10, drop 2, copy 3, "
        "flush",
        ["skipped 2: 30-31"],
        "30-31",
        35,
    ),
    # Truncated logs.
    "five copies truncated": (
        BEFORE + "truncate_target 5, look 4, write 10, copy 10, flush",
        ["truncated 5: 15-19"],
        "",
        30,
    ),
    "five copies truncated, and as many before it was seen": (
        BEFORE + "truncate_target 5, write 10, copy 10, flush",
        ["truncated 5: 15-19"],
        "",
        30,
    ),
    "five copies truncated where nothing can be read": (
        BEFORE + "deny, truncate_target 5, look 4, write 10, copy 10, flush",
        ["unverifiable 5: 0-19"],
        "",
        30,
    ),
    "three copies truncated of which no sync tells": (
        BEFORE + "write 3, copy 3, look 2, truncate_target 3, look 4",
        ["truncated 3: 20-22"],
        "",
        23,
    ),
    "five copies truncated before any was accounted for": (
        (
            "look, write 20, copy 20, flush, look, restart, look, "
            "truncate_target 5, look 4, write 10, copy 10, flush"
        ),
        ["truncated 5: 15-19"],
        "",
        30,
    ),
    "ten copies truncated, and syncs of them come with later ones": (
        BEFORE + "write 20, copy 20, truncate_target 10, write 40, copy 40, "
        "flush",
        ["skipped 10: 30-39"],
        "30-39",
        80,
    ),
    "copies truncated that come again, and their syncs with them": (
        BEFORE + "write 10, copy 10, flush, look 3, write 40, copy 20, crash, "
        "truncate_target 15, copy 8, flush",
        ["repeated 5: 30-37"],
        "",
        38,
    ),
    "four dropped before a truncated target": (
        BEFORE + "write 20, copy 8, drop 4, copy 8, truncate_target 4, "
        "write 30, copy 30, flush",
        ["skipped 8: 28-31 36-39"],
        "28-31 36-39",
        70,
    ),
    "a truncated source, resumed there": (
        BEFORE + "truncate 5, look 4, write 10, copy 10, flush",
        ["source_truncated 5: 15-19"],
        "",
        25,
    ),
    "a truncated source, resumed at its end": (
        BEFORE + "truncate 5, look 4, write 10, jump 10, write 4, copy 4, "
        "flush",
        ["source_truncated 5: 15-19", "unverifiable 10: 15-24"],
        "",
        29,
    ),
    # Ends that a stale leader tells are believed of no log that is longer.
    "a source with a low end for long": (
        BEFORE + "write 9, copy 3, drop 2, copy 4, look 2, lower_source, "
        "look 6, lower_source",
        ["skipped 2: 23-24"],
        "23-24",
        29,
    ),
    "a target with a low end for long": (
        BEFORE + "write 9, copy 3, drop 2, copy 4, look 2, lower_target, "
        "look 6, lower_target",
        ["skipped 2: 23-24"],
        "23-24",
        29,
    ),
    # Topics and partitions that appear.
    "a topic that appears, copied": (
        "hide, look 2, write 9, copy 9, flush, hide",
        SILENT,
        "",
        9,
    ),
    "a topic that appears, but for its head": (
        "hide, look 2, write 9, drop 4, copy 5, flush, hide",
        ["head 4: 0-3"],
        "0-3",
        9,
    ),
    "a leaderless partition that appears, but for its head": (
        (
            "hide, look 2, unlead, hide, look 2, "
            "write 9, drop 4, copy 5, flush, unlead"
        ),
        ["head 4: 0-3"],
        "0-3",
        9,
    ),
    "two dropped while a topic is denied": (
        BEFORE + "write 4, drop 2, copy 2, hide, look 3, hide",
        ["skipped 2: 20-21"],
        "20-21",
        24,
    ),
}


UNSEEN_AFTER_RESTART = {
    "a leaderless partition that appears, but for its head"
}
"""Histories that an agent which is restarted in them does not see."""


def outcome(world: Watched) -> tuple[list[str], str, int | None]:
    return events(world), lost(world), world.position


@pytest.mark.parametrize("name", HISTORIES)
def test_each_history_is_told(name: str) -> None:
    history, *expected = HISTORIES[name]
    assert outcome(Watched().do(*words(history + AFTER))) == tuple(expected)


def totals(world: Watched) -> tuple[int, int, int]:
    """Return what is lost or may be, what was recovered, and duplicates."""
    assert world.present <= world.missing
    found = world.counters
    lost_or_not = found.skipped + found.unverifiable
    return lost_or_not, found.recovered, found.repeated


@pytest.mark.parametrize(
    "name", sorted(HISTORIES.keys() - UNSEEN_AFTER_RESTART)
)
def test_a_restart_of_the_agent_hides_nothing(name: str) -> None:
    actions = words(HISTORIES[name][0])
    end = words("write 9, copy 9, flush, look 3")
    expected = totals(Watched().do(*actions, *end))
    looks = [n for n, action in enumerate(actions, 1) if action == "look"]
    restarted = {
        n: totals(Watched().do(*actions[:n], "restart", *actions[n:], *end))
        for n in looks
    }
    assert {n: x for n, x in restarted.items() if x != expected} == {}


def watched(history: str = "look") -> Watched:
    return Watched().do(*words(BEFORE + history))


def test_truncated_copies_that_come_again_are_missing_no_more() -> None:
    world = watched(
        "truncate_target 5, look 4, write 3, copy 3, flush, look 3"
    )
    assert world.lost == 5
    world.do(*words("go_back, copy 23, flush, look 3"))
    assert not any(map(world.books.missing, world.store.events()))


def test_what_a_sync_passed_over_is_not_accounted_for_until_it_is_read() -> (
    None
):
    world = watched("write 20, copy 3, drop 4, copy 3, flush")
    accounted = []
    for _ in range(4):
        seen = world.view().partitions[KEY]
        assert seen is not None
        accounted.append(world.books.accounted(KEY, seen))
        world.do("look")
    assert accounted == [20, 20, None, None]


def test_a_commit_of_a_former_topic_is_not_read_again_and_again() -> None:
    world = watched("recreate_target, recreate_source, write 5, look 2")
    world.committed = 3
    world.do(*words("look 8"))
    assert world.books.requests() == []


def test_the_first_copy_of_a_recreated_topic_outlives_a_restart() -> None:
    world = watched("recreate_source, write 30, look, jump 20")
    assert world.books.beginnings() == {}
    world.do(*words("copy 10, flush, look 3"))
    found = {KEY: Beginning("s3", 20, is_exact=True)}
    assert world.books.beginnings() == found
    world.do("restart")
    assert world.books.beginnings() == found


def test_duplicates_are_reported_at_once_and_then_each_minute() -> None:
    world = watched("write 400, copy 400, look 3, crash, copy, look 3")
    assert events(world) == ["repeated 1: 20-20"]
    for _ in range(2):
        world.do(*words("copy 100, look"))
    assert events(world) == ["repeated 1: 20-20"]
    world.do(*words("copy 100, look"))
    assert events(world)[1:] == ["repeated 100: 21-120"]
    assert world.books.counters[TOPIC].resets == 1


def test_brokers_are_asked_of_an_end_that_is_low_for_long() -> None:
    world = watched("lower_target, look 2")
    assert world.books.end_requests() == []
    world.do("look")
    (request,) = world.books.end_requests()
    assert (request.place, request.at_target) == (KEY, True)
    assert request.offset == 20


def test_markers_show_that_the_mirror_writes_in_transactions() -> None:
    world = watched("write 3, copy 3, commit_target, write, copy, look 3")
    assert world.books.is_transactional


@pytest.mark.parametrize(("hours", "records"), [(1, 1), (3, 4)])
def test_foreign_records_add_up_while_they_are_remembered(
    hours: int, records: int
) -> None:
    world = watched("stranger 3, write 9, copy 9, flush, look 2, restart")
    world.books.memory = timedelta(hours=hours)
    world.do(*words("look 2"))
    assert world.books.foreign[TOPIC].records == 3
    world.now += timedelta(hours=2)
    world.do(*words("write, copy, stranger, write, copy, flush, look 3"))
    assert world.books.foreign[TOPIC].records == records


@pytest.mark.parametrize("what", ["expire 22", "remove 23"])
def test_copies_of_records_that_are_gone_are_not_foreign(what: str) -> None:
    world = watched(f"write 9, copy 9, {what}, write, drop, write, copy")
    world.do(*words("flush, look 3"))
    assert world.books.foreign == {}


def test_the_target_s_end_counts_no_copies_while_two_tasks_write() -> None:
    world = watched("write 9, copy 6, takeover, copy, copy_other, copy")
    world.do(*words("copy_other, flush, look 2, restart, look 2"))
    assert world.books.shared_partitions() == {KEY}
    world.do(*words("fence, write 9, copy 15, flush, look 2"))
    world.do(*words("write 9, copy 9, flush, look 2"))
    assert world.books.shared_partitions() == set()


def test_missing_records_are_those_that_the_source_holds() -> None:
    world = watched("write 6, drop 3, copy 2, drop, write, copy, look 2")
    assert world.books.missing_records(()) == {KEY: (20, 4)}
    world.do(*words("expire 21, look"))
    assert world.books.missing_records(()) == {KEY: (21, 3)}
    rule = FilteredRule(pattern=TOPIC)
    world.books.filtered = FilteredTopics(rules=(rule,))
    assert world.books.missing_records(()) == {}
    world.books.filtered = FilteredTopics()
    world.do(*words("crash, copy 30, look 2"))
    assert world.books.missing_records(()) == {}


@pytest.mark.parametrize(
    ("history", "kind", "found"),
    [
        ("look", EventKind.UNVERIFIABLE, (20, 2)),
        ("expire 21, look", EventKind.UNVERIFIABLE, (21, 1)),
        ("expire 22, look", EventKind.UNVERIFIABLE, None),
        ("crash, copy 30, look 2", EventKind.UNVERIFIABLE, None),
        ("look", EventKind.REPEATED, None),
    ],
)
def test_unverifiable_records_are_missing_while_the_source_holds_them(
    history: str, kind: EventKind, found: tuple[int, int] | None
) -> None:
    world = watched("write 6, drop 2, copy 4, look 2")
    pair = world.books.pairs[KEY]
    pair.coverage.put(20, 22, State.UNKNOWN, 20)
    ranges = RangeEvent(kind, (range(20, 22),), 2)
    event = CopyEvent.of(
        KEY, pair.source_id, ranges, world.now, filtered=False
    )
    world.do(*words(history))
    missing = world.books.missing_records([event])
    assert missing == ({} if found is None else {KEY: found})
    old = replace(event, source_id="former")
    assert world.books.missing_records([old]) == {}


def test_records_of_an_event_are_missing_until_they_are_copied() -> None:
    world = watched("write 4, drop 2, copy 2, look 2")
    (event,) = world.store.events()
    assert world.books.missing(event) == 2
    world.do(*words("crash, copy, look 3"))
    assert world.books.missing(event) == 1
    assert world.counters.recovered == 1
    world.do(*words("recreate_source, write 30, look, copy 30, look 3"))
    assert world.books.missing(event) == 2


@pytest.mark.parametrize(
    ("history", "without"),
    [
        ("look 4", 0),
        ("lose_syncs, look 2", 0),
        ("lose_syncs, look 3", 1),
        ("lose_syncs, look 3, write 9, copy 9, flush, look", 0),
    ],
)
def test_partitions_without_syncs_are_noticed(
    history: str, without: int
) -> None:
    world = watched(history)
    assert len(world.books.without_syncs) == without


def test_partitions_that_come_while_a_topic_is_left_out_are_new() -> None:
    books, at = CopyTracker(), START
    # Partitions, and ends of the copies of those that the mirror copies.
    for partitions, ends in ((1, [20]), (1, []), (2, []), (2, [20, 7])):
        at += timedelta(seconds=15)
        view = Watched(now=at).view()
        assert view.source is not None
        assert view.target is not None
        copied = {(TOPIC, n): end for n, end in enumerate(ends)}
        source = replace(
            view.source,
            topics={TOPIC: _facts("s1", partitions)},
            ends=dict.fromkeys(copied, 20),
            starts=dict.fromkeys(copied, 0),
        )
        target = replace(
            view.target, topics={TOPIC: _facts("t1", 2)}, ends=copied
        )
        names = {TOPIC: TOPIC} if ends else {}
        books.follow(replace(view, source=source, target=target, names=names))
    assert books.pairs[TOPIC, 0].cursor is None
    assert books.pairs[TOPIC, 1].cursor == OffsetPair(-1, -1)


class SilentWorld(AlteredWorld):
    """A mirror that alters what it copies, and writes no syncs."""

    def _tell(self, up: int, down: int) -> None:
        pass


@pytest.mark.parametrize("beyond", [0, 2])
def test_of_altered_copies_the_net_is_counted_once(beyond: int) -> None:
    world = SilentWorld().do("look", "write 22", "fail 19", "copy 3", "flush")
    world.do(*["write", "copy"] * beyond, "look 4")
    assert world.counters.unverifiable == 19 - beyond
    for _ in range(3):
        world.do("write 3", "copy 3", "flush", "look 4")
    counters = world.counters
    assert (counters.skipped, counters.repeated) == (0, 0)
    assert counters.unverifiable == 19 - beyond
    assert world.books.foreign == {}


def test_of_records_that_look_alike_a_drop_is_no_truncation() -> None:
    world = AlikeWorld().do("write 20", "look", "copy 20", "flush", "look 3")
    world.do("write 3", "expire 20", "drop", "copy 2", "flush", "look 3")
    assert (world.named, world.counters.unverifiable) == ({20}, 0)
