"""The table of checks, and the name of the mirror in what they say."""

import pytest

from mirrorwatch.domain.checks import (
    CHECKS,
    MIRROR,
    FlowLimits,
    judge,
    name_mirror,
    with_name,
)
from mirrorwatch.domain.report import Finding, Health, Verdict
from tests.support.builders import NOON, a_canary, a_partition


def test_every_flow_has_a_verdict_for_every_check() -> None:
    limits: dict[str, FlowLimits] = {"one": {}, "two": {}}
    seen = a_canary(flow="two", partitions=[a_partition(last_arrival=NOON)])
    verdicts = judge(limits, [seen], NOON)
    assert [(v.flow, v.check) for v in verdicts] == [
        (flow, check) for flow in limits for check in CHECKS
    ]
    healths = {(v.flow, v.check): v.health for v in verdicts}
    assert healths["one", "canary"] is Health.UNKNOWN
    assert healths["two", "canary"] is Health.OK


@pytest.mark.parametrize("title", ["Mirus", "the mirror"])
def test_the_mirror_is_called_by_its_name(title: str) -> None:
    seen = [a_canary(flow="f", partitions=[a_partition(warming=True)])]
    (usual, named) = (
        judge({"f": limits}, seen, NOON)[0] for limits in ({}, {MIRROR: title})
    )
    assert usual.code == named.code == "canary.warming"
    assert title in named.reason
    assert named.reason == name_mirror(usual.reason, title)
    assert named.findings[0].title in named.reason


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("MirrorMaker was rewound", "The mirror was rewound"),
        ("It stopped. MirrorMaker is down", "It stopped. The mirror is down"),
        ("start MirrorMaker's worker", "start the mirror's worker"),
        ("Check the MirrorMaker task", "Check the mirror task"),
        # Other names stay as they are.
        ("MirrorMaker 1 does not run", "MirrorMaker 1 does not run"),
        ("a topic MirrorMaker[0]", "a topic MirrorMaker[0]"),
        ("a topic MirrorMaker.x", "a topic MirrorMaker.x"),
        ("the MirrorMakerConnector", "the MirrorMakerConnector"),
    ],
)
def test_only_the_mirror_is_renamed(reason: str, words: str) -> None:
    verdict = Verdict(
        flow="f",
        check="lag",
        health=Health.WARNING,
        reason=reason,
        since=NOON,
        evidence={"also_1": reason, "partitions": 2},
        findings=(Finding("lag.stopped", Health.WARNING, reason),),
    )
    found = with_name(verdict, "the mirror")
    assert found.reason == found.findings[0].title == words
    assert found.evidence == {"also_1": words, "partitions": 2}
