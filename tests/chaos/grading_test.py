"""An hour of chaos is worth what its grading finds."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import mirrorwatch

from .grading import (
    BOTTLENECKS,
    HEAL_SECONDS,
    LINGER,
    LOST_SECONDS,
    MAY,
    MUST,
    RECORDS,
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

OVERDUE = Saying(name="canary.overdue", health="critical")
STOPPED = Saying(name="lag.stopped", health="critical")


def skipped(topic: str, count: int = 10) -> Saying:
    return Saying(
        name="skips.dropped",
        health="critical",
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
    idle = Saying(name="tasks.idle", health="critical")
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
    unknown = Saying(name="canary.unknown", health="unknown")
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


def finding(
    code: str,
    health: str = "critical",
    numbers: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return a finding as `/api/status` gives it."""
    return {
        "code": code,
        "health": health,
        "title": "",
        "subject": {"topic": "a.b"},
        "numbers": numbers,
    }


@pytest.mark.parametrize(
    ("code", "numbers", "count", "resumes"),
    [
        ("skips.dropped", {"records": 1240, "partitions": 2}, 1240, False),
        (
            "position.expired-unread",
            {"records": 300, "resets": 3, "open_resets": 2},
            300,
            True,
        ),
        (
            "position.expired-unread",
            {"records_at_most": 7, "resets": 1, "open_resets": 1},
            7,
            False,
        ),
        # What may still be read is not lost.
        (
            "position.recreated",
            {
                "records": 0,
                "records_at_risk": 40,
                "resets": 1,
                "open_resets": 1,
            },
            None,
            False,
        ),
        ("position.target-recreated", {"offsets": 45}, 45, False),
        ("lag.stopped", {"topics": 2}, None, False),
    ],
)
def test_topics_and_counts_are_read_from_findings(
    code: str, numbers: dict[str, int], count: int | None, resumes: bool
) -> None:
    check = code.partition(".")[0]
    (found,) = to_sayings(check, "critical", [finding(code, numbers=numbers)])
    assert (found.name, found.topic) == (code, "a.b")
    assert (found.count, found.resumes) == (count, resumes)


def test_each_finding_has_its_own_health() -> None:
    found = to_sayings(
        "canary",
        "critical",
        [
            finding("canary.overdue"),
            finding("canary.late", "warning"),
            finding("canary.silent", "unknown"),
            finding("canary.ok", "ok"),
        ],
    )
    assert [(s.name, s.health) for s in found] == [
        ("canary.overdue", "critical"),
        ("canary.late", "warning"),
    ]


def expired(topic: str, count: int, *, resumes: bool = True) -> Saying:
    return Saying(
        name="position.expired-unread",
        health="critical",
        topic=topic,
        count=count,
        resumes=resumes,
    )


def test_partitions_that_resume_one_after_the_other_are_added_up() -> None:
    open_, both = expired("a", 42, resumes=False), expired("a", 42)
    first, rest = expired("a", 33), expired("a", 9, resumes=False)
    said = looks(
        (10, 19, open_), (20, 20, first), (20, 20, rest), (21, 64, both),
        (65, 65, expired("a", 9)),
    )  # fmt: skip
    assert set(counts_said(said, "position.expired-unread", {"a"})) == {42}


def test_a_count_that_falls_too_early_is_seen() -> None:
    said = looks((20, 50, expired("a", 42)), (51, 65, expired("a", 9)))
    assert counts_said(said, "position.expired-unread", {"a"})[-1] == 9
    assert counts_said(said, "position.expired-unread", {"b"}) == []


def test_a_code_that_nobody_knows_is_a_false_alarm() -> None:
    (found,) = to_sayings("lag", "critical", [finding("lag.strange")])
    every = [
        Injection(number=1, kind=kind, began=0, ended=500) for kind in Kind
    ]
    look = Look(at=100, tick="1", sayings=(found,))
    assert len(false_alarms(every, [look])) == 1


def test_what_is_ok_or_unknown_is_no_alarm() -> None:
    assert list(to_sayings("lag", "ok", [finding("lag.ok", "ok")])) == []
    silent = [finding("lag.unreadable", "unknown")]
    (unknown,) = to_sayings("lag", "unknown", silent)
    assert unknown.name == "lag.unknown"
    look = Look(at=100, tick="1", sayings=(unknown,))
    assert not false_alarms([], [look])


def test_every_code_that_is_graded_exists() -> None:
    product = Path(mirrorwatch.__file__).parent
    text = "".join(file.read_text() for file in product.rglob("*.py"))
    graded = (
        RECORDS | BOTTLENECKS | set(LINGER) | frozenset().union(*MAY.values())
    )
    for code in graded - {"sink.down"}:
        assert f'"{code}"' in text, code


def test_what_must_be_said_may_be_said() -> None:
    assert MAY.keys() == MUST.keys() == set(Kind)
    for kind in Kind:
        for must in MUST[kind]:
            said = {n for n in must.any_of if not n.endswith(".unknown")}
            assert said <= MAY[kind]
    assert LINGER["skips.dropped"] > LOST_SECONDS


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
