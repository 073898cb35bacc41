"""Filtered topics, from the configuration through the plan to the result."""

from dataclasses import replace
from typing import Any, cast

from mirrorwatch.audit import planner
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.plan import (
    AuditSpan,
    FilteredTopic,
    PartitionPair,
    Plan,
    SourceRange,
)
from mirrorwatch.state.documents import from_json, to_json
from mirrorwatch_audit.compare.audit import _result
from mirrorwatch_audit.compare.digests import DigestComparison
from tests.support.audit import FLOW_NAME, a_count, a_finding
from tests.support.builders import NOON


def a_pair(topic: str) -> PartitionPair:
    span = AuditSpan(0, 1000)
    return PartitionPair(
        flow=FLOW_NAME,
        cluster="ldf",
        target_topic=topic,
        partition=0,
        sources=(
            SourceRange(
                flow=FLOW_NAME,
                cluster="summit",
                topic=topic,
                partition=0,
                span=span,
                retained=span,
                position=None,
            ),
        ),
        span=span,
        retained=span,
    )


def a_plan() -> Plan:
    rules = ["others", {"pattern": "ev.*", "at_most": "40%"}]
    config = Config.from_mapping(
        {
            "clusters": {
                alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}}
                for alias in ("summit", "ldf")
            },
            "flows": [
                {
                    "source": "summit",
                    "target": "ldf",
                    "topics": {"filtered": rules},
                }
            ],
        }
    )
    pairs = tuple(map(a_pair, ("events", "telemetry")))
    filtered = tuple(planner._filtered(config, pairs))  # noqa: SLF001
    return Plan(
        id="adhoc-x", at=NOON, window=None, pairs=pairs, filtered=filtered
    )


def test_a_plan_says_which_of_its_topics_are_filtered() -> None:
    plan = a_plan()
    assert plan.filtered == (
        FilteredTopic(flow=FLOW_NAME, topic="events", at_most=0.4),
    )
    assert from_json(Plan, to_json(plan)) == plan
    before = to_json(plan).replace('"filtered"', '"other"')
    assert from_json(Plan, before).filtered == ()


NOTHING = cast("Any", None)

FOUND = DigestComparison(
    topics=(a_count("events"), a_count("telemetry")),
    fed={},
    findings=(a_finding(), a_finding(topic="telemetry")),
    stated=(),
    unverifiable=(),
    carry=NOTHING,
    source=NOTHING,
    target=NOTHING,
)


def test_a_result_tells_apart_what_its_plan_says_is_filtered() -> None:
    result = _result(a_plan(), FOUND, (), (), began=NOON, ended=NOON)
    kinds = {f.topic: f.kind for f in result.findings}
    assert kinds == {"events": "filtered", "telemetry": "dropped"}


def test_a_filter_has_its_limit_by_the_flow_s_own_records() -> None:
    """Of a merged topic they are counted with those of others."""
    lost = replace(a_finding(first=0, last=299), topic="events")
    merged = replace(
        FOUND, findings=(lost,), topics=(a_count("events", 9000),)
    )
    for own, kind in ((500, "dropped"), (1000, "filtered")):
        found = replace(merged, fed={(FLOW_NAME, "events"): own})
        result = _result(a_plan(), found, (), (), began=NOON, ended=NOON)
        assert [f.kind for f in result.findings] == [kind]
