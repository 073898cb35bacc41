"""Properties and error handling common to all Kafka clients of the agent."""

import ctypes
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import TopicDescription

from ..exceptions import SourceDeniedError, SourceError, SourceUnavailableError
from ..msk import with_login

__all__ = [
    "DENIED",
    "LEADERS_MS",
    "NO_TOKEN",
    "REFUSED",
    "TIMEOUT",
    "UNREACHABLE",
    "answer_of",
    "batched",
    "client_properties",
    "consumer_properties",
    "denial",
    "free_leaked_id",
    "to_source_error",
]


TIMEOUT = 4.0
"""Seconds that one request may take: less than a tick, so that a cluster that
does not answer is known as such by the next one."""

QUIET = {
    "client.id": "mirrorwatch",
    # What goes wrong is reported as verdicts, not by librdkafka on stderr.
    "log_level": 0,
    "log.connection.close": "false",
    "allow.auto.create.topics": "false",
    # A broker that comes back is found within a second.
    "reconnect.backoff.max.ms": 1000,
}

FRUGAL = {
    # Each client would measure itself, for brokers that want to know: with
    # histograms for each broker, by which nine clients of two clusters with
    # one broker each took 5 MiB more.
    "enable.metrics.push": "false",
}
"""Properties that the configuration may set otherwise."""

LEADERS_MS = 10_000
"""Metadata refresh interval of consumers
(``topic.metadata.refresh.interval.ms``), by default five minutes: for so long
they keep the leader that they know. A leader that is cut off from its cluster
goes on to answer, with the end that its log had. What is written to the next
one does not arrive for whoever reads there, and what the mirror copies from it
lies beyond that end: the log seems to be truncated after 30 s
(`STALE_END`)."""

DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
}
"""The broker knows who asks, and that this is not allowed."""

REFUSED = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - how the library names it
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._SSL,  # noqa: SLF001 - how the library names it
}
"""The broker does not accept who asks."""

NO_TOKEN = "Failed to acquire SASL OAUTHBEARER token"  # noqa: S105 - no token
"""Prefix of librdkafka's error when it got no token and asked no broker."""

UNREACHABLE = {
    KafkaError._TIMED_OUT,  # noqa: SLF001 - how the library names it
    KafkaError._TRANSPORT,  # noqa: SLF001 - how the library names it
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - how the library names it
    KafkaError._RESOLVE,  # noqa: SLF001 - how the library names it
    KafkaError._DESTROY,  # noqa: SLF001 - how the library names it
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
}
"""No broker answered; the next try may succeed."""


def client_properties(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return what every client begins with.

    Parameters
    ----------
    properties
        Properties of the cluster, from the configuration.
    """
    return {**FRUGAL, **with_login(properties), **QUIET}


def consumer_properties(
    properties: Mapping[str, str], *, read_committed: bool
) -> dict[str, Any]:
    """Return the properties of a consumer that reads by offset.

    It assigns itself, so it needs no right on a group and joins none; the
    library wants a ``group.id`` all the same. The isolation level is always
    explicit: the library's default is not MirrorMaker 2's.
    """
    return {
        "topic.metadata.refresh.interval.ms": LEADERS_MS,
        **client_properties(properties),
        "group.id": "mirrorwatch",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed"
        if read_committed
        else "read_uncommitted",
    }


def denial(right: str, cluster: str) -> str:
    """Say that a right is missing, always in the same words."""
    return f"Mirrorwatch lacks {right} at {cluster}. Grant it"


def to_source_error(
    error: KafkaException,
    *,
    cluster: str,
    right: str,
    last: KafkaError | None = None,
) -> SourceError:
    """Translate an error of the library.

    Parameters
    ----------
    error
        Error as raised by the library.
    cluster
        Alias of the cluster that was asked.
    right
        Right that the agent needs there, as Kafka's ACLs name it, for example
        ``READ on topic t``.
    last
        Newest error of the connection, which says why no broker answered.
    """
    found: KafkaError = error.args[0]
    code = found.code()
    if code in DENIED:
        return SourceDeniedError(
            denial(right, cluster),
            source="kafka",
            cluster=cluster,
            right=right,
        )
    if code in UNREACHABLE and last is not None and last.code() in REFUSED:
        found, code = last, last.code()
    if code in REFUSED and found.str().startswith(NO_TOKEN):
        return SourceDeniedError(
            f"No token to log in at {cluster} "
            f"({found.str()}). Check the server that gives tokens, and the "
            f"login under clusters.{cluster}.kafka",
            source="kafka",
            cluster=cluster,
            right="authentication",
        )
    if code in REFUSED:
        return SourceDeniedError(
            f"{cluster} rejects mirrorwatch's credentials or certificate "
            f"({found.str()}). Check clusters.{cluster}.kafka",
            source="kafka",
            cluster=cluster,
            right="authentication",
        )
    if code in UNREACHABLE:
        return SourceUnavailableError(
            f"{cluster} does not answer ({found.str()}). Check that it runs, "
            f"clusters.{cluster}.kafka and the network",
            source="kafka",
            cluster=cluster,
        )
    return SourceError(
        f"{cluster} failed a request ({right}): {found.str()}",
        source="kafka",
        cluster=cluster,
    )


T = TypeVar("T")


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield so many items at a time, for requests of bounded size."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


HELD = 2
"""References to an id that only its description holds: that one, and the
argument of the question."""


def answer_of(future: Future[T], seconds: float) -> T | KafkaException:
    """Wait for an answer, and return it or what Kafka said instead.

    Raises
    ------
    TimeoutError
        Raised if none comes in so many seconds.

    Notes
    -----
    What the future raises itself holds this frame, and so the answers to all
    that was asked at once, until Python looks for old cycles: after hours.
    """
    trouble = future.exception(seconds)
    if isinstance(trouble, KafkaException):
        return trouble
    found = future.result()
    if isinstance(found, TopicDescription):
        free_leaked_id(found)
    return found


def free_leaked_id(topic: TopicDescription) -> None:
    """Give back the reference that the library forgets.

    Parameters
    ----------
    topic
        Description of which nothing else has taken the id yet.

    Notes
    -----
    confluent-kafka 2.16.1, the newest, keeps one reference to the id of each
    topic that it describes: 150 bytes, for ever. An agent that describes 1,172
    topics in motion every 15 s would grow by 40 MiB an hour. Where the count
    says that the library has forgotten none, nothing is done.
    """
    if sys.getrefcount(topic.topic_id) > HELD:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(topic.topic_id))
