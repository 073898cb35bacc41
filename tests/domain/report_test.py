from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.report import (
    Finding,
    Health,
    Verdict,
    conclude,
    seconds,
)
from tests.support.builders import FLOW, NOON, a_cause, a_report, a_verdict

MINUTE = timedelta(minutes=1)
OFF, OK = Health.OFF, Health.OK
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(milliseconds=400), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(seconds=59.6), "1 min"),
        (timedelta(seconds=92), "1 min 32 s"),
        (timedelta(seconds=120), "2 min"),
        (timedelta(seconds=600), "10 min"),
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


def leads(*verdicts: Verdict) -> str | None:
    lead = a_report(NOON, verdicts=verdicts).lead_of(FLOW.name)
    return None if lead is None else lead.check


def judged(
    check: str, health: Health, minutes: float = 0, *, past: bool = False
) -> Verdict:
    verdict = a_verdict(health, check=check, since=NOON + minutes * MINUTE)
    found = Finding(f"{check}.x", health, verdict.reason, past=past)
    return replace(verdict, findings=(found,))


def lost(minutes: float) -> Verdict:
    return judged("position", CRITICAL, minutes, past=True)


@pytest.mark.parametrize(
    ("verdicts", "lead"),
    [
        ([], None),
        ([judged("lag", OFF)], None),
        ([judged("lag", OK), judged("canary", OK)], "canary"),
        ([judged("lag", OK)], "lag"),
        ([judged("lag", WARNING, 9), judged("skips", CRITICAL)], "skips"),
        ([judged("skips", CRITICAL, 1), judged("lag", CRITICAL, 2)], "lag"),
        # What is so now comes before what happened.
        ([judged("lag", CRITICAL, 1), lost(2)], "lag"),
        ([judged("lag", WARNING, 1), lost(2)], "position"),
        ([judged("skips", CRITICAL, 1, past=True), lost(2)], "position"),
    ],
)
def test_the_newest_of_the_worst_leads(
    verdicts: list[Verdict], lead: str | None
) -> None:
    assert leads(*verdicts) == lead


def test_a_cause_is_the_headline() -> None:
    stopped = judged("lag", CRITICAL)
    report = a_report(NOON, verdicts=[stopped])
    assert report.headline_of(FLOW.name) == stopped.reason
    report = replace(report, causes=(a_cause(),))
    assert report.headline_of(FLOW.name) == a_cause().headline
    assert a_report(NOON, verdicts=[]).headline_of(FLOW.name) is None


def test_other_findings_are_counted_unless_they_are_ok() -> None:
    found = [
        Finding("lag.ok", OK, "No lag"),
        Finding("lag.stalled", CRITICAL, "a has stopped"),
        Finding("lag.falling-behind", WARNING, "b is falling behind"),
    ]
    verdict = conclude(
        found, flow=FLOW.name, check="lag", now=NOON, evidence={}
    )
    assert (verdict.reason, verdict.others) == ("a has stopped", 1)
    assert verdict.codes == ("lag.stalled", "lag.falling-behind", "lag.ok")
