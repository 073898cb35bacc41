"""The small things that a lab is made of."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from mirrorwatch_lab import link
from mirrorwatch_lab.exceptions import LabError
from mirrorwatch_lab.link import Ports
from mirrorwatch_lab.mirror import mirror_properties
from mirrorwatch_lab.process import to_text, write_properties
from mirrorwatch_lab.settings import LabSettings


def test_properties_mean_in_java_what_was_meant_here() -> None:
    written = to_text({"a:b c=d": "x=1\\2\nnext", "z": " kept"})
    assert written == "a\\:b\\ c\\=d=x=1\\\\2\\nnext\nz=\\ kept\n"


def test_only_the_user_can_read_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    write_properties(path, {"password": "secret"})
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_port_is_one_labs_own_until_it_is_given_back() -> None:
    one, other = Ports(), Ports()
    mine = {one.take() for _ in range(50)}
    theirs = {other.take() for _ in range(50)}
    assert len(mine) == len(theirs) == 50
    assert not mine & theirs
    one.close()
    other.close()


@pytest.fixture
def only_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """The one port that may be taken, free."""
    with closing(Ports()) as ports:
        port = ports.take()
    monkeypatch.setattr(link, "_FIRST", port)
    monkeypatch.setattr(link, "_LAST", port)
    return port


def test_a_port_that_was_given_back_is_taken_again(only_port: int) -> None:
    with closing(Ports()) as ports:
        assert ports.take() == only_port


def test_a_port_in_use_is_not_taken(only_port: int) -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", only_port))
        used.listen()
        with closing(Ports()) as ports, pytest.raises(LabError, match="free"):
            ports.take()


def test_a_port_with_connections_in_time_wait_is_not_taken(
    only_port: int,
) -> None:
    with socket.create_server(("127.0.0.1", only_port)) as server:
        client = socket.create_connection(("127.0.0.1", only_port))
        accepted, _ = server.accept()
        # Who closes first has it in TIME_WAIT, for a minute.
        accepted.close()
        assert client.recv(1) == b""
        client.close()
    with closing(Ports()) as ports, pytest.raises(LabError, match="free"):
        ports.take()


def test_default_intervals_leave_the_mirror_as_it_comes() -> None:
    by_default = mirror_properties(
        LabSettings(), source="s:1", target="t:2", more={}
    )
    assert not [key for key in by_default if "interval" in key]
    fast = mirror_properties(
        LabSettings(intervals="fast"), source="s:1", target="t:2", more={}
    )
    assert fast["ldf.offset.flush.interval.ms"] == "1000"


def test_properties_of_a_start_go_over_those_of_the_lab() -> None:
    settings = LabSettings(mirror_properties={"tasks.max": "2", "a": "b"})
    properties = mirror_properties(
        settings, source="s:1", target="t:2", more={"tasks.max": "3"}
    )
    assert (properties["tasks.max"], properties["a"]) == ("3", "b")
