"""Offsets in a real ZooKeeper, with the znodes that uReplicator writes."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.kafka.zookeeper import OffsetNodes, ZooKeeperAccess
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.zookeeper import ZooKeeperWorker
from mirrorwatch_lab.zookeeper import ZooKeeper
from tests.support.builders import NOON
from tests.support.watch import wait_until
from tests.support.zookeeper import running_zookeeper

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with running_zookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def writer(server: ZooKeeper) -> Iterator[KazooClient]:
    client = KazooClient(server.servers)
    client.start(60)
    yield client
    client.stop()
    client.close()


def write(writer: KazooClient, offsets: dict[str, bytes], root: str) -> None:
    for name, text in offsets.items():
        path = f"{root}/{name}"
        writer.ensure_path(path)
        writer.set(path, text)


def reading(
    server: ZooKeeper, group: str = "mm", chroot: str = "", **access: str
) -> OffsetNodes:
    settings = ZooKeeperAccess(servers=server.servers + chroot, **access)
    return OffsetNodes("a", settings, group)


def test_every_znode_of_a_group_is_an_offset(
    server: ZooKeeper, writer: KazooClient
) -> None:
    write(writer, {"x/0": b"7", "x/1": b"0", "y.z/0": b"9"}, OFFSETS)
    write(writer, {"x/0": b"1"}, "/consumers/another/offsets")
    write(writer, {"x/0": b"5"}, f"/kafka{OFFSETS}")
    with closing(reading(server)) as nodes:
        wanted = {("x", 0): 7, ("x", 1): 0, ("y.z", 0): 9}
        assert nodes.read() == wanted
        writer.set(f"{OFFSETS}/x/0", b"12")
        assert nodes.read() == {**wanted, ("x", 0): 12}
    with closing(reading(server, chroot="/kafka")) as nodes:
        assert nodes.read() == {("x", 0): 5}


OFFSETS = "/consumers/mm/offsets"


@pytest.mark.parametrize("text", [b"", b"-1", b"7 ", b"x", b"1" * 20])
def test_what_is_no_offset_is_an_error(
    server: ZooKeeper, writer: KazooClient, text: bytes
) -> None:
    write(writer, {"x/0": text}, "/consumers/odd/offsets")
    with (
        closing(reading(server, "odd")) as nodes,
        pytest.raises(SourceError, match="no offset in /consumers/odd"),
    ):
        nodes.read()


def test_a_group_that_is_not_there_is_an_error(server: ZooKeeper) -> None:
    with (
        closing(reading(server, "missing")) as nodes,
        pytest.raises(SourceError, match="has no /consumers/missing/offsets"),
    ):
        nodes.read()


def test_a_password_opens_znodes_and_is_written_nowhere(
    server: ZooKeeper, writer: KazooClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(1)
    root = "/consumers/locked/offsets"
    write(writer, {"x/0": b"7"}, root)
    acl = make_digest_acl("agent", "hunter2", read=True)
    for path in (f"{root}/x/0", f"{root}/x", root):
        writer.set_acls(path, [acl])
    caplog.clear()
    with (
        closing(reading(server, "locked")) as nodes,
        pytest.raises(SourceDeniedError, match="refuses to show"),
    ):
        nodes.read()
    login = {"user": "agent", "password": "hunter2"}
    with closing(reading(server, "locked", **login)) as nodes:
        assert nodes.read() == {("x", 0): 7}
        assert "hunter2" not in repr(nodes.__dict__)
    login["password"] = "another"  # noqa: S105 - none that opens anything
    with (
        closing(reading(server, "locked", **login)) as nodes,
        pytest.raises(SourceDeniedError),
    ):
        nodes.read()
    assert "hunter2" not in caplog.text


def test_while_it_is_down_no_position_is_known(
    server: ZooKeeper, writer: KazooClient
) -> None:
    write(writer, {"x/0": b"7", "x/1": b"3"}, OFFSETS)
    positions = MirrorState()
    now = NOON
    worker = ZooKeeperWorker(
        flow="a->b",
        nodes=reading(server),
        positions=positions,
        interval=timedelta(seconds=5),
        clock=lambda: now,
    )
    assert positions.behind(now)
    with closing(worker):
        worker.step()
        assert worker.up
        assert not positions.behind(now)
        assert positions.committed("x")[0].position == 7
        # Frozen, it keeps the connection; then its sessions expire.
        server.freeze()
        with pytest.raises(SourceUnavailableError, match="does not answer"):
            worker.step()
        assert positions.behind(now)
        assert "does not answer" in positions.problems()[0]
        server.thaw()

        def reads() -> bool:
            try:
                worker.step()
            except SourceUnavailableError:
                return False
            return True

        wait_until(reads)
        assert (positions.behind(now), positions.problems()) == (0, ())
        server.kill()
        with pytest.raises(SourceUnavailableError):
            worker.step()
        assert positions.behind(now)
        server.start()
        wait_until(reads)
        # A znode that is gone was deleted, if it is gone twice.
        wait_until(lambda: writer.connected)
        writer.delete(f"{OFFSETS}/x/1")
        worker.step()
        assert positions.committed("x")[1].position == 3
        worker.step()
        assert positions.committed("x")[1].position is None
        # And once it was read, a silence of the agent itself makes it old.
        now += timedelta(minutes=10)
        assert positions.behind(now)
