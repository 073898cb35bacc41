"""Fetching jars, from a server of our own."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from mirrorwatch.exceptions import MavenError
from mirrorwatch.maven import Artifact, fetch

_JAR = b"not really a jar"
_ARTIFACT = Artifact(
    group="org.example",
    name="thing",
    version="1.0",
    classifier="all",
    sha256=hashlib.sha256(_JAR).hexdigest(),
)


class _Maven(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        found = self.path == "/maven/org/example/thing/1.0/thing-1.0-all.jar"
        self.send_response(200 if found else 404)
        self.end_headers()
        if found:
            self.wfile.write(_JAR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked for at a Maven repository with one jar."""

    class Handler(_Maven):
        asked: ClassVar[list[str]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/maven/"
        monkeypatch.setenv("MIRRORWATCH_MAVEN_URL", url)
        yield Handler.asked
        server.shutdown()
        thread.join()


def test_a_jar_is_fetched_once(asked: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "jars"
    (path,) = fetch([_ARTIFACT], cache)
    assert path.read_bytes() == _JAR
    assert fetch([_ARTIFACT], cache) == (path,)
    assert len(asked) == 1
    assert list(cache.iterdir()) == [path]


def test_a_jar_that_was_changed_is_fetched_again(
    asked: list[str], tmp_path: Path
) -> None:
    (path,) = fetch([_ARTIFACT], tmp_path)
    path.write_bytes(_JAR[:-1] + b"!")
    assert fetch([_ARTIFACT], tmp_path) == (path,)
    assert path.read_bytes() == _JAR
    assert len(asked) == 2


@pytest.mark.usefixtures("asked")
def test_a_jar_with_the_wrong_checksum_is_not_kept(
    tmp_path: Path,
) -> None:
    wrong = replace(_ARTIFACT, sha256="0" * 64)
    with pytest.raises(MavenError, match="has the checksum"):
        fetch([wrong], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("asked")
def test_a_jar_that_is_not_there_is_named_with_the_remedy(
    tmp_path: Path,
) -> None:
    missing = replace(_ARTIFACT, name="other")
    with pytest.raises(MavenError, match=r"other-1\.0-all\.jar") as error:
        fetch([missing], tmp_path)
    assert "404" in str(error.value)
    assert "MIRRORWATCH_MAVEN_URL" in str(error.value)
