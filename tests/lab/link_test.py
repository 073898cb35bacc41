"""The link against a plain TCP echo server."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from threading import Thread

import pytest

from mirrorwatch_lab.exceptions import LabError
from mirrorwatch_lab.link import Link
from tests.support.tcp import (
    Echo,
    EchoServer,
    noise,
    nothing_comes,
    pour,
    read,
    round_trip,
    send_until_held,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def link() -> Iterator[Link]:
    with EchoServer(("127.0.0.1", 0), Echo) as server:
        thread = Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        try:
            with Link(upstream=("127.0.0.1", server.server_address[1])) as it:
                yield it
        finally:
            server.shutdown()
            thread.join()


def connect(link: Link) -> socket.socket:
    return socket.create_connection(("127.0.0.1", link.port), timeout=60)


def connect_and_read(link: Link) -> bytes:
    with connect(link) as sock:
        return sock.recv(1)


def test_an_unshaped_link_is_quick_and_keeps_every_byte(link: Link) -> None:
    data = noise(1, 8_000_000)
    with connect(link) as sock:
        quickest = min(round_trip(sock) for _ in range(50))
        sender = pour(sock, data)
        assert read(sock, len(data)) == data
        sender.join()
    assert quickest < 0.02


def test_the_round_trip_time_is_added_once(link: Link) -> None:
    link.shape(rtt=timedelta(milliseconds=120))
    with connect(link) as sock:
        quickest = min(round_trip(sock) for _ in range(10))
    # Not twice; what a busy machine adds, it does not add each time.
    assert 0.12 <= quickest < 0.2


def test_delay_does_not_limit_throughput(link: Link) -> None:
    data = noise(2, 8_000_000)
    link.shape(rtt=timedelta(milliseconds=400))
    with connect(link) as sock:
        begin = time.monotonic()
        sender = pour(sock, data)
        assert read(sock, len(data)) == data
        took = time.monotonic() - begin
        sender.join()
    # One chunk of 64 KiB at a time would need 122 round trips: 49 s.
    assert 0.4 <= took < 20


@pytest.mark.slow
def test_bandwidth_holds_and_is_shared_by_all_connections(link: Link) -> None:
    # Once without what a busy machine does to one of them.
    tries = [two_at_once(link) for _ in range(3)]
    print(tries)
    assert all(max(ended) >= 0.95 for ended in tries)
    # 1 MB at 1 MB/s, and both had their turns to the end.
    assert any(max(ended) < 1.4 and min(ended) > 0.7 for ended in tries)


def two_at_once(link: Link) -> list[float]:
    """Return when each of two connections had its half of a megabyte."""
    data = noise(3, 500_000)
    link.shape(bytes_per_second=1_000_000)
    with connect(link) as one, connect(link) as two:
        begin = time.monotonic()
        senders = [pour(sock, data) for sock in (one, two)]
        ended: dict[str, float] = {}

        def take(name: str, sock: socket.socket) -> None:
            assert read(sock, len(data)) == data
            ended[name] = time.monotonic() - begin

        readers = [
            Thread(target=take, args=(name, sock))
            for name, sock in (("one", one), ("two", two))
        ]
        for thread in readers:
            thread.start()
        for thread in [*senders, *readers]:
            thread.join()
    return list(ended.values())


def test_a_stall_holds_everything_and_delivers_it_in_order(link: Link) -> None:
    data = noise(4, 200_000)
    with connect(link) as sock:
        round_trip(sock)
        link.stall()
        sender = pour(sock, data)
        assert nothing_comes(sock)
        link.restore()
        assert read(sock, len(data)) == data
        sender.join()


@pytest.mark.slow
def test_bytes_in_flight_wait_when_the_link_stalls(link: Link) -> None:
    # It is long, so that they are still on the way when the link stalls.
    link.shape(rtt=timedelta(seconds=3))
    with connect(link) as sock:
        sock.sendall(b"on the way")
        link.stall()
        assert nothing_comes(sock, seconds=3.5)
        link.restore()
        assert read(sock, 10) == b"on the way"


def test_a_stall_is_felt_by_the_sender(link: Link) -> None:
    with connect(link) as sock:
        round_trip(sock)
        link.stall()
        sent = send_until_held(sock)
    # The kernel's socket buffers grow to a few MB; the link adds little.
    assert sent < 20_000_000


def test_a_connection_opened_in_a_stall_works_afterwards(link: Link) -> None:
    link.stall()
    with connect(link) as sock:
        sock.sendall(b"early")
        assert nothing_comes(sock)
        link.restore()
        assert read(sock, 5) == b"early"


def test_a_cut_resets_refuses_and_keeps_the_port(link: Link) -> None:
    port = link.port
    with connect(link) as sock:
        round_trip(sock)
        link.cut()
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(link)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    with pytest.raises(LabError, match="not free"):
        Link(listen_port=port, upstream=("127.0.0.1", 1))
    link.restore()
    assert link.port == port
    with connect(link) as sock:
        round_trip(sock)


def test_an_end_of_stream_crosses_while_answers_still_come(link: Link) -> None:
    data = noise(5, 1_000_000)
    link.shape(rtt=timedelta(milliseconds=100))
    with connect(link) as sock:
        sender = pour(sock, data)
        sender.join()
        sock.shutdown(socket.SHUT_WR)
        assert read(sock, len(data) + 1) == data


def test_a_dead_upstream_resets_the_client() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with (
            Link(upstream=("127.0.0.1", unused.getsockname()[1])) as link,
            # The reset can be faster than the end of the connect.
            pytest.raises(ConnectionResetError),
        ):
            connect_and_read(link)


def test_a_cut_ends_connections_that_the_upstream_has_not_taken() -> None:
    with socket.socket() as full, ExitStack() as held:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # One waits to be accepted; the kernel lets no further one in.
        held.enter_context(socket.create_connection(full.getsockname()))
        link = held.enter_context(Link(upstream=full.getsockname()))
        clients = [held.enter_context(connect(link)) for _ in range(3)]
        assert nothing_comes(clients[0])
        link.cut()
        for client in clients:
            with pytest.raises(ConnectionResetError):
                client.recv(1)


def test_a_cut_ends_connections_that_are_just_being_accepted() -> None:
    with (
        ExitStack() as held,
        Link(upstream=("127.0.0.1", 1)) as link,
    ):
        for _ in range(50):
            clients = [held.enter_context(socket.socket()) for _ in range(5)]
            for client in clients:
                client.settimeout(0)
                client.connect_ex(("127.0.0.1", link.port))
            link.cut()
            link.restore()


def test_a_stopped_link_frees_its_port(link: Link) -> None:
    port = link.port
    link.stop()
    Link(listen_port=port, upstream=("127.0.0.1", 1)).stop()


@pytest.mark.slow
def test_a_better_line_does_not_let_new_bytes_overtake(link: Link) -> None:
    link.shape(rtt=timedelta(seconds=4))
    with connect(link) as sock:
        sock.sendall(b"first,")
        assert nothing_comes(sock)
        link.shape()
        sock.sendall(b"second")
        assert read(sock, 12) == b"first,second"
