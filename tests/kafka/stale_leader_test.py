"""A leader that is cut off from its cluster, and takes itself for one still.

It goes on to answer whoever asks it, with the end that its log had. Mock
brokers of librdkafka know at once who leads: so a few bytes of Kafka's
protocol here.
"""

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from time import monotonic, sleep

import pytest

from mirrorwatch.domain.cluster_view import STALE_END
from mirrorwatch.kafka import errors as errors_module
from mirrorwatch.kafka import list_offsets as list_offsets_module
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.errors import LEADERS_MS
from mirrorwatch.kafka.list_offsets import LATEST, OffsetLookup
from mirrorwatch.kafka.offsets import read_newest_ends
from mirrorwatch.kafka.reader import OffsetConsumer
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


LIST_OFFSETS, METADATA, API_VERSIONS = 2, 3, 18
UNDERSTOOD = {LIST_OFFSETS: (1, 4), METADATA: (0, 4), API_VERSIONS: (0, 3)}

PLACE = ("t", 0)


class Broker(ThreadingTCPServer):
    """One of two, with an end of its own."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, site: "Site", end: int) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.site = site
        self.end = end
        self.epoch = -1
        """Its epoch as a leader; -1 as of brokers that know none."""


class Site:
    """Two brokers, the first of which leads the only partition."""

    def __init__(self) -> None:
        self.leader = 1
        self.old: Broker | None = None
        """One that does not know of it, and takes itself for the leader."""

        self.asked = 0

        self.brokers = [Broker(self, 5), Broker(self, 9)]

    @property
    def address(self) -> str:
        """Address of the one that is not cut off."""
        return f"127.0.0.1:{self.brokers[1].server_address[1]}"

    def metadata(self, asked: "Broker") -> bytes:
        """Return who is there, and who leads."""
        self.asked += 1
        leader = 1 if asked is self.old else self.leader
        brokers = b"".join(
            struct.pack(">i", number)
            + _text("127.0.0.1")
            + struct.pack(">ih", int(broker.server_address[1]), -1)
            for number, broker in enumerate(self.brokers, start=1)
        )
        both = struct.pack(">iii", 2, 1, 2)
        return (
            struct.pack(">ii", 0, len(self.brokers))
            + brokers
            + _text("a-cluster")
            + struct.pack(">iih", 2, 1, 0)
            + _text("t")
            + struct.pack(">bihii", 0, 1, 0, 0, leader)
            + both
            + both
        )


class Connection(StreamRequestHandler):
    server: Broker

    def handle(self) -> None:
        while size := self.rfile.read(4):
            request = self.rfile.read(*struct.unpack(">i", size))
            key, _, number = struct.unpack(">hhi", request[:8])
            answer = {
                API_VERSIONS: _versions,
                METADATA: lambda: self.server.site.metadata(self.server),
                LIST_OFFSETS: self._ends,
            }[key]()
            head = struct.pack(">ii", len(answer) + 4, number)
            self.wfile.write(head + answer)

    def _ends(self) -> bytes:
        end, epoch = self.server.end, self.server.epoch
        facts = struct.pack(">iihqqi", 1, 0, 0, -1, end, epoch)
        return struct.pack(">ii", 0, 1) + _text("t") + facts


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _versions() -> bytes:
    """Return what it understands, in the form of version 3."""
    listed = b"".join(
        struct.pack(">hhhb", key, *versions, 0)
        for key, versions in UNDERSTOOD.items()
    )
    return struct.pack(">hb", 0, len(UNDERSTOOD) + 1) + listed + bytes(5)


@contextmanager
def serving(site: Site) -> Iterator[None]:
    with ExitStack() as stack:
        for broker in site.brokers:
            stack.enter_context(broker)
            Thread(target=broker.serve_forever, daemon=True).start()
            stack.callback(broker.shutdown)
        yield


def end_within(lookup: OffsetLookup, end: int, seconds: float) -> bool:
    """Return whether an end is read before so many seconds are over."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        found = lookup.read({PLACE: LATEST}, read_committed=False)
        if found == {PLACE: end}:
            return True
        sleep(0.1)
    return False


def test_a_leader_that_is_cut_off_is_not_asked_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert timedelta(milliseconds=LEADERS_MS) < STALE_END
    monkeypatch.setattr(list_offsets_module, "LEADERS_MS", 1000)
    site = Site()
    with serving(site):
        lookup = OffsetLookup({"bootstrap.servers": site.address})
        assert end_within(lookup, 5, 10)
        site.leader = 2
        assert end_within(lookup, 9, 10)


def test_who_leads_is_asked_for_now_and_then_only() -> None:
    site = Site()
    with serving(site):
        lookup = OffsetLookup({"bootstrap.servers": site.address})
        assert end_within(lookup, 5, 10)
        asked = site.asked
        assert not end_within(lookup, 9, 2)
        assert site.asked == asked


def test_nobody_is_asked_who_leads_after_topics_were_listed() -> None:
    site, now = Site(), [0.0]
    with serving(site):
        lookup = OffsetLookup(
            {"bootstrap.servers": site.address}, clock=lambda: now[0]
        )
        lookup.list_topics()
        # A new connection asks for itself.
        assert end_within(lookup, 5, 10)
        listed = site.asked
        now[0] = LEADERS_MS / 1000 - 0.1
        assert end_within(lookup, 5, 10)
        assert site.asked == listed
        now[0] = LEADERS_MS / 1000
        assert end_within(lookup, 5, 10)
        assert site.asked == listed + 1


def test_nor_is_it_read_from_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors_module, "LEADERS_MS", 1000)
    site = Site()
    with (
        serving(site),
        OffsetConsumer(
            {"bootstrap.servers": site.address},
            cluster="ldf",
            read_committed=False,
        ) as consumer,
    ):
        consumer.assign({PLACE: 5})
        sleep(1)
        asked = site.asked
        wait_until(lambda: site.asked >= asked + 3)


def test_the_newest_leader_tells_the_end() -> None:
    # The one that is cut off answers that it leads.
    site = Site()
    site.old, site.leader = site.brokers[0], 2
    site.brokers[0].epoch, site.brokers[1].epoch = 5, 6
    with serving(site):
        address = f"127.0.0.1:{site.brokers[0].server_address[1]}"
        asked = {"bootstrap.servers": address}
        cluster = Cluster("ldf", asked)
        # Another broker may answer the list: once the library has learned of
        # it, it lets go of the one that it was told of.
        assert any(
            Cluster("ldf", asked).offsets({PLACE: LATEST}) == {PLACE: 5}
            for _ in range(10)
        )
        # A client may ask another broker than the one that it was told of.
        for _ in range(10):
            assert read_newest_ends(cluster, asked, [PLACE]) == {PLACE: 9}
        assert read_newest_ends(cluster, asked, []) == {}


def test_one_of_two_brokers_says_not_who_leads() -> None:
    site = Site()
    with serving(site):
        asked = {"bootstrap.servers": site.address}
        cluster = Cluster("ldf", asked)
        assert read_newest_ends(cluster, asked, [PLACE]) == {PLACE: 5}
        site.brokers[1].server_close()
        site.brokers[1].shutdown()
        cluster = Cluster(
            "ldf",
            {
                "bootstrap.servers": "127.0.0.1:"
                f"{site.brokers[0].server_address[1]}"
            },
        )
        assert read_newest_ends(cluster, asked, [PLACE]) == {}
