"""Whether it is known how a mirror reads, and what follows where it is not."""

import json
from dataclasses import replace

import pytest

from mirrorwatch.audit.planner import AuditedTopics, join_offsets
from mirrorwatch.domain.audit.facts import IsolationHistory
from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.mirrors.mirrormaker2 import MirrorMaker2
from tests.audit.planner_test import (
    OFFSETS,
    PAIR,
    THERE,
    FakeMirror,
    Joined,
)
from tests.support.builders import NOON

SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

MIRROR = MirrorMaker2(source_alias="summit", target_alias="ldf", topics={})


def connector(level: str | None, source: str = "summit") -> dict[str, str]:
    """Return the configuration of a connector that reads in this way."""
    properties = {
        "connector.class": SOURCE,
        "source.cluster.alias": source,
        "target.cluster.alias": "ldf",
    }
    if level is not None:
        properties["consumer.isolation.level"] = level
    return properties


def level_of(*said: tuple[str, dict[str, str] | None]) -> bool | None:
    """Return how a mirror is said to read, by a configuration topic."""
    history = IsolationHistory()
    for name, properties in said:
        value = json.dumps({"properties": properties}).encode()
        fact = MIRROR.decode(
            "configs",
            f"connector-{name}".encode(),
            None if properties is None else value,
            NOON,
        )
        if isinstance(fact, Connector):
            history.take(fact)
    return history.read_committed


COMMITTED, DEFAULT = connector("read_committed"), connector(None)


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ((("a", COMMITTED),), True),
        ((("a", DEFAULT),), False),
        ((("a", connector("read_uncommitted")),), False),
        ((("a", COMMITTED), ("b", COMMITTED), ("a", COMMITTED)), True),
        ((("a", COMMITTED), ("n", connector(None, source="n"))), True),
    ],
    ids=["said", "default", "said to be default", "alike", "neighbour"],
)
def test_connectors_that_read_alike_say_how(
    said: tuple[tuple[str, dict[str, str]], ...], level: bool
) -> None:
    assert level_of(*said) is level


@pytest.mark.parametrize(
    "said",
    [
        (),
        (("a", COMMITTED), ("b", DEFAULT)),
        (("a", connector("${vault:mirror:level}")),),
        (("a", DEFAULT), ("a", COMMITTED)),
        (("a", COMMITTED), ("b", DEFAULT), ("b", None)),
    ],
    ids=["none", "two", "hidden", "before", "removed"],
)
def test_without_any_or_with_others_it_is_not_known(
    said: tuple[tuple[str, dict[str, str] | None], ...],
) -> None:
    assert level_of(*said) is None


@pytest.mark.parametrize(("end", "told"), [(9, True), (1, False)])
def test_a_partition_that_only_the_target_has_is_told_if_it_is_not_empty(
    *, end: int, told: bool
) -> None:
    topics = AuditedTopics(pairs=[], surplus=[replace(PAIR, sources=())])
    offsets = replace(OFFSETS, targets={THERE: end})
    pairs, gaps = join_offsets(topics, offsets, {}, {})
    assert pairs == []
    assert ["8 offsets" in gap.reason for gap in gaps] == [True] * told


@pytest.mark.parametrize("starts_at_end", [True, False, None])
def test_where_a_mirror_begins_is_passed_on_as_it_is_known(
    *, starts_at_end: bool | None
) -> None:
    mirror = FakeMirror(starts_at_end=starts_at_end)
    assert Joined(mirror=mirror).pair().starts_at_end is starts_at_end
