"""uReplicator by a stand-in: positions are znodes in a real ZooKeeper."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab
from mirrorwatch_lab.zookeeper import ZooKeeper
from tests.support.copier import Copier, Places, lab_for_copier
from tests.support.lab import copied, numbered, produce
from tests.support.watch import Watch, wait_until
from tests.support.zookeeper import running_zookeeper

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = ((CANARY_TOPIC, 3), ("x", 2))


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_for_copier(TOPICS) as lab:
        yield lab


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ZooKeeper]:
    with running_zookeeper(tmp_path / "zookeeper") as server:
        yield server


class Znodes:
    """Writes positions as uReplicator's workers do."""

    def __init__(self, server: ZooKeeper) -> None:
        self.writes = True
        self._client = KazooClient(server.servers)
        self._written: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Self:
        self._client.start(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()

    def commit(self, places: Places) -> None:
        for key, offset in places.items() if self.writes else ():
            if self._written.get(key) == offset:
                continue
            path = "/consumers/ureplicator/offsets/{}/{}".format(*key)
            try:
                self._client.ensure_path(path)
                self._client.set(path, b"%d" % offset)
            except KazooException:
                return  # it tries again, as a worker does
            self._written[key] = offset


def watching(lab: Lab, server: ZooKeeper, state: Path) -> Watch:
    limits = {
        "losses": {"critical": "5s"},
        "position": {"rewind_window": "5s"},
        "latency": {"warning": "5m", "critical": "10m"},
    }
    mirror: dict[str, Any] = {
        "kind": "ureplicator",
        "zookeeper": {"servers": server.servers},
    }
    return Watch(
        lab,
        state=state,
        canary={"deadline": "60s"},
        flow={"limits": limits, "mirror": mirror},
    )


def test_what_znodes_tell(lab: Lab, server: ZooKeeper, tmp_path: Path) -> None:
    produce(lab, "x", numbered("x", 0, 150))
    state = tmp_path / "state.db"
    with (
        Znodes(server) as znodes,
        Copier(lab, TOPICS, commit=znodes.commit),
        watching(lab, server, state) as watch,
    ):
        copied(lab, "x", ["x 149"])
        watch.wait_for_count("delivered", 40)
        watch.wait_for(Health.OFF, check="skips")
        watch.wait_for(Health.OFF, "tasks.off", check="tasks")
        watch.wait_for_only()
        assert watch.counts["lost"] == 0
        # ZooKeeper is frozen, and its sessions expire: nothing is known.
        server.freeze()
        watch.wait_for(Health.UNKNOWN, "position.unreadable", check="position")
        wait_until(
            lambda: (
                Health.OK
                not in {
                    verdict.health
                    for check in ("lag", "position", "retention")
                    if (verdict := watch.verdict(check)) is not None
                }
            ),
            what=watch.unhealthy,
        )
        server.thaw()
        watch.wait_for(Health.OK, check="position")
        watch.wait_for_only()
        # It goes on copying, and its znodes stand.
        znodes.writes = False
        produce(lab, "x", numbered("late", 0, 9))
        copied(lab, "x", ["late 8"])
        wait_until(
            lambda: watch.evidence("lag").get("topics_behind") == 2,
            what=lambda: watch.verdict("lag"),
        )
        znodes.writes = True
        watch.wait_for_only()
