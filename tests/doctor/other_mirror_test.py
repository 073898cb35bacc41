"""Doctor names the mirror that is there where the configured one is not."""

from collections.abc import Mapping
from typing import Any

import pytest

from mirrorwatch.config import Config
from mirrorwatch.doctor import other_mirror
from mirrorwatch.doctor.findings import Findings, ReachedCluster
from mirrorwatch.doctor.other_mirror import examine_group
from mirrorwatch.exceptions import SourceDeniedError, SourceUnavailableError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.groups import SourceGroup

pytestmark = pytest.mark.slow


TOPICS = ("orders", "trips", "stops")

TRACES = {("source", "syncs"): ["mm2-offset-syncs.ldf.internal"]}


@pytest.fixture
def source() -> ReachedCluster:
    cluster = Cluster("summit", {"bootstrap.servers": "127.0.0.1:1"})
    return ReachedCluster(cluster, dict.fromkeys(TOPICS, 1), 1, "id")


Offsets = Mapping[str, Mapping[str, int]]


def commit(
    monkeypatch: pytest.MonkeyPatch, offsets: Offsets, *, members: int = 0
) -> None:
    """Have these groups at the source; those of no positions are refused."""

    def read(_: Cluster, group: str) -> SourceGroup:
        if group == "refused":
            raise SourceDeniedError(
                "no", source="kafka", cluster="summit", right="DESCRIBE"
            )
        if group == "away":
            raise SourceUnavailableError(
                "No broker answers. Check that it runs",
                source="kafka",
                cluster="summit",
            )
        return SourceGroup(
            state="empty",
            members=(("client", "host"),) * members,
            offsets={(t, 0): o for t, o in offsets.get(group, {}).items()},
        )

    monkeypatch.setattr(other_mirror, "read_source_group", read)


def said(
    source: ReachedCluster, group: str, others: Mapping[Any, Any] | None = None
) -> list[str]:
    clusters = {
        alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}}
        for alias in ("summit", "ldf")
    }
    flow = {
        "source": "summit",
        "target": "ldf",
        "naming": "identity",
        "mirror": {"kind": "mirrormaker1", "group": group},
    }
    config = Config.from_mapping({"clusters": clusters, "flows": [flow]})
    findings = Findings("flow summit->ldf")
    examine_group(
        config.flows[0],
        group,
        source,
        set(TOPICS),
        findings,
        others=others or {},
    )
    return [f"{f.check}: {f.cause}. {f.remedy}" for f in findings.all]


def test_a_group_with_positions_is_sound(
    source: ReachedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(monkeypatch, {"mm1": {"orders": 5}})
    assert said(source, "mm1", TRACES) == []
    # One that has just started has none yet.
    commit(monkeypatch, {"mm1": {}}, members=1)
    assert said(source, "mm1") == []


def test_a_group_without_a_trace_gives_way_to_what_is_there(
    source: ReachedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(monkeypatch, {"elsewhere": {"other": 7}})
    (one,) = said(source, "mm1")
    assert one.startswith("mirror: group mm1 at summit has no members, and")
    assert "Start the mirror, or correct mirror.group" in one
    (one,) = said(source, "mm1", TRACES)
    assert "Set mirror.kind to mirrormaker2: there is mm2-offset-" in one


def test_a_group_that_may_not_be_described(
    source: ReachedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(monkeypatch, {})
    (one,) = said(source, "refused")
    assert one.startswith(
        "rights: mirrorwatch lacks DESCRIBE on group refused at summit"
    )
    (one,) = said(source, "refused", TRACES)
    assert one.startswith("mirror: group refused at summit may not be")
    assert "grant DESCRIBE on group refused" in one
    (one,) = said(source, "away")
    assert one == "mirror: No broker answers. Check that it runs"
