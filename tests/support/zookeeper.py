"""A real ZooKeeper of its own."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mirrorwatch_lab.lifeline import Lifeline
from mirrorwatch_lab.link import Ports
from mirrorwatch_lab.zookeeper import ZooKeeper

__all__ = ["running_zookeeper"]


@contextmanager
def running_zookeeper(folder: Path) -> Iterator[ZooKeeper]:
    """Run one until the end of the block."""
    lifeline = Lifeline()
    with closing(Ports()) as ports:
        server = ZooKeeper(
            port=ports.take(),
            folder=folder / "server",
            log=folder / "log",
            lifeline=lifeline,
        )
        try:
            server.start()
            yield server
        finally:
            server.end()
            lifeline.close()
