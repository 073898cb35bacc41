"""Kinds of mirrors: what is configured, and what cannot be verified."""

from collections.abc import Mapping
from typing import Any, get_args

import pytest

from mirrorwatch.config import Config
from mirrorwatch.config.mirror import MirrorConfig
from mirrorwatch.domain.checks import CHECKS, judge
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.mirrors import MIRRORS
from tests.support.builders import NOON

GROUPS = sorted(kind for kind, traits in KINDS.items() if traits.in_group)
KEYS: dict[str, dict[str, Any]] = {
    **{kind: {"group": "mm"} for kind in GROUPS},
    "ureplicator": {"zookeeper": {"servers": "zk:2181"}},
}
ON_CONNECT = sorted(kind for kind, t in KINDS.items() if t.in_connect)
LINKS = sorted(kind for kind, traits in KINDS.items() if traits.keeps_offsets)
WITHOUT_POSITIONS = ["k2k", "msk-replicator", "opaque"]


def configured(
    *, flow: Mapping[str, Any] | None = None, **mirror: Any
) -> Config:
    cluster = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    return Config.from_mapping(
        {
            "clusters": {"a": cluster, "b": cluster},
            "flows": [
                {
                    "source": "a",
                    "target": "b",
                    "mirror": mirror,
                    **(flow or {}),
                }
            ],
        }
    )


def test_each_is_configured_and_read() -> None:
    kind = MirrorConfig.model_fields["kind"].annotation
    assert set(get_args(kind)) == KINDS.keys() == MIRRORS.keys()
    for traits in KINDS.values():
        assert traits.off.keys() <= CHECKS.keys()


ON_A_WORKER = {
    "connectors": ["c"],
    "topics": {"offsets": "o", "configs": "c"},
}

KEYS |= dict.fromkeys(ON_CONNECT, ON_A_WORKER)


@pytest.mark.parametrize("kind", [*GROUPS, *ON_CONNECT, *LINKS, "ureplicator"])
def test_what_it_cannot_prove_is_off_with_the_reason(kind: str) -> None:
    config = configured(kind=kind, **KEYS.get(kind, {}))
    (flow,) = config.flows
    assert flow.naming.policy == KINDS[kind].naming
    assert (flow in config.audited_flows) == ("audit" not in KINDS[kind].off)
    limits = {flow.name: config.to_limits(flow)}
    verdicts = {v.check: v for v in judge(limits, [], NOON)}
    for check, reason in KINDS[kind].off.items():
        assert verdicts[check].health is Health.OFF
        assert verdicts[check].reason == reason
    assert verdicts["skips"].health is Health.OFF
    assert verdicts["lag"].health is Health.UNKNOWN


@pytest.mark.parametrize("kind", WITHOUT_POSITIONS)
def test_without_positions_canary_parity_and_audit_stay(kind: str) -> None:
    registry = {"url": "http://registry:1"}
    data: dict[str, Any] = {
        "clusters": {
            alias: {
                "kafka": {"bootstrap.servers": "127.0.0.1:1"},
                "schema_registry": registry,
            }
            for alias in ("a", "b")
        },
        "audit": {},
        "flows": [
            {
                "source": "a",
                "target": "b",
                "mirror": {"kind": kind},
                "readers": {"groups": ["app"]},
            }
        ],
    }
    config = Config.from_mapping(data)
    (flow,) = config.flows
    verdicts = judge({flow.name: config.to_limits(flow)}, [], NOON)
    off = {v.check: v.reason for v in verdicts if v.health is Health.OFF}
    need_positions = {"lag", "skips", "retention", "position", "failover"}
    assert {c for c, r in off.items() if "exposes no positions" in r} == (
        need_positions
    )
    on = {v.check for v in verdicts} - off.keys()
    parity = {"topics", "configs", "schemas"}
    assert on == {"canary", "latency", "readers", "audit", *parity}
    assert flow in config.audited_flows


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_only_mirrormaker_2_prefixes_heartbeats(kind: str) -> None:
    """A topic of that name would be missed under a name that no other
    mirror gives it.
    """
    given = {"naming": {"policy": "identity"}}
    config = configured(kind=kind, flow=given, **KEYS.get(kind, {}))
    naming = config.flows[0].topic_naming
    prefix = "a." if kind == "mirrormaker2" else ""
    for topic in ("heartbeats", "my-heartbeats"):
        assert naming.remote(topic) == f"{prefix}{topic}"
        assert naming.origin(f"{prefix}{topic}") == topic
    assert naming.remote("x") == "x"
    assert naming.keeps_names


@pytest.mark.parametrize(
    ("mirror", "said"),
    [
        ({"kind": "mirrormaker1"}, "mirror.group: is missing"),
        ({"group": "mm"}, "mirror.group: is of no use here"),
        ({"kind": "ureplicator"}, "mirror.zookeeper: is missing"),
        (
            {"zookeeper": {"servers": "zk:2181"}},
            "mirror.zookeeper: is of no use here",
        ),
        (
            {
                "kind": "ureplicator",
                "zookeeper": {"servers": "zk:2181", "user": "agent"},
            },
            "mirror.zookeeper.password: is missing beside user",
        ),
        (
            {"kind": "linked", "group": "mm"},
            "mirror.group: is of no use here",
        ),
        (
            {"kind": "k2k", "connect": {"url": "http://h:1"}},
            "mirror.connect: is of no use here",
        ),
        ({"kind": "opaque", "group": "g"}, "mirror.group: is of no use here"),
        (
            {"kind": "orbit", "connect": {"url": "http://h:1"}},
            "mirror.connect: is of no use here",
        ),
        ({"kind": "mirus", **ON_A_WORKER, "group": "mm"}, "mirror.group: is"),
        ({"keeps_partitions": True}, "mirror.keeps_partitions: is of no use"),
        (
            {"kind": "linked", "keeps_partitions": True},
            "mirror.keeps_partitions: is of no use here",
        ),
        (
            {"kind": "mirus", "topics": ON_A_WORKER["topics"]},
            "mirror.connectors: is missing",
        ),
        (
            {"kind": "mirus", "connectors": ["c"], "topics": {"configs": "c"}},
            "mirror.topics.offsets: is missing.*offset.storage.topic",
        ),
        (
            {
                "kind": "replicator",
                "connectors": ["c"],
                "group": "g",
                "topics": {"offsets": "o"},
            },
            "mirror.topics.configs: is missing",
        ),
        (
            {
                "kind": "replicator",
                **ON_A_WORKER,
                "jmx": {"format": "jolokia", "urls": ["http://h:1"]},
            },
            "mirror.jmx: is of no use here",
        ),
        (
            {"kind": "brooklin", "group": "x-topic-partition-listener"},
            "helper of Brooklin",
        ),
        (
            {
                "kind": "group",
                "group": "x",
                "jmx": {"format": "jolokia", "urls": ["http://h:1"]},
            },
            "mirror.jmx: is of no use here",
        ),
    ],
)
def test_keys_must_go_with_the_kind(mirror: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configured(**mirror)


@pytest.mark.parametrize("kind", sorted({*GROUPS, *ON_CONNECT, "ureplicator"}))
@pytest.mark.parametrize("keeps", [None, True, False])
def test_kept_partitions_are_compared_by_partition(
    kind: str, keeps: bool | None
) -> None:
    given: dict[str, Any] = {"kind": kind, **KEYS.get(kind, {})}
    if keeps is not None:
        given["keeps_partitions"] = keeps
    config = configured(**given)
    kept = KINDS[kind].keeps_partitions if keeps is None else keeps
    assert config.flows[0].mirror.traits.keeps_partitions == kept
    assert config.flows[0].copies.partitions == kept


def test_which_keep_partitions_by_default() -> None:
    kept = {
        kind
        for kind, traits in KINDS.items()
        if traits.only_commits and traits.keeps_partitions
    }
    assert kept == {"replicator", "redpanda-migrator"}
    assert not KINDS["brooklin"].keeps_timestamps
