"""Fifty kills while InfluxDB is dead, hangs and lies: each point comes once.

Between the agent's sink and a real server stands a door that does as it is
told. What it says is what proxies and broken servers say; what it never says
is 204 for points that the server has not.
"""

import copy
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from tests.sinks.conftest import influx
from tests.sinks.influxdb_killed_test import count, times_of, written
from tests.support.http import HTTP
from tests.support.influx import InfluxServer
from tests.support.sink_process import SinkProcess

__all__ = ["influx"]

pytestmark = [pytest.mark.influx, pytest.mark.timeout(2400)]

KILLS = 50
MODES = ("dead", "hanging", "lying")
LATIN = "Wartung \xfcber Nacht".encode("latin-1")
PAGE = b"<html><body>OK</body></html>"
DEEP = b"[" * 50_000
LIES: tuple[tuple[int, bytes, dict[str, str]], ...] = (
    (503, LATIN, {}),
    (503, b"", {"Retry-After": "9" * 5000}),
    (200, PAGE, {}),
    (202, b"{}", {}),
    (400, PAGE, {}),
    (400, DEEP, {}),
    (413, PAGE, {}),
    (422, b'{"message": "no"}', {}),
    (500, b"\xff" * 10**6, {}),
)


class Door:
    """Stands before a server, on a port of its own."""

    def __init__(self, server: InfluxServer, chance: random.Random) -> None:
        self.mode = "honest"
        self.said: Counter[str] = Counter()
        self._server = server
        self._chance = chance
        self._over = Event()
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                door.handle(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        ).start()

    def close(self) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()

    def handle(self, asked: BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers["Content-Length"]))
        mode = self.mode
        lie = self._chance.randrange(len(LIES) + 4)
        asked.close_connection = True
        if mode == "dead":
            self.said["hung up"] += 1
        elif mode == "hanging":
            self.said["nothing"] += 1
            self._over.wait()
        elif mode == "honest" or lie >= len(LIES) + 2:
            self._say(asked, *self._forward(asked, body))
        elif lie == len(LIES):  # written, but nobody is told
            self._forward(asked, body)
            self.said["hung up after it was written"] += 1
        elif lie == len(LIES) + 1:
            self._forward(asked, body)
            self._say(asked, 500, b"after it was written", {})
        else:
            self._say(asked, *LIES[lie])

    def _forward(
        self, asked: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        answer: httpx.Response = HTTP.post(
            self._server.url + asked.path,
            content=body,
            headers={
                name: asked.headers[name]
                for name in ("Authorization", "Content-Encoding")
            },
            timeout=120,
        )
        return answer.status_code, answer.content, {}

    def _say(
        self,
        asked: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str],
    ) -> None:
        self.said[str(status)] += 1
        asked.send_response(status)
        for name, value in headers.items():
            asked.send_header(name, value)
        if status != 204:
            asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)


@pytest.fixture
def door(influx: InfluxServer) -> Iterator[Door]:
    made = Door(influx, random.Random(13))  # noqa: S311
    yield made
    made.close()


def test_fifty_kills_lose_no_point_and_double_none(
    influx: InfluxServer,
    door: Door,
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    chance = random.Random(50)  # noqa: S311
    state = tmp_path / "state.db"
    behind = copy.copy(influx)
    behind.url = door.url
    tick = 0
    for kill in range(KILLS):
        door.mode = MODES[kill * len(MODES) // KILLS]
        with SinkProcess(state, behind, begin=tick) as sink:
            last = sink.kill_in_the_midst(
                timedelta(seconds=chance.uniform(0, 1.0)),
                begun=kill % 10 > 0,
            )
        # What was being published is published again by the next one.
        tick = tick if last is None else last + 1
    door.mode = "honest"
    with SinkProcess(state, behind, begin=tick) as sink:
        end = sink.tell("down to 0")
    assert (end["waiting"], end["lost"]) == (0, 0)
    expected = times_of(range(tick))
    there = written(influx)
    # The one under way at the last kill may be there.
    assert there in (expected, times_of(range(tick + 1)))
    print(
        f"\n{influx.program}: {KILLS} kills in "
        f"{time.monotonic() - began:.0f} s, {tick} ticks, {count(there)} "
        f"points, each once; it was told {dict(door.said)}"
    )
    assert tick > KILLS
