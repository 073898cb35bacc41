"""Notices in words."""

import json
from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.notices.model import (
    CheckChange,
    Notice,
    NoticeKind,
    NoticeMessage,
)
from mirrorwatch.domain.notices.text import Links, to_message
from mirrorwatch.domain.report import Cause, Health
from tests.support.builders import FLOW, NOON, a_verdict

LINKS = Links("https://watch.example")

LOST = Notice(
    at=NOON,
    flow=FLOW.name,
    kind=NoticeKind.WORSE,
    health=Health.CRITICAL,
    before=Health.OK,
    since=NOON - timedelta(minutes=3),
    lasted=timedelta(minutes=3),
    changes=(
        CheckChange(
            verdict=a_verdict(
                Health.CRITICAL,
                reason="1 probe was lost",
                evidence={"lost": 1, "time_to_loss_seconds": float("inf")},
            ),
            before=Health.OK,
        ),
        CheckChange(
            verdict=a_verdict(
                Health.OK, check="lag", reason="No lag on 3 topics"
            ),
            before=Health.WARNING,
        ),
    ),
    untold=7,
    is_last=True,
)


def said(notice: Notice) -> NoticeMessage:
    return to_message(notice, LINKS)


def test_a_notice_names_the_cause_before_its_symptoms() -> None:
    cause = Cause(
        flow=FLOW.name,
        code="cluster.silent",
        part="source or link",
        reason="summit does not answer",
        headline="summit does not answer for 9 s",
        since=NOON,
        evidence=("summit has not answered for 9 s",),
        symptoms=("canary", "lag"),
        stops=True,
    )
    message = said(replace(LOST, cause=cause))
    assert message.text.splitlines()[1:3] == [
        "Cause: source or link. summit does not answer",
        "Symptoms: canary, lag",
    ]
    assert message.lines[0].link == (
        "https://watch.example/runbook#clustersilent"
    )
    assert message.document["cause"] == {
        "code": "cluster.silent",
        "part": "source or link",
        "reason": "summit does not answer",
        "since": "2026-01-02T12:00:00+00:00",
        "evidence": ["summit has not answered for 9 s"],
        "symptoms": ["canary", "lag"],
    }
    assert said(LOST).document["cause"] is None
    new = said(replace(LOST, kind=NoticeKind.CAUSE, cause=cause))
    assert new.title == f"summit->ldf is critical: {cause.headline}"


def test_a_notice_says_what_is_wrong_and_where_to_look() -> None:
    assert said(LOST).text.splitlines() == [
        "summit->ldf is critical",
        "critical: canary: 1 probe was lost",
        "ok: lag: No lag on 3 topics",
        "Not ok since 2026-01-02 11:57 UTC",
        "7 changes of this or other flows not notified",
        "No further notifications for up to an hour. Check the page",
        "2026-01-02 12:00 UTC, https://watch.example",
    ]
    assert [line.link for line in said(LOST).lines if line.link] == [
        "https://watch.example/runbook#canary",
        "https://watch.example",
    ]


def test_programs_read_the_same() -> None:
    document = dict(said(LOST).document)
    checks = document.pop("checks")
    assert document == {
        "version": 1,
        "id": "summit->ldf@2026-01-02T12:00:00+00:00",
        "kind": "worse",
        "at": "2026-01-02T12:00:00+00:00",
        "flow": "summit->ldf",
        "health": "critical",
        "before": "ok",
        "since": "2026-01-02T11:57:00+00:00",
        "lasted_seconds": 180.0,
        "cause": None,
        "untold_changes": 7,
        "page": "https://watch.example",
    }
    assert json.loads(json.dumps(checks, allow_nan=False))[0] == {
        "check": "canary",
        "code": None,
        "health": "critical",
        "before": "ok",
        "reason": "1 probe was lost",
        "since": "2026-01-02T12:00:00+00:00",
        "evidence": {"lost": 1, "time_to_loss_seconds": "inf"},
        "runbook": "https://watch.example/runbook#canary",
    }


def test_each_title_says_how_the_flow_is() -> None:
    def title(kind: NoticeKind, health: Health) -> str:
        return said(replace(LOST, kind=kind, health=health)).title

    assert [
        title(NoticeKind.UNKNOWN, Health.UNKNOWN),
        title(NoticeKind.BETTER, Health.WARNING),
        title(NoticeKind.CHANGED, Health.CRITICAL),
        title(NoticeKind.REMINDER, Health.CRITICAL),
        title(NoticeKind.RECOVERED, Health.OK),
    ] == [
        "summit->ldf cannot be verified",
        "summit->ldf has improved, but has a warning",
        "summit->ldf is critical, with more checks failing than before",
        "summit->ldf is still critical, for 3 min",
        "summit->ldf is ok again, after 3 min",
    ]


def test_a_long_notice_fits_a_screen() -> None:
    change = LOST.changes[0]
    long = replace(change, verdict=replace(change.verdict, reason="x" * 9999))
    message = said(replace(LOST, changes=(long,) * 14))
    assert len(message.lines) < 20
    assert len(message.text) < 7000
    assert "and 2 checks more" in message.text


def test_a_flow_with_a_warning_is_not_called_ok() -> None:
    mild = replace(
        LOST,
        kind=NoticeKind.RECOVERED,
        health=Health.OK,
        actual=Health.WARNING,
        before=Health.CRITICAL,
    )
    assert said(mild).title == (
        "summit->ldf has improved after 3 min, but has a warning"
    )
