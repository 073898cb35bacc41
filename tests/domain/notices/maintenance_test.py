"""How a flow was before maintenance, and how it is after it."""

import json
from dataclasses import replace
from datetime import timedelta

from mirrorwatch.domain.notices.maintenance import (
    FlowSnapshot,
    LatencySummary,
    MaintenanceOutcome,
    TopicSnapshot,
    take_snapshot,
    to_document,
    to_lines,
    to_message,
)
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.tasks.model import TasksObservation
from mirrorwatch.ports import Report
from mirrorwatch.state.documents import from_json, to_json
from tests.support.builders import FLOW, NOON, a_report, a_verdict, a_window
from tests.support.full_report import a_full_report

LATER = NOON + timedelta(hours=2)
LATENCY = LatencySummary(
    median=timedelta(milliseconds=12), p99=timedelta(milliseconds=345)
)


def taken(report: Report) -> FlowSnapshot:
    return take_snapshot(report, FLOW.name, LATENCY)


def test_a_snapshot_has_the_figures_of_every_sink() -> None:
    snapshot = taken(a_full_report())
    assert snapshot.health is Health.WARNING
    assert (snapshot.lag_records, snapshot.lag_seconds) == (12352, 10800)
    assert snapshot.tasks == {"running": 1, "failed": 1}
    assert snapshot.counts == {
        "probes_sent": 50,
        "probes_lost": 1,
        "probes_late": 3,
        "probe_duplicates": 6,
        "records_skipped": 10,
        "records_recovered": 2,
        "records_repeated": 300,
        "position_resets": 3,
    }
    assert from_json(FlowSnapshot, to_json(snapshot)) == snapshot


def test_of_a_flow_that_was_not_seen_nothing_is_known() -> None:
    snapshot = take_snapshot(
        a_report(verdicts=[]), FLOW.name, LatencySummary(median=None, p99=None)
    )
    assert snapshot.health is Health.UNKNOWN
    assert snapshot.lag_records is None
    assert dict(snapshot.counts) == {}
    lines = list(to_lines(outcome(snapshot, snapshot)))
    assert "lag: not known -> not known" in lines
    assert "probes lost not known" in lines[-1]


def test_the_version_of_the_mirror_is_taken_where_it_is_known() -> None:
    for version in ("3.9.0", None):
        seen = TasksObservation(flow=FLOW.name, at=NOON, version=version)
        other = replace(seen, flow="commands", version="1.0.0")
        snapshot = taken(a_report(observations=[other, seen]))
        assert snapshot.version == version
        assert from_json(FlowSnapshot, to_json(snapshot)) == snapshot
    # One of an agent before this one.
    old = json.loads(to_json(snapshot))
    del old["version"]
    assert from_json(FlowSnapshot, json.dumps(old)) == snapshot


def outcome(
    before: FlowSnapshot | None, after: FlowSnapshot
) -> MaintenanceOutcome:
    return MaintenanceOutcome(window=a_window(), before=before, after=after)


def an_upgrade() -> MaintenanceOutcome:
    before = replace(taken(a_full_report()), version="3.9.0")
    after = replace(
        before,
        at=LATER,
        verdicts=(
            a_verdict(Health.CRITICAL, reason="2 probes were lost"),
            a_verdict(Health.OK, check="lag"),
        ),
        latency=replace(LATENCY, p99=timedelta(seconds=2)),
        version="4.3.0",
        counts={**before.counts, "probes_lost": 3, "probe_duplicates": 4},
    )
    return outcome(before, after)


def test_only_what_rose_meanwhile_is_counted() -> None:
    counted = an_upgrade().counted
    assert counted["probes_lost"] == 2
    assert counted["probes_sent"] == 0
    # It is lower than before: it began again at zero.
    assert counted["probe_duplicates"] == 4


def test_a_topic_that_was_deleted_meanwhile_hides_and_adds_nothing() -> None:
    gone = TopicSnapshot(skipped=900, recovered=5, repeated=40, resets=7)
    stays = TopicSnapshot(skipped=100, recovered=1, repeated=10, resets=1)
    before = replace(
        taken(a_full_report()),
        topics={"gone": gone, "stays": stays},
        counts={"records_skipped": 1000, "records_recovered": 6}
        | {"records_repeated": 50, "position_resets": 8},
    )
    after = replace(
        before,
        topics={"stays": replace(stays, skipped=103), "new": gone},
        counts={"records_skipped": 1003, "records_recovered": 6}
        | {"records_repeated": 50, "position_resets": 8},
    )
    counted = outcome(before, after).counted
    assert counted["records_skipped"] == 903
    after = replace(
        after, topics={"stays": stays}, counts={"records_skipped": 100}
    )
    assert outcome(before, after).counted["records_skipped"] == 0
    # One of an agent before this one has no such counts of topics.
    old = json.loads(to_json(after))
    del old["topics"]["stays"]["repeated"]
    assert from_json(FlowSnapshot, json.dumps(old)).topics == {
        "stays": replace(stays, repeated=0)
    }


def test_without_a_before_no_rise_is_known() -> None:
    alone = outcome(None, an_upgrade().after)
    assert set(alone.counted.values()) == {None}
    assert to_document(alone)["before"] is None
    assert next(to_lines(alone)).startswith("summit->ldf: not known -> crit")


def test_a_person_reads_what_changed() -> None:
    assert list(to_lines(an_upgrade())) == [
        "summit->ldf: warning -> critical, after 2 h",
        "canary: warning -> critical: 2 probes were lost",
        "lag: not known -> ok: Every probe arrives",
        "mirror: 3.9.0 -> 4.3.0",
        "canary, median: 12 ms -> 12 ms",
        "canary, p99: 345 ms -> 2,000 ms",
        "lag: 12,352 offsets (3 h) -> 12,352 offsets (3 h)",
        "tasks: 1 failed, 1 running -> 1 failed, 1 running",
        "topics that became worse: none",
        (
            "counters during maintenance: probes sent 0, probes lost 2, "
            "probes late 0, probe duplicates 4, records skipped 0, "
            "records recovered 0, "
            "records repeated 0, position resets 0"
        ),
    ]


def test_topics_that_became_worse_are_named_the_worst_first() -> None:
    fine = TopicSnapshot(lag_records=900, lag_seconds=30, skipped=5)
    known = an_upgrade()
    assert known.before is not None
    before = replace(
        known.before, topics={"same": fine, "lags": fine, "again": fine}
    )
    after = replace(
        known.after,
        topics={
            "same": fine,
            # Within what a flush interval does.
            "moved": TopicSnapshot(lag_records=70, lag_seconds=110),
            "lags": replace(fine, lag_records=4000, lag_seconds=600),
            "lost": TopicSnapshot(skipped=7),
            "reset": TopicSnapshot(resets=1),
            # The agent counted anew.
            "again": replace(fine, skipped=2),
        },
    )
    compared = outcome(before, after)
    assert [x for x in to_lines(compared) if "worse" in x] == [
        "topic lost became worse: 7 records skipped",
        "topic again became worse: 2 records skipped",
        "topic reset became worse: 1 position reset",
        (
            "topic lags became worse: "
            "lag 900 offsets (30 s) -> 4,000 offsets (10 min)"
        ),
    ]
    first, *_ = to_document(compared)["worse_topics"]
    assert (first["topic"], first["records_skipped"]) == ("lost", 7)
    assert from_json(FlowSnapshot, to_json(after)) == after


def test_of_many_topics_that_became_worse_the_first_are_named() -> None:
    known = an_upgrade()
    lost = {f"t{n:02}": TopicSnapshot(skipped=1) for n in range(25)}
    compared = replace(known, after=replace(known.after, topics=lost))
    lines = [line for line in to_lines(compared) if "worse" in line]
    assert len(lines) == 11
    assert lines[-1] == "15 more topics became worse: see --json"
    assert len(to_document(compared)["worse_topics"]) == 25


def test_without_a_topic_before_or_after_no_change_is_known() -> None:
    known = an_upgrade()
    for one in (
        replace(known, before=None),
        replace(known, after=replace(known.after, topics=None)),
    ):
        assert "topics that became worse: not known" in list(to_lines(one))
        assert to_document(one)["worse_topics"] is None


def test_flows_whose_maintenance_ends_together_are_one_message() -> None:
    other = replace(an_upgrade(), window=a_window(flow="commands"))
    message = to_message([an_upgrade(), other], "http://page", LATER)
    assert message.title == (
        "Maintenance has ended on summit->ldf, commands: "
        "MirrorMaker 3.9 to 4.3"
    )
    document = json.loads(json.dumps(message.document, allow_nan=False))
    assert document["kind"] == "maintenance"
    assert [f["flow"] for f in document["flows"]] == [FLOW.name, "commands"]
    assert document["flows"][0]["before"]["latency_p99_seconds"] == 0.345
    assert document["flows"][0]["counted"]["probes_lost"] == 2
