"""Tests of which topics a flow carries, and who says so."""

from collections.abc import Collection
from datetime import timedelta

import pytest

from mirrorwatch.domain.carriage import Carriage, CarriedTopics
from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.topics import (
    DefaultNaming,
    IdentityNaming,
    ReplicatedTopics,
    Selection,
)

HERE = ("a", "b", "mm2-configs.ldf.internal")


def connector(*wants: str) -> Connector:
    return Connector(
        name="MirrorSourceConnector",
        selection=Selection(include=wants),
        refresh=timedelta(minutes=10),
        max_in_flight=1,
    )


def carriage(*, chosen: bool = False) -> Carriage:
    topics = ReplicatedTopics(
        selection=Selection(),
        naming=IdentityNaming(alias="summit"),
        target_alias="ldf",
    )
    return Carriage(topics, chosen=chosen)


def divide(
    found: Carriage,
    *wants: str,
    assigned: Collection[str] = (),
    topics: Collection[str] = HERE,
) -> CarriedTopics:
    connectors = [connector(*wants)] if wants else []
    found.learn(connectors, lambda: frozenset(assigned))
    return found.divide(topics)


def test_without_a_filter_of_ours_the_mirrors_own_one_holds() -> None:
    found = divide(carriage(), "a")
    assert set(found.names) == {"a"}
    assert found.unwanted == ("b",)
    assert found.by == "the mirror's topics"


def test_our_own_filter_rules() -> None:
    found = divide(carriage(chosen=True), "a")
    assert set(found.names) == {"a", "b"}
    assert found.by == "topics.include"


def test_before_the_mirror_is_known_everything_is_carried() -> None:
    found = divide(carriage())
    assert set(found.names) == {"a", "b"}
    assert found.by == "default"


def test_a_removed_connector_wants_no_more_than_before() -> None:
    flow = carriage()
    divide(flow, "a")
    assert set(divide(flow).names) == {"a"}


def test_of_a_filter_that_only_java_reads_the_tasks_tell() -> None:
    found = divide(carriage(), r"\Qa\E", assigned=["a"])
    assert set(found.names) == {"a"}
    assert found.by == "the mirror's tasks"


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("assigned", [True, False])
def test_names_that_end_in_internal_are_copied_by_newer_mirrors(
    chosen: bool, assigned: bool
) -> None:
    found = divide(
        carriage(chosen=chosen),
        ".*",
        topics=("a", "x.internal"),
        assigned=("a", "x.internal") if assigned else ("a",),
    )
    assert ("x.internal" in found.names) is assigned
    assert (found.internal == ("x.internal",)) is not assigned


def test_a_topic_with_the_targets_alias_in_its_name_is_mistaken() -> None:
    topics = ReplicatedTopics(
        selection=Selection(),
        naming=DefaultNaming(alias="summit"),
        target_alias="ldf",
    )
    assert topics.is_mistaken("site.ldf.events", {"a"})
    assert not topics.is_mistaken("site.ldf.events", {"events"})
    assert not topics.is_mistaken("ldf.events", {"events"})
    assert not topics.is_mistaken("events.ldf", {"a"})
