"""An hour of chaos is worth what its grading finds."""

import re
from itertools import islice
from pathlib import Path

import pytest

from .grading import (
    HEAL_SECONDS,
    LINGER,
    LOST_SECONDS,
    MAY,
    MUST,
    PATTERNS,
    SIGHT_SECONDS,
    SLACK_SECONDS,
    Claim,
    Injection,
    Look,
    Saying,
    counts_said,
    false_alarms,
    reports,
    table,
    to_sayings,
    unhealed,
    wrong_claims,
)
from .points import missing_ticks
from .schedule import Kind, draw

RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"

OVERDUE = Saying(name="canary.overdue", health="critical", sentence="")
STOPPED = Saying(name="lag.stopped", health="critical", sentence="")


def skipped(topic: str, count: int = 10) -> Saying:
    return Saying(
        name="skips.skipped",
        health="critical",
        sentence="",
        topic=topic,
        count=count,
    )


def looks(
    *said: tuple[float, float, Saying], until: float = 600
) -> list[Look]:
    """Return a look a second, with what is said from one time to another."""
    return [
        Look(
            at=at,
            tick=f"{at}",
            sayings=tuple(s for a, b, s in said if a <= at <= b),
        )
        for at in map(float, range(int(until)))
    ]


def killed(healed: float | None = None) -> Injection:
    return Injection(
        number=1,
        kind=Kind.KILL_MIRROR,
        began=100,
        ended=130,
        healed=healed,
    )


def dropped() -> Injection:
    return Injection(
        number=1,
        kind=Kind.DROP,
        began=100,
        ended=130,
        topics=frozenset({"a"}),
    )


def test_a_warning_during_calm_is_a_false_alarm() -> None:
    (alarm,) = false_alarms([], looks((50, 60, OVERDUE)))
    assert (alarm.saying, alarm.first, alarm.last) == (OVERDUE, 50, 60)


def test_what_a_fault_explains_is_none_until_long_after_it() -> None:
    last = 130 + SLACK_SECONDS
    assert not false_alarms([killed()], looks((100, last, OVERDUE)))
    assert len(false_alarms([killed()], looks((98, 99, OVERDUE)))) == 1
    assert len(false_alarms([killed()], looks((110, last + 1, OVERDUE)))) == 1


def test_what_a_fault_does_not_explain_is_a_false_alarm() -> None:
    said = looks((110, 120, skipped("a")))
    assert len(false_alarms([killed()], said)) == 1
    assert not false_alarms([dropped()], said)


def test_a_loss_of_another_topic_is_a_false_alarm() -> None:
    said = looks((110, 120, skipped("b")))
    (alarm,) = false_alarms([dropped()], said)
    assert alarm.saying.topic == "b"


def test_a_mirror_that_an_operator_restarted_explains_more() -> None:
    cut = Injection(number=1, kind=Kind.CUT_MIRROR, began=100, ended=130)
    idle = Saying(name="tasks.idle", health="critical", sentence="")
    said = looks((240, 250, idle))
    assert len(false_alarms([cut], said)) == 1
    cut.restarted = 245
    assert not false_alarms([cut], said)


def test_one_alarm_with_a_break_is_two() -> None:
    said = looks((50, 60, OVERDUE), (70, 80, OVERDUE))
    assert [a.first for a in false_alarms([], said)] == [50, 70]


def test_what_is_told_in_time_is_told() -> None:
    said = looks((112, 130, OVERDUE), (120, 130, STOPPED))
    first, second = reports([killed()], said)
    assert (first.seconds, first.late) == (12, False)
    assert (second.seconds, second.late) == (20, False)


def test_what_is_told_late_or_never_is_found() -> None:
    late, never = reports([killed()], looks((129, 130, OVERDUE)))
    assert (late.seconds, late.late) == (29, True)
    assert (never.seconds, never.late) == (None, True)


def test_what_was_told_before_the_fault_does_not_count() -> None:
    first, _ = reports([killed()], looks((50, 99, OVERDUE)))
    assert first.late


def test_nobody_must_tell_of_what_is_over_too_soon() -> None:
    brief = Injection(number=1, kind=Kind.KILL_MIRROR, began=100, ended=105)
    assert [r.waived for r in reports([brief], looks())] == [True, True]
    lost = Injection(
        number=1,
        kind=Kind.DROP,
        began=100,
        ended=101,
        topics=frozenset({"a"}),
    )
    # A loss stays.
    (report,) = reports([lost], looks())
    assert report.late


def test_an_agent_that_was_away_has_its_time_from_its_return() -> None:
    away = Injection(number=1, kind=Kind.KILL_AGENT, began=103, ended=120)
    said = looks((140, 190, skipped("a")))
    (report,) = reports([dropped(), away], said)
    assert report.seconds == 140 - 120 - SIGHT_SECONDS
    (report,) = reports([dropped()], said)
    assert report.late


def test_a_killed_agent_does_not_say_that_its_link_is_cut_either() -> None:
    cut = Injection(number=1, kind=Kind.CUT_AGENT, began=100, ended=130)
    away = Injection(number=1, kind=Kind.KILL_AGENT, began=101, ended=110)
    unknown = Saying(name="canary.unknown", health="unknown", sentence="")
    said = looks((124, 126, unknown))
    (report,) = reports([cut, away], said)
    assert report.seconds == 124 - 110 - SIGHT_SECONDS
    (report,) = reports([cut], said)
    assert report.late


def test_a_loss_of_another_topic_is_no_report() -> None:
    (report,) = reports([dropped()], looks((101, 150, skipped("b"))))
    assert report.late


def test_a_wrong_count_is_found() -> None:
    fault = dropped()
    fault.claims = [Claim(what="skipped", said=10, true=10)]
    assert not wrong_claims([fault])
    fault.claims = [Claim(what="skipped", said=9, true=10)]
    assert wrong_claims([fault]) == [
        "1 drop records: skipped: said 9, true 10"
    ]
    fault.claims = [Claim(what="skipped", said=10, true=10, most=12)]
    assert wrong_claims([fault]) == [
        "1 drop records: skipped: said 12 for a while, true 10"
    ]


def test_what_does_not_heal_is_found() -> None:
    assert not unhealed([killed(healed=160)])
    assert unhealed([killed()]) == ["1 kill mirror: never all ok"]
    assert len(unhealed([killed(healed=130 + HEAL_SECONDS + 1)])) == 1


def test_a_tick_that_is_not_written_is_found() -> None:
    ticks = [f"2026-11-22T20:00:0{n}.123+00:00" for n in range(4)]
    written = [1795377600.1234 + n for n in (0, 1, 3)]
    assert missing_ticks(ticks, written, []) == [ticks[2]]
    assert missing_ticks(ticks, written, [ticks[2]]) == []


@pytest.mark.parametrize(
    ("check", "parts", "name", "count"),
    [
        (
            "skips",
            (
                "1,234 records of a.b partition 0 (source offsets 1 to 2) ",
                "were skipped, although records before and after were ",
                "copied; 6 more in other ranges (and 1 more, see the ",
                "evidence)",
            ),
            "skips.skipped",
            1240,
        ),
        (
            "position",
            (
                "300 records expired at summit before MirrorMaker copied ",
                "them, and MirrorMaker resumed after them: a.b[0] offsets ",
                "[5, 305). They are lost for ldf",
            ),
            "position.expired",
            300,
        ),
        (
            "position",
            (
                "a.b was deleted and recreated at summit, and MirrorMaker ",
                "resumed at its old position: 40 records of the new topic ",
                "were never copied, a.b[0] offsets [0, 40)",
            ),
            "position.recreated",
            40,
        ),
        (
            "position",
            (
                "a.b was deleted and recreated at ldf: records copied to ",
                "its 1 partition (45 offsets) are gone there",
            ),
            "position.target recreated",
            45,
        ),
    ],
)
def test_topics_and_counts_are_read_from_sentences(
    check: str, parts: tuple[str, ...], name: str, count: int
) -> None:
    (found,) = to_sayings(check, "critical", ["".join(parts)])
    assert (found.name, found.topic, found.count) == (name, "a.b", count)


def expired(topic: str, count: int, what: str = "resumed") -> Saying:
    return Saying(
        name="position.expired",
        health="critical",
        sentence=f"{count} records expired, and MirrorMaker {what}",
        topic=topic,
        count=count,
    )


def test_partitions_that_resume_one_after_the_other_are_added_up() -> None:
    open_, both = expired("a", 42, "does not"), expired("a", 42)
    first, rest = expired("a", 33), expired("a", 9, "does not")
    said = looks(
        (10, 19, open_), (20, 20, first), (20, 20, rest), (21, 64, both),
        (65, 65, expired("a", 9)),
    )  # fmt: skip
    assert set(counts_said(said, "position.expired", {"a"})) == {42}


def test_a_count_that_falls_too_early_is_seen() -> None:
    said = looks((20, 50, expired("a", 42)), (51, 65, expired("a", 9)))
    assert counts_said(said, "position.expired", {"a"})[-1] == 9
    assert counts_said(said, "position.expired", {"b"}) == []


def test_a_sentence_that_nobody_knows_is_a_false_alarm() -> None:
    (found,) = to_sayings("lag", "critical", ["Something is wrong"])
    every = [
        Injection(number=1, kind=kind, began=0, ended=500) for kind in Kind
    ]
    look = Look(at=100, tick="1", sayings=(found,))
    assert len(false_alarms(every, [look])) == 1


def test_what_is_ok_or_unknown_is_no_alarm() -> None:
    assert list(to_sayings("lag", "ok", ["No lag on 3 topics"])) == []
    (unknown,) = to_sayings("lag", "unknown", ["summit does not answer"])
    look = Look(at=100, tick="1", sayings=(unknown,))
    assert not false_alarms([], [look])


def test_every_sentence_that_is_graded_is_in_the_runbook() -> None:
    text = re.sub(r"\s+", " ", RUNBOOK.read_text())
    said = [
        # After a colon come partitions, elsewhere names and numbers.
        re.sub(r"(?<=: )…", "7[7]", sentence).replace("…", "7")
        for sentence in re.findall(r"`([^`]*)`", text)
    ]
    for name, (_, pattern) in PATTERNS.items():
        if name not in {"sink.down", "bottleneck.found"}:
            anywhere = re.sub("summit|ldf", "7", pattern)
            assert any(re.search(anywhere, s) for s in said), name


def test_what_must_be_said_may_be_said() -> None:
    assert MAY.keys() == MUST.keys() == set(Kind)
    known = set(PATTERNS)
    for kind in Kind:
        assert MAY[kind] <= known
        for must in MUST[kind]:
            said = {n for n in must.any_of if not n.endswith(".unknown")}
            assert said <= MAY[kind]
    assert set(LINGER) <= known
    assert LINGER["skips.skipped"] > LOST_SECONDS


def test_the_table_has_every_kind() -> None:
    fault = killed(healed=160)
    fault.claims = [Claim(what="repeated", said=3, true=4)]
    rows = list(table([fault], looks((112, 130, OVERDUE))))
    (row,) = [row for row in rows if row.startswith("kill mirror")]
    words = "kill mirror 1 canary.overdue 1/1 12.0 12.0 3/4 30/30 s"
    assert " ".join(row.split()) == words
    assert all(any(row.startswith(kind) for row in rows) for kind in Kind)


def test_the_same_seed_gives_the_same_schedule() -> None:
    one, again = (list(islice(draw(7), 80)) for _ in range(2))
    assert one == again
    assert one != list(islice(draw(8), 80))
    assert {step.kind for step in one[: len(Kind)]} == set(Kind)
    assert any(step.beside for step in one)
