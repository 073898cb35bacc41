"""Configurations of both sides, compared and judged."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import TopicConfigs
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.mirror_records import Connector, ConnectorSettings
from mirrorwatch.domain.parity.configs import (
    ConfigDrift,
    ConfigsLimits,
    ConfigsObservation,
    compare_configs,
    judge_configs,
)
from mirrorwatch.domain.parity.metrics import configs_samples
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.topics import Selection
from tests.support.builders import NOON
from tests.support.findings import find

MINUTE = timedelta(minutes=1)
USUAL = {
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "compression.type": "producer",
}


def configs(**changed: str) -> TopicConfigs:
    """Return usual values but for some, which the topic sets itself."""
    own = {k.replace("_", "."): v for k, v in changed.items()}
    return TopicConfigs.parse(USUAL | own, frozenset(own))


def drifts(here: TopicConfigs, there: TopicConfigs) -> list[ConfigDrift]:
    return list(
        compare_configs([("a", "summit.a")], {"a": here}, {"summit.a": there})
    )


def a_drift(name: str = "retention.ms", **changes: object) -> ConfigDrift:
    drift = ConfigDrift(
        topic="a",
        name=name,
        source="2000",
        target="1000",
        by_default=False,
        since=NOON - 11 * MINUTE,
    )
    return replace(drift, **changes)  # type: ignore[arg-type]


def seen(*found: ConfigDrift, **changes: object) -> ConfigsObservation:
    usual = ConfigsObservation(
        flow="summit->ldf",
        at=NOON,
        compared=3,
        drifts=found,
        sync=10 * MINUTE,
        patience=11 * MINUTE,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def judge(
    observation: ConfigsObservation | None,
    *,
    enabled: bool = True,
    hidden: str | None = None,
) -> Verdict:
    limits = ConfigsLimits(enabled=enabled)
    lag = LagObservation(flow="summit->ldf", at=NOON, hidden=hidden)
    return judge_configs("summit->ldf", observation, limits, NOON, lag)


def test_a_topic_that_is_hidden_is_not_said_to_match() -> None:
    cannot = "Mirrorwatch cannot see b, which MirrorMaker copies"
    verdict = judge(seen(), hidden=cannot)
    assert (verdict.health, verdict.codes) == (
        Health.UNKNOWN,
        ("configs.hidden-topics", "configs.ok"),
    )
    # What is read is judged as ever.
    assert judge(seen(a_drift()), hidden=cannot).health is Health.WARNING
    assert judge(seen()).health is Health.OK


def test_values_in_effect_are_compared_whoever_set_them() -> None:
    assert drifts(configs(), configs(retention_ms="604800000")) == []
    (drift,) = drifts(configs(max_message_bytes="5"), configs())
    assert (drift.name, drift.source, drift.target) == (
        "max.message.bytes",
        "5",
        "1048588",
    )
    assert not drift.by_default
    broker = TopicConfigs.parse(USUAL | {"retention.ms": "1"}, frozenset())
    (drift,) = drifts(configs(), broker)
    assert drift.by_default


def test_the_order_of_policies_does_not_matter() -> None:
    assert (
        drifts(
            configs(cleanup_policy="compact,delete"),
            configs(cleanup_policy="delete, compact"),
        )
        == []
    )


def test_retention_is_no_matter_where_nothing_is_deleted_by_it() -> None:
    compacted = configs(cleanup_policy="compact")
    also = configs(cleanup_policy="compact", retention_ms="1")
    assert drifts(compacted, also) == []
    assert compacted.compacted
    assert not compacted.deletes
    (drift,) = drifts(compacted, configs(retention_ms="1"))
    assert drift.name == "cleanup.policy"


def test_what_is_known_of_one_side_only_is_not_compared() -> None:
    here = {"a": configs(retention_ms="1")}
    assert list(compare_configs([("a", "summit.a")], here, {})) == []


def test_a_drift_counts_once_the_mirror_had_the_time_to_mend_it() -> None:
    young = seen(a_drift(since=NOON - 11 * MINUTE + timedelta(seconds=1)))
    (waits,) = judge(young).findings
    assert (waits.health, waits.code) == (Health.OK, "configs.ok")
    assert waits.numbers == {"topics": 3, "pending_changes": 1}
    due, ok = judge(seen(a_drift())).findings
    assert (due.health, due.code) == (Health.WARNING, "configs.differ")
    assert due.subject == {"topic": "a", "property": "retention.ms"}
    numbers = {"source_value": "2000", "target_value": "1000", "topics": 1}
    assert due.numbers.items() >= numbers.items()
    assert ok.numbers["pending_changes"] == 0
    (sample,) = configs_samples(seen(a_drift()), NOON)
    assert sample.value == 1


def test_a_smaller_limit_of_the_target_is_named_first_with_its_danger() -> (
    None
):
    verdict = judge(
        seen(
            a_drift(),
            a_drift("max.message.bytes", topic="z"),
            a_drift("max.message.bytes", topic="b", target="3000"),
        )
    )
    assert verdict.health is Health.WARNING
    assert verdict.codes == ("configs.differ", "configs.differ", "configs.ok")
    smaller, other = verdict.findings[:2]
    assert smaller.subject == {"topic": "z", "property": "max.message.bytes"}
    assert smaller.numbers["topics"] == 2
    assert other.subject == {"topic": "a", "property": "retention.ms"}


@pytest.mark.parametrize(
    ("by_default", "is_synced", "setting"),
    [
        (False, True, None),
        (True, True, "broker defaults"),
        (False, False, "sync.topic.configs.enabled=false"),
    ],
)
def test_what_keeps_the_mirror_from_a_config_is_named(
    *, by_default: bool, is_synced: bool, setting: str | None
) -> None:
    sync = 10 * MINUTE if is_synced else None
    verdict = judge(seen(a_drift(by_default=by_default), sync=sync))
    find(verdict, "configs.differ", setting=setting)


@pytest.mark.parametrize(
    ("observation", "code"),
    [
        (None, "configs.no-data"),
        (seen(fresh=False, at=NOON - 16 * MINUTE), "configs.stale"),
        (
            seen(problems=("Mirrorwatch lacks DESCRIBE_CONFIGS on topic a",)),
            "configs.unreadable",
        ),
    ],
)
def test_what_is_not_known_is_not_healthy(
    observation: ConfigsObservation | None, code: str
) -> None:
    verdict = judge(observation)
    assert (verdict.health, verdict.code) == (Health.UNKNOWN, code)


def test_it_can_be_switched_off() -> None:
    verdict = judge(None, enabled=False)
    assert (verdict.health, verdict.codes) == (Health.OFF, ("configs.off",))


def test_the_habits_of_several_connectors_are_those_of_the_slowest() -> None:
    first = Connector(
        name="first",
        selection=Selection(include=("a.*",)),
        refresh=MINUTE,
        max_in_flight=1,
        config_sync=2 * MINUTE,
        config_excluded=(r"retention\..*",),
    )
    second = replace(
        first, selection=Selection(include=("b",)), refresh=5 * MINUTE
    )
    habits = ConnectorSettings.of([first, replace(second, config_sync=None)])
    assert (habits.refresh, habits.config_sync) == (5 * MINUTE, 2 * MINUTE)
    assert [habits.wants(t) for t in ("ab", "b", "c")] == [True, True, False]
    assert habits.excludes("retention.ms")
    assert not habits.excludes("cleanup.policy")
    assert (
        ConnectorSettings.of([replace(first, config_sync=None)]).config_sync
        is None
    )
