"""The table of checks, and the name of the mirror in what they say."""

import pytest

from mirrorwatch.domain.checks import (
    CHECKS,
    MIRROR,
    FlowLimits,
    fill_in_mirror,
    judge,
)
from mirrorwatch.domain.report import Health
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
    assert "MirrorMaker" in usual.reason
    assert named.findings[0].title in named.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{mirror} was rewound", "The mirror was rewound"),
        ("12 records of {mirror}", "12 records of the mirror"),
        ("a topic MirrorMaker", "a topic MirrorMaker"),
    ],
)
def test_only_the_placeholder_is_filled(text: str, words: str) -> None:
    assert fill_in_mirror(text, "the mirror") == words
