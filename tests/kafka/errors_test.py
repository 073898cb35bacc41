"""Nothing is left behind of an answer once it was read."""

import ctypes
import weakref
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import certifi
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import TopicDescription

from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.kafka.admin import MOST_FAILURES, Cluster
from mirrorwatch.kafka.errors import answer_of, free_leaked_id
from tests.support.tcp import closed_port

pytestmark = pytest.mark.slow


class Disconnected(Cluster):
    """A cluster that answers nobody, and says why some time later.

    Parameters
    ----------
    events
        Seconds after the disconnect, and the code of the error.
    """

    def __init__(self, events: Iterable[tuple[float, int]]) -> None:
        self.alias = "summit"
        self._error, self._failures = None, 0
        self._admin: Any = self
        self._events = list(events)

    def poll(self, seconds: float) -> None:
        due = [e for e in self._events if e[0] <= seconds]
        self._events = [e for e in self._events if e[0] > seconds]
        for _, code in due:
            self._note_error(KafkaError(code))

    def reason(self) -> str:
        def ask(_: object) -> None:
            raise KafkaException(KafkaError(DOWN))

        with pytest.raises(SourceError) as raised:
            self.call(ask, "DESCRIBE")
        return str(raised.value)


DOWN = KafkaError.BROKER_NOT_AVAILABLE
REFUSED_LOGIN = KafkaError.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize(
    "events",
    [
        [(0.0, REFUSED_LOGIN)],
        [(0.1, REFUSED_LOGIN)],
        [(0.0, REFUSED_LOGIN), (0.0, DOWN)],
        [(0.1, REFUSED_LOGIN), (0.1, DOWN)],
    ],
)
def test_who_is_refused_is_told_so_whatever_comes_first(
    events: list[tuple[float, int]],
) -> None:
    told = Disconnected(events).reason()
    assert "rejects mirrorwatch's credentials" in told


def test_who_gets_no_token_was_rejected_by_no_broker() -> None:
    port = closed_port()
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "agent",
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{port}/t",
    }
    broker = {"bootstrap.servers": f"127.0.0.1:{closed_port()}"}
    with pytest.raises(SourceDeniedError) as raised:
        Cluster("summit", broker | login).metadata()
    told = str(raised.value)
    assert told.startswith("No token to log in at summit (")
    assert "Check the server that gives tokens" in told
    assert "rejects" not in told


@pytest.mark.parametrize("events", [[], [(0.0, DOWN)]])
def test_who_is_not_refused_is_not_told_so(
    events: list[tuple[float, int]],
) -> None:
    assert "does not answer" in Disconnected(events).reason()


class Replaceable(Cluster):
    """A cluster whose client can be told to answer or not."""

    def __init__(self) -> None:
        super().__init__("summit", {"bootstrap.servers": "127.0.0.1:1"})
        self.answers = False

    def ask(self) -> None:
        def question(_: object) -> Future[None]:
            answer = Future[None]()
            if self.answers:
                answer.set_result(None)
            else:
                answer.set_exception(KafkaException(KafkaError(DOWN)))
            return answer

        with suppress(SourceError):
            self.wait(self.call(question, "DESCRIBE"), "DESCRIBE")

    @property
    def client(self) -> int:
        return id(self._admin)


def test_a_client_that_never_finds_a_broker_is_replaced() -> None:
    cluster = Replaceable()
    first = cluster._admin  # noqa: SLF001 - kept, so that its id stays taken
    for _ in range(MOST_FAILURES - 1):
        cluster.ask()
    assert cluster.client == id(first)
    cluster.ask()
    assert cluster.client != id(first)


def test_an_answer_between_failures_keeps_the_client() -> None:
    cluster = Replaceable()
    first = cluster._admin  # noqa: SLF001 - kept, so that its id stays taken
    for number in range(4 * MOST_FAILURES):
        cluster.answers = number % MOST_FAILURES == 0
        cluster.ask()
    assert cluster.client == id(first)


def test_a_lister_that_cannot_be_made_anew_is_kept(tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_bytes(Path(certifi.where()).read_bytes())
    cluster = Cluster(
        "summit",
        {
            "bootstrap.servers": f"127.0.0.1:{closed_port()}",
            "security.protocol": "SSL",
            "ssl.ca.location": str(certificate),
        },
    )
    for _ in range(2):
        with pytest.raises(SourceUnavailableError, match="does not answer"):
            cluster.metadata()
        certificate.unlink(missing_ok=True)


class Id:
    """Stands for the library's id, which nothing can refer to weakly."""


def a_topic() -> TopicDescription:
    made: Any = Id()
    return TopicDescription("t", made, is_internal=False, partitions=[])


def test_a_forgotten_reference_is_given_back() -> None:
    topic = a_topic()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(topic.topic_id))
    gone = weakref.ref(topic.topic_id)
    free_leaked_id(topic)
    assert gone() is topic.topic_id
    del topic
    assert gone() is None


def test_an_id_of_which_none_was_forgotten_stays() -> None:
    topic = a_topic()
    held = weakref.ref(topic.topic_id)
    for _ in range(3):
        free_leaked_id(topic)
    assert held() is topic.topic_id


def test_what_kafka_said_holds_no_frame() -> None:
    future: Future[str] = Future()
    said = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    future.set_exception(said)
    assert answer_of(future, 1) is said
    assert said.__traceback__ is None


def test_an_answer_that_does_not_come_is_waited_for_in_vain() -> None:
    with pytest.raises(TimeoutError):
        answer_of(Future[str](), 0.01)
