"""Known traps of MirrorMaker 2: each row finds its own, and nothing else."""

import re
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.domain.doctor import (
    DEFAULT_POLICY,
    TRAPS,
    MirrorSetup,
    SetupConnector,
    find_traps,
)
from mirrorwatch.domain.mirror_records import Companion, Connector
from mirrorwatch.domain.topics import (
    DefaultNaming,
    IdentityNaming,
    ReplicatedTopics,
    Selection,
)
from mirrorwatch.mirrors.mirrormaker2 import PACKAGE, MirrorMaker2

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CANARY = "mirrorwatch.canary"
IDENTITY = f"{PACKAGE}IdentityReplicationPolicy"
MIRROR = MirrorMaker2(source_alias="summit", target_alias="ldf", topics={})


def connector(
    kind: str = "Source", name: str | None = None, **properties: str
) -> SetupConnector:
    """Return a connector as Connect has it; names with ``_`` for dots."""
    own = {key.replace("__", "."): v for key, v in properties.items()}
    own = {
        "connector.class": f"{PACKAGE}Mirror{kind}Connector",
        "source.cluster.alias": "summit",
        "target.cluster.alias": "ldf",
        "replication.policy.class": IDENTITY,
        "topics": ".*",
        **own,
    }
    name = name or f"Mirror{kind}Connector"
    value = dumps({"properties": own}).encode()
    fact = MIRROR.decode("configs", f"connector-{name}".encode(), value, NOW)
    assert isinstance(fact, Connector | Companion)
    return SetupConnector(name=name, fact=fact, properties=own)


def setup(*connectors: SetupConnector, **changes: Any) -> MirrorSetup:
    default = changes.get("policy") == "default"
    naming = (
        DefaultNaming(alias="summit")
        if default
        else IdentityNaming(alias="summit")
    )
    settings: dict[str, Any] = {
        "flow": "summit->ldf",
        "source": "summit",
        "target": "ldf",
        "topics": ReplicatedTopics(
            selection=Selection(), naming=naming, target_alias="ldf"
        ),
        "policy": "identity",
        "canary": CANARY,
        "connectors": connectors
        or (connector(), connector("Checkpoint"), connector("Heartbeat")),
        "source_topics": frozenset({"orders", CANARY}),
        "brokers": {"source": 3, "target": 3},
        "replication": {("target", "mm2-offsets.summit.internal"): 3},
        "largest": {"orders": (1_048_588, 1_048_588)},
    }
    return MirrorSetup(**(settings | changes))


PLAIN = connector(replication__policy__class=DEFAULT_POLICY)

CASES: dict[str, tuple[MirrorSetup, str]] = {
    "canary-filter": (
        setup(connector(topics="orders,lsst[.].*")),
        "leaves out the canary topic mirrorwatch.canary",
    ),
    "policy": (
        setup(policy="default"),
        "uses the IdentityReplicationPolicy, mirrorwatch expects naming",
    ),
    "separator": (
        setup(connector(replication__policy__separator="_")),
        "uses the separator '_', mirrorwatch expects '.'",
    ),
    "syncs-location": (
        setup(connector(), connector("Checkpoint"), syncs_location="target"),
        "keep their offset-syncs at the source, mirrorwatch looks at",
    ),
    "overlap": (
        setup(
            connector(name="a", topics=f"orders,{CANARY}"),
            connector(name="b", topics="ord.*"),
        ),
        "a and b both copy orders: every record arrives twice",
    ),
    "hidden-topics": (
        setup(
            PLAIN,
            policy="default",
            source_topics=frozenset({"ldf.orders", "orders"}),
        ),
        "ldf.orders at summit is not copied: the default policy",
    ),
    "single-replica": (
        setup(replication={("target", "mm2-offsets.summit.internal"): 1}),
        "mm2-offsets.summit.internal at ldf has one replica",
    ),
    "removed-setting": (
        setup(
            connector(topics__blacklist="tmp.*"),
            connector("Checkpoint", topics__blacklist="tmp.*"),
        ),
        "MirrorCheckpointConnector excludes nothing in Kafka 4.0 and newer",
    ),
    "flush-interval": (
        setup(connector(offset__flush__interval__ms="5000")),
        "offset.flush.interval.ms of MirrorSourceConnector has no effect",
    ),
    "offset-reset": (
        setup(connector(consumer__auto__offset__reset="latest")),
        "has auto.offset.reset latest",
    ),
    "consumer-override": (
        setup(connector(consumer__override__fetch__max__bytes="1")),
        "consumer.override.fetch.max.bytes of MirrorSourceConnector has no",
    ),
    "target-size": (
        setup(largest={"orders": (1_048_588, 1_000_000)}),
        "max.message.bytes of orders at ldf is below what",
    ),
    "request-size": (
        setup(largest={"orders": (5_000_000, 5_000_000)}),
        "orders at summit may hold records that are larger",
    ),
    "syncs-off": (
        setup(
            connector(**{"emit__offset-syncs__enabled": "false"}),
        ),
        "writes no offset-syncs",
    ),
    "emission-off": (
        setup(
            connector(),
            connector("Heartbeat", emit__heartbeats__enabled="false"),
        ),
        "writes no heartbeats",
    ),
    "errors-uncounted": (
        setup(connector(errors__tolerance="all")),
        "drops records that fail (errors.tolerance all), and nobody counts",
    ),
}


def test_every_trap_has_a_case() -> None:
    assert list(CASES) == [trap.name for trap in TRAPS]


def test_every_trap_is_in_the_docs() -> None:
    docs = Path(__file__).parents[2] / "docs" / "doctor.md"
    rows = re.findall(
        r"^\| `([a-z-]+)` \|", docs.read_text("utf-8"), re.MULTILINE
    )
    assert [row for row in rows if row in CASES] == list(CASES)


def test_a_sound_mirror_is_in_no_trap() -> None:
    assert find_traps(setup()) == []
    assert find_traps(setup(PLAIN, policy="default")) == []


@pytest.mark.parametrize("name", CASES)
def test_a_mirror_in_one_trap_is_told_that_alone(name: str) -> None:
    broken, words = CASES[name]
    (found,) = find_traps(broken)
    assert found.check == name
    assert words in found.cause
    assert found.remedy
    assert found.reference
    assert found.subject == "flow summit->ldf"


@pytest.mark.parametrize(
    "sound",
    [
        # The newer name goes before the old one, in any version.
        setup(connector(topics__blacklist="tmp.*", topics__exclude="x")),
        # A heartbeat connector copies no topics.
        setup(connector(), connector("Heartbeat", topics__blacklist="tmp.*")),
        # One broker can hold one replica only.
        setup(
            brokers={"target": 1},
            replication={("target", "mm2-offsets.summit.internal"): 1},
        ),
        # The worker's own setting is there.
        setup(
            connector(
                offset__flush__interval__ms="5000",
                target__cluster__offset__flush__interval__ms="5000",
            )
        ),
        setup(connector(errors__tolerance="all"), counts_errors=True),
        setup(
            connector(producer__override__max__request__size="9000000"),
            largest={"orders": (5_000_000, 5_000_000)},
        ),
        # Only the worker knows what a reference stands for.
        setup(connector(replication__policy__class="${file:/x:y}")),
        setup(connector(replication__policy__separator="${file:/x:y}")),
        setup(
            connector(name="a", topics=f"orders,{CANARY}"),
            connector(name="b", topics="others"),
        ),
        # A copy that came back: its original is there.
        setup(
            PLAIN,
            policy="default",
            source_topics=frozenset({"ldf.orders"}),
            target_topics=frozenset({"orders"}),
        ),
        setup(connector(topics="orders"), canary=None),
    ],
)
def test_what_looks_like_a_trap_and_is_none(sound: MirrorSetup) -> None:
    assert find_traps(sound) == []


def test_a_value_that_may_be_a_password_is_not_quoted() -> None:
    found = find_traps(
        setup(
            connector(
                consumer__override__sasl__jaas__config="hunter2hunter2",
                errors__tolerance="all",
            )
        )
    )
    assert len(found) == 2
    assert "hunter" not in str(found)
