"""A broker that was frozen is found again by every client that asked it.

A broker that is fenced, as one that was frozen for longer than its session,
lists no broker for a moment. Clients of librdkafka that get this answer find
none again: two or three of eight, in every run of this test without the mend.
"""

from collections.abc import Iterator
from datetime import timedelta
from threading import Event, Thread

import pytest

from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.waiting import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

CLIENTS = 8
FROZEN_SECONDS = 20
"""More than the nine after which a controller fences a broker."""

ROUNDS = 2
PAUSE_SECONDS = 0.03
"""So short that some client asks while the broker is fenced."""

LIMIT = timedelta(seconds=60)


class Asker:
    """Asks all the time, in a thread of its own."""

    def __init__(self, bootstrap: str, *, lists: bool) -> None:
        self._cluster = Cluster("summit", {"bootstrap.servers": bootstrap})
        self._lists = lists
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self.error: str | None = "nothing was asked yet"
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_SECONDS):
            try:
                if self._lists:
                    self._cluster.metadata()
                self._cluster.describe_topic(CANARY_TOPIC)
            except SourceError as e:
                self.error = str(e)
            else:
                self.error = None


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(intervals="fast")) as lab:
        lab.mirror.stop()
        lab.target.stop()
        yield lab


def test_every_client_finds_it_again(lab: Lab) -> None:
    askers = [
        Asker(lab.source.bootstrap, lists=bool(number % 2))
        for number in range(CLIENTS)
    ]

    def errors() -> list[str]:
        return [asker.error for asker in askers if asker.error]

    def all_answered() -> bool:
        return not errors()

    try:
        wait_until(all_answered, limit=LIMIT, what=lambda: str(errors()))
        for _ in range(ROUNDS):
            lab.source.freeze()
            Event().wait(FROZEN_SECONDS)
            assert len(errors()) == CLIENTS
            lab.source.thaw()
            wait_until(all_answered, limit=LIMIT, what=lambda: str(errors()))
            # Whether they still are once the broker is fenced no more.
            Event().wait(FROZEN_SECONDS)
            wait_until(all_answered, limit=LIMIT, what=lambda: str(errors()))
    finally:
        for asker in askers:
            asker.stop()
