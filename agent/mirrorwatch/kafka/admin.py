"""Facts about one Kafka cluster, by the admin API.

Nothing here names a topic in a plain metadata request: on a broker with
``auto.create.topics.enable`` that creates the topic.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as Requested
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    ListOffsetsResultInfo,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from ..domain.cluster_view import TopicFacts, TopicPartition
from ..domain.finding import Code, Finding, Health
from ..exceptions import SourceError, SourceUnavailableError
from .errors import (
    REFUSED,
    TIMEOUT,
    UNREACHABLE,
    answer_of,
    batched,
    client_properties,
    denial,
    to_source_error,
)
from .list_offsets import BATCH, EARLIEST, LATEST, OffsetLookup

__all__ = [
    "BestEffortQueries",
    "Brokers",
    "Cluster",
    "Described",
    "Topic",
    "concerns_all",
    "describe",
    "describe_topics",
    "list_topics",
]


T = TypeVar("T")


ABSENT = KafkaError.UNKNOWN_TOPIC_OR_PART

RIGHT = "DESCRIBE (READ includes it) on topic {topic}"

MOST_FAILURES = 5
"""Questions in a row to which no broker answers until the client that asks is
replaced: it may be of no more use. Lists of topics count, too."""

REASON_SECONDS = 0.5
"""Timeout for the error that explains why no broker answers: it comes apart
from the answer, within milliseconds on an idle machine."""


NO_ID = -1
"""Id of a broker that librdkafka knows by its address only."""


class OtherBrokerError(SourceError):
    """Another broker answered than the one that was to be asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic as its cluster describes it."""

    name: str
    id: str
    """Topic id (KIP-516): another one is another topic of the same name."""

    leaders: Mapping[int, int | None]
    """Broker id that leads each partition; `None` where there is none."""

    allowed: frozenset[str] | None = None
    """Operations that the agent may do on it, as Kafka's ACLs name them;
    `None` if the broker does not say."""

    def lacks(self, *operations: str) -> tuple[str, ...]:
        """Return those operations that the agent may not do."""
        if self.allowed is None:
            return ()
        return tuple(o for o in operations if o not in self.allowed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Brokers:
    """The members of a cluster."""

    cluster_id: str
    ids: frozenset[int]


class Cluster:
    """Reads facts of one cluster.

    Parameters
    ----------
    alias
        Our name of the cluster.
    properties
        librdkafka properties.

    Raises
    ------
    SourceError
        Raised by every method if the cluster cannot be asked, or refuses.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self._error: KafkaError | None = None
        self._brokers: Brokers | None = None
        self._failures = 0
        self._settings: dict[str, Any] = {
            **client_properties(properties),
            "error_cb": self._note_error,
        }
        self._admin = AdminClient(self._settings)
        self._lookup = OffsetLookup(properties, self._note_error)
        # Partitions whose offsets the last answer did not have.
        self._missing: AbstractSet[TopicPartition] = frozenset()

    @property
    def trouble(self) -> str | None:
        """Connection error of the cluster, in librdkafka's words."""
        return None if self._error is None else self._error.str()

    def brokers(self) -> Brokers:
        """Read who is in the cluster.

        Notes
        -----
        The survey has mostly just listed the topics, and need not be repeated.
        Not by ``describe_cluster``: where a broker lists no broker, as one
        that is fenced does, librdkafka 2.16 ends the process.
        """
        found = self._brokers or _to_brokers(self.metadata())
        self._brokers = None
        return found

    def metadata(self) -> ClusterMetadata:
        """List brokers and topics: everything but the ids of topics."""
        try:
            found = self._lookup.list_topics()
        except KafkaException as e:
            # Its errors would pile up where nothing else is asked of it.
            self._admin.poll(0)
            error = self._translate(e, "DESCRIBE on its topics", self._lookup)
            # It may never find a broker again: see `_begin_anew`.
            self._lookup.renew()
            raise error from e
        self._error = None
        # Not all that was listed: it is an object for each partition.
        self._brokers = _to_brokers(found)
        return found

    def describe_topic(
        self, name: str, *, right: str = "DESCRIBE"
    ) -> Topic | None:
        """Describe a topic, `None` if it does not exist.

        Parameters
        ----------
        name
            Name of the topic.
        right
            Right that the agent will need on it, to be named where it is
            refused; any right includes DESCRIBE.
        """
        future = self._admin.describe_topics(
            TopicCollection([name]),
            include_authorized_operations=True,
            request_timeout=TIMEOUT,
        )[name]
        try:
            found = self.wait(future, f"{right} on topic {name}")
        except SourceError as e:
            if _code(e) == ABSENT:
                return None
            raise
        return Topic(
            name=name,
            id=str(found.topic_id),
            leaders={
                p.id: None if p.leader is None else p.leader.id
                for p in found.partitions
            },
            allowed=frozenset(o.name for o in found.authorized_operations)
            if found.authorized_operations
            else None,
        )

    def ends(
        self,
        topic: str,
        partitions: Iterable[int],
        *,
        read_committed: bool = True,
    ) -> dict[int, int]:
        """Read the end of partitions, by default as a committed reader sees
        it.
        """
        wanted = {(topic, p): LATEST for p in partitions}
        found = self.offsets(
            wanted, read_committed=read_committed, strict=True
        )
        return {p: offset for (_, p), offset in found.items()}

    def starts(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Read the lowest offset that partitions still hold."""
        wanted = {(topic, p): EARLIEST for p in partitions}
        found = self.offsets(wanted, strict=True)
        return {p: offset for (_, p), offset in found.items()}

    def offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        strict: bool = False,
    ) -> dict[TopicPartition, int]:
        """Read offsets of partitions.

        Parameters
        ----------
        wanted
            Times in milliseconds, or `LATEST`, or `EARLIEST`.
        read_committed
            Read as a consumer with isolation level read committed: up to the
            last stable offset.
        strict
            Raise an error where one partition has no answer, and do not leave
            it out: it has no leader, or may not be read.

        Returns
        -------
        dict
            The first offset that is not older; -1 if there is none.

        Notes
        -----
        Partitions that were missing in the last answer are asked for in the
        way that knows each partition's error, until they have one.
        """
        if not wanted:
            return {}
        found = self._lookup.read(
            {p: time for p, time in wanted.items() if p not in self._missing},
            read_committed=read_committed,
        )
        rest = wanted.keys() - found.keys()
        if not rest:
            return found
        # Until they are answered, whether or not that succeeds now.
        self._missing |= rest
        level = (
            IsolationLevel.READ_COMMITTED
            if read_committed
            else IsolationLevel.READ_UNCOMMITTED
        )
        answers = self.list_offsets(
            {place: _to_spec(wanted[place]) for place in rest},
            isolation=level,
            strict=strict,
        )
        self._missing -= answers.keys()
        return found | {p: int(a.offset) for p, a in answers.items()}

    def list_offsets(
        self,
        wanted: Mapping[TopicPartition, OffsetSpec],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        strict: bool = False,
        named_by: int | None = None,
    ) -> dict[TopicPartition, ListOffsetsResultInfo]:
        """Ask a new client for offsets and the timestamps of their records.

        Parameters
        ----------
        wanted
            Offsets to look up, by partition.
        isolation
            Isolation level of the end offset.
        strict
            All have to be found.
        named_by
            Id of the broker that has to name the leaders, the only one of
            ``bootstrap.servers``; `None` if any may.

        Raises
        ------
        OtherBrokerError
            Raised if another broker named them.
        SourceError
            Raised if the cluster does not answer, or refuses.

        Notes
        -----
        An administrator of librdkafka 2.16 that does not know the leaders of
        all partitions may end the process. It waits for metadata, and once
        they come its own thread frees what the thread that asked still uses
        (``rd_kafka_topic_partition_list_query_leaders_async``). A client that
        has just listed all topics, and does nothing else, knows the leaders.

        It also answers with -1001, and no error, where a broker has not.
        """
        admin = self._admin
        found, right = {}, "DESCRIBE on its topics"
        try:
            admin = AdminClient(self._settings)
            listed = admin.list_topics(timeout=TIMEOUT)
            # A client knows the id of the one that it asks first only once
            # that has answered. It may connect to others, and ask these.
            if named_by is not None and listed.orig_broker_id not in {
                NO_ID,
                named_by,
            }:
                raise OtherBrokerError(
                    f"{self.alias}: broker {listed.orig_broker_id} answered "
                    f"for broker {named_by}",
                    source="kafka",
                    cluster=self.alias,
                )
            led = [place for place in sorted(wanted) if _is_led(place, listed)]
            for batch in batched(led, BATCH):
                futures = admin.list_offsets(
                    {Requested(*place): wanted[place] for place in batch},
                    isolation_level=isolation,
                    request_timeout=TIMEOUT,
                )
                for asked, future in futures.items():
                    place = (asked.topic, asked.partition)
                    right = RIGHT.format(topic=asked.topic)
                    answer = self._answer_of(future)
                    if not isinstance(answer, KafkaException):
                        if answer.offset != OFFSET_INVALID:
                            found[place] = answer
                            continue
                        answer = _to_silence(asked.topic)
                    if strict or answer.args[0].code() < 0:
                        # Raised itself, it would hold this frame, and so the
                        # client with its threads: see `answer_of`.
                        raise self._translate(
                            answer, right, admin, is_new=True
                        ) from answer
        except KafkaException as e:
            raise self._translate(e, right, admin, is_new=True) from e
        missing = wanted.keys() - found.keys()
        if strict and missing:
            topic, _ = min(missing)
            right = RIGHT.format(topic=topic)
            raise SourceError(
                f"{self.alias} does not return the offsets of {topic}: a "
                f"partition has no leader, or mirrorwatch lacks {right}",
                source="kafka",
                cluster=self.alias,
            )
        self._error = None
        return found

    def max_message_bytes(self, topic: str) -> int:
        """Read the largest batch that a topic takes, in bytes."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        (future,) = self._admin.describe_configs(
            [resource], request_timeout=TIMEOUT
        ).values()
        found = self.wait(future, f"DESCRIBE_CONFIGS on topic {topic}")
        return int(found["max.message.bytes"].value)

    def create(
        self, topic: str, partitions: int, configs: Mapping[str, str]
    ) -> None:
        """Create a topic, with the cluster's default replication factor."""
        new = NewTopic(
            topic, partitions, replication_factor=-1, config=dict(configs)
        )
        (future,) = self._admin.create_topics(
            [new], request_timeout=TIMEOUT
        ).values()
        self.wait(future, f"CREATE on topic {topic}")

    def call(self, question: Callable[[AdminClient], T], right: str) -> T:
        """Ask what this class has no method for.

        Parameters
        ----------
        question
            Asks the library; may raise what the library raises.
        right
            Right that the agent needs for it, as Kafka's ACLs name it.
        """
        try:
            found = question(self._admin)
        except KafkaException as e:
            raise self._translate(e, right) from e
        return found

    def close(self) -> None:
        """Let go of the connections to the leaders of partitions."""
        self._lookup.close()

    def wait(self, future: Future[T], right: str) -> T:
        """Wait for an answer."""
        found = self._answer_of(future)
        if isinstance(found, KafkaException):
            raise self._translate(found, right) from found
        # What went wrong before does not explain what goes wrong later.
        self._error, self._failures = None, 0
        return found

    def _answer_of(self, future: Future[T]) -> T | KafkaException:
        try:
            return answer_of(future, TIMEOUT + 1)
        except TimeoutError as e:
            raise SourceUnavailableError(
                f"{self.alias} has not answered for {TIMEOUT + 1:.0f} s. "
                "Check that it runs",
                source="kafka",
                cluster=self.alias,
            ) from e

    def _translate(
        self,
        error: KafkaException,
        right: str,
        asked: AdminClient | OffsetLookup | None = None,
        *,
        is_new: bool = False,
    ) -> SourceError:
        client = asked or self._admin
        client.poll(0)
        if self._error is None and error.args[0].code() in UNREACHABLE:
            # The answer may be ahead of the event that says why.
            client.poll(REASON_SECONDS)
        found = to_source_error(
            error, cluster=self.alias, right=right, last=self._error
        )
        # A new client that fails says nothing of this one. One that cannot
        # list topics does: nothing else is asked until they are listed.
        if not is_new and isinstance(found, SourceUnavailableError):
            self._begin_anew()
        return found

    def _begin_anew(self) -> None:
        """Take another client, if this one has failed again and again.

        Notes
        -----
        A broker that was frozen or stopped is fenced for a moment, and then
        lists no broker, not even itself. A client of librdkafka 2.16 that gets
        this answer may never find one again, whatever
        ``metadata.recovery.strategy`` is. Futures of the old client fail with
        ``_DESTROY``.
        """
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._failures = 0
            # What it takes, such as a token, may be missing at the moment.
            with suppress(KafkaException):
                self._admin = AdminClient(self._settings)

    def _note_error(self, error: KafkaError) -> None:
        # What follows a reason is none: who is refused is disconnected next.
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - how the library names it
            return
        if self._error is None or self._error.code() not in REFUSED:
            self._error = error


def _to_spec(time: int) -> Any:
    if time == LATEST:
        return OffsetSpec.latest()
    if time == EARLIEST:
        return OffsetSpec.earliest()
    return OffsetSpec.for_timestamp(time)


def _is_led(place: TopicPartition, listed: ClusterMetadata) -> bool:
    topic, partition = place
    known = listed.topics.get(topic)
    if known is None or known.error is not None:
        return False
    found = known.partitions.get(partition)
    return found is not None and found.leader in listed.brokers


def _to_silence(topic: str) -> KafkaException:
    code = KafkaError._TIMED_OUT  # noqa: SLF001 - how the library names it
    return KafkaException(
        KafkaError(code, f"no offsets of {topic} from the leader")
    )


def _to_brokers(found: ClusterMetadata) -> Brokers:
    return Brokers(
        cluster_id=str(found.cluster_id), ids=frozenset(found.brokers)
    )


def _code(error: SourceError) -> int | None:
    cause = error.__cause__
    if not isinstance(cause, KafkaException):
        return None
    return int(cause.args[0].code())


# Facts about all topics of a cluster: few requests, whatever their number.
#
# A request for metadata goes to one broker, a request for offsets to each; the
# library splits and joins them.


@dataclass(frozen=True, slots=True)
class Described:
    """A cluster and its topics."""

    id: str
    topics: Mapping[str, TopicFacts]


@dataclass(frozen=True, slots=True)
class Listed:
    """A cluster and what it lists of its topics."""

    id: str
    partitions: Mapping[str, int]


def describe(cluster: Cluster) -> Described:
    """Describe a cluster and all its topics.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    listed = list_topics(cluster)
    return Described(listed.id, describe_topics(cluster, listed.partitions))


def list_topics(cluster: Cluster) -> Listed:
    """List the topics of a cluster, which gives everything but their ids.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    listed = cluster.metadata()
    return Listed(
        str(listed.cluster_id),
        {
            name: len(topic.partitions)
            for name, topic in listed.topics.items()
            if not name.startswith("__")
        },
    )


def describe_topics(
    cluster: Cluster, names: Iterable[str]
) -> dict[str, TopicFacts]:
    """Describe some topics; those that are gone are left out.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    names, found = list(names), dict[str, TopicFacts]()
    if not names:
        return found
    futures = cluster.call(
        lambda admin: admin.describe_topics(
            TopicCollection(names), request_timeout=TIMEOUT
        ),
        "DESCRIBE on its topics",
    )
    for name, future in futures.items():
        try:
            topic = cluster.wait(future, f"DESCRIBE on topic {name}")
        except SourceError as e:
            if concerns_all(e):
                raise
            continue  # deleted since it was listed
        found[name] = TopicFacts(
            id=str(topic.topic_id),
            partitions=len(topic.partitions),
            replication_factor=len(topic.partitions[0].replicas),
        )
    return found


def concerns_all(error: SourceError) -> bool:
    """Return whether an error concerns the cluster, and not one topic."""
    cause = error.__cause__
    if not isinstance(cause, KafkaException):
        return True
    return bool(cause.args[0].code() < 0)


class BestEffortQueries:
    """Queries of clusters, and a finding for each that failed.

    Parameters
    ----------
    unreadable
        Code of these findings.

    Notes
    -----
    A cluster that does not answer is not asked again in the same survey:
    each question would wait for its own time-out, and all say the same.
    """

    def __init__(self, unreadable: Code) -> None:
        self.problems: list[Finding] = []
        self._unreadable = unreadable
        self._silent: set[str] = set()
        self._refusing: set[str] = set()

    def ask(
        self, cluster: Cluster, question: Callable[[Cluster], T]
    ) -> T | None:
        """Ask a cluster; `None` if it does not answer, or refuses."""
        if cluster.alias in self._silent:
            return None
        try:
            return question(cluster)
        except SourceError as e:
            if isinstance(e, SourceUnavailableError):
                self._silent.add(e.cluster)
            self._refusing.add(e.cluster)
            self._note(str(e))
            return None

    def find_topic(
        self, cluster: Cluster, name: str, *operations: str
    ) -> Topic | None:
        """Describe a topic, and report what the agent may not do with it.

        Parameters
        ----------
        cluster
            Cluster of the topic.
        name
            Name of the topic.
        operations
            Operations of the agent, as Kafka's ACLs name them. Asked for now:
            some are needed only in trouble, when they must not be missing.
        """
        found = self.ask(
            cluster,
            lambda c: c.describe_topic(name, right=" and ".join(operations)),
        )
        if found is not None and (lacking := found.lacks(*operations)):
            right = f"{' and '.join(lacking)} on topic {name}"
            self._note(denial(right, cluster.alias))
        return found

    def reached(self, cluster: Cluster) -> bool:
        """Return whether a cluster has answered every query so far."""
        return cluster.alias not in self._refusing

    def _note(self, problem: str) -> None:
        found = self._unreadable.found(Health.UNKNOWN, problem=problem)
        self.problems.append(found)
