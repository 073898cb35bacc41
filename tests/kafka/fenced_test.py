"""A broker that lists no broker, not even itself, as one that is fenced.

librdkafka 2.16 ends the process where `describe_cluster` is answered so, and
there is no such mock broker in it: so a few bytes of Kafka's protocol here.
"""

import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster

pytestmark = pytest.mark.slow


API_VERSIONS, METADATA = 18, 3
ASKED = 4
"""Version of the requests for metadata that are understood here."""


class FencedBroker(ThreadingTCPServer):
    """Lists itself once, as the library must find it, and never again."""

    daemon_threads = True
    asked = 0

    def metadata(self) -> bytes:
        """Return its answer: brokers, cluster id, controller, topics."""
        self.asked += 1
        port = int(self.server_address[1])
        broker = struct.pack(">i", 1) + _text("127.0.0.1")
        broker += struct.pack(">i", port) + struct.pack(">h", -1)
        listed = [broker] if self.asked == 1 else []
        return (
            struct.pack(">ii", 0, len(listed))
            + b"".join(listed)
            + _text("a-cluster")
            + struct.pack(">ii", 1, 0)
        )


class Connection(StreamRequestHandler):
    server: FencedBroker

    def handle(self) -> None:
        while size := self.rfile.read(4):
            request = self.rfile.read(*struct.unpack(">i", size))
            key, _, number = struct.unpack(">hhi", request[:8])
            answer = (
                _versions() if key == API_VERSIONS else self.server.metadata()
            )
            head = struct.pack(">ii", len(answer) + 4, number)
            self.wfile.write(head + answer)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _versions() -> bytes:
    """Return what it understands, in the form of version 3."""
    ranges = {METADATA: (0, ASKED), API_VERSIONS: (0, 3)}
    listed = b"".join(
        struct.pack(">hhhb", key, *versions, 0)
        for key, versions in ranges.items()
    )
    return struct.pack(">hb", 0, len(ranges) + 1) + listed + bytes(5)


@contextmanager
def fenced() -> Iterator[str]:
    with FencedBroker(("127.0.0.1", 0), Connection) as broker:
        thread = Thread(target=broker.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{broker.server_address[1]}"
        broker.shutdown()


def ask(address: str) -> None:
    """Ask it who is in its cluster, twice."""
    cluster = Cluster("summit", {"bootstrap.servers": address})
    for _ in range(2):
        try:
            print(cluster.brokers())
        except SourceError as e:
            print(e)


_ASK = (
    "import sys; sys.path.insert(0, '.'); "
    "from tests.kafka.fenced_test import ask; "
)


def test_a_fenced_broker_does_not_end_the_agent() -> None:
    with fenced() as address:
        found = subprocess.run(
            [sys.executable, "-c", f"{_ASK}ask({address!r})"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert found.returncode == 0, found.stderr
    assert "summit failed a request" in found.stdout
