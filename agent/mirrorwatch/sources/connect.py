"""Asks Connect's REST API again and again, beside the ticks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote

import httpx
from pydantic_core import from_json
from structlog.typing import FilteringBoundLogger

from ..domain.mirror_records import (
    Assignment,
    Committed,
    Companion,
    Connector,
    MirrorFact,
    TaskCount,
    TaskState,
)
from ..domain.offsets import LARGEST, LARGEST_INT, to_number
from ..exceptions import SourceDeniedError, SourceError, SourceUnavailableError
from ..http import HttpAddress, describe_failure, open_client
from .mirror_state import MirrorState
from .tasks import ConnectAnswer, TasksState

__all__ = [
    "ConnectApi",
    "ConnectWorker",
    "to_committed",
    "to_kafka_version",
    "to_states",
]


def to_states(
    name: str, status: Mapping[str, Any], at: datetime
) -> Iterator[TaskState]:
    """Read the state of a connector and of its tasks.

    Parameters
    ----------
    name
        Name of the connector.
    status
        Its ``status``.
    at
        Time of the request.

    Raises
    ------
    ValueError
        Raised if it is not of the known layout.
    """
    try:
        found: list[tuple[int | None, Any]] = [(None, status["connector"])]
        found += [
            (to_number(task["id"], LARGEST_INT), task)
            for task in status["tasks"]
        ]
        for task, said in found:
            yield TaskState(
                connector=name,
                task=task,
                state=str(said["state"]),
                worker=str(said.get("worker_id") or ""),
                trace=str(said.get("trace") or ""),
                # Known to the status topic only.
                generation=0,
                written_at=at,
            )
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"the status of {name} lacks {e}") from e


def to_committed(
    connector: str,
    offsets: Sequence[Mapping[str, Any]],
    alias: str,
    at: datetime,
) -> Iterator[Committed]:
    """Read the committed offsets of a source connector.

    Parameters
    ----------
    connector
        Name of the connector.
    offsets
        Offsets as answered.
    alias
        The mirror's alias of the source.
    at
        Time of the request.

    Raises
    ------
    ValueError
        Raised if it is not of the known layout.
    """
    try:
        for said in offsets:
            key, offset = said["partition"], said["offset"]
            if key.get("cluster") == alias and offset is not None:
                yield Committed(
                    topic=str(key["topic"]),
                    partition=to_number(key["partition"], LARGEST_INT),
                    # The last one that was copied.
                    position=to_number(offset["offset"], LARGEST - 1) + 1,
                    written_at=at,
                    connector=connector,
                )
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError(f"offsets lack {e}") from e


def to_kafka_version(told: str | None) -> tuple[int, ...] | None:
    """Return major and minor version of Kafka; `None` if that is not known.

    Notes
    -----
    Confluent's workers tell the version of its platform: 7.9.0-ccs, or -ce,
    is of Kafka 3.9.
    """
    text = told or ""
    parts = text.split(".")[:2]
    if (
        len(parts) < 2
        or not all(p.isdecimal() and len(p) < 5 for p in parts)
        or text.endswith(("-ccs", "-ce"))
    ):
        return None
    return tuple(map(int, parts))


PATIENCE_SECONDS = 4.0
"""A worker that needs longer is in trouble, and the agent must be able to
stop meanwhile."""

ABSENT = {httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED}
"""Status codes of a Connect version that does not have the endpoint."""


class ConnectApi:
    """The REST API of one Connect cluster.

    Parameters
    ----------
    flow
        Name of the flow whose mirror it runs.
    cluster
        Our alias of the cluster beside it.
    address
        Address of any of its workers.
    given_by
        Configuration key of the address.
    login_by
        Configuration key of its user and password.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    SourceError
        Raised by every method if the API does not do as it is asked.

    Notes
    -----
    Answers hold the configuration of connectors, passwords included: nothing
    of them is put into an error.
    """

    def __init__(
        self,
        flow: str,
        cluster: str,
        address: HttpAddress,
        *,
        given_by: str = "mirror.connect",
        login_by: str = "username and password under mirror.connect",
    ) -> None:
        self._flow = flow
        self._cluster = cluster
        self._url = address.url
        self._given_by = given_by
        self._login_by = login_by
        self._http = open_client(
            address, key="mirror.connect", timeout_seconds=PATIENCE_SECONDS
        )

    def connectors(self) -> Mapping[str, Mapping[str, Any]]:
        """Return ``status`` and ``info`` of each connector, by its name."""
        found = self._ask("connectors?expand=status&expand=info")
        if not isinstance(found, dict):
            raise self._strange()
        return found

    def has(self, connector: str) -> bool:
        """Return whether there is a connector of this name.

        Notes
        -----
        A worker answers once it is a member of its group and has read the
        configs topic to its end; its list it gives before that, too.
        """
        return self._ask(f"connectors/{_quote(connector)}") is not None

    def version(self) -> str | None:
        """Return the version of the worker that answers.

        `None` if it does not say, or a proxy does not let that be asked:
        whoever wants it does without.
        """
        try:
            found = self._ask("")
        except SourceError:
            return None
        version = found.get("version") if isinstance(found, dict) else None
        return version if isinstance(version, str) else None

    def tasks(self, connector: str) -> Sequence[Mapping[str, Any]]:
        """Return the configuration of each task of a connector."""
        found = self._ask(f"connectors/{_quote(connector)}/tasks")
        return found if isinstance(found, list) else []

    def offsets(self, connector: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the committed offsets of a connector; `None` before Kafka
        3.5.
        """
        found = self._ask(f"connectors/{_quote(connector)}/offsets")
        if found is None:
            return None
        offsets = found.get("offsets") if isinstance(found, dict) else None
        if not isinstance(offsets, list):
            raise self._strange()
        return offsets

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def _ask(self, path: str) -> Any:
        """Ask; `None` if what is asked for is unknown."""
        try:
            answer = self._http.get(f"{self._url}/{path}")
        except httpx.TransportError as e:
            raise self._unreachable(e) from e
        except httpx.HTTPError as e:
            raise self._strange() from e
        if answer.status_code in ABSENT and "/" in path:
            return None
        if not answer.is_success:
            raise self._refusal(answer.status_code)
        if not answer.content:
            return None
        try:
            return from_json(answer.content)
        except ValueError as e:
            raise self._strange() from e

    def _unreachable(self, error: httpx.TransportError) -> SourceError:
        why = describe_failure(error, PATIENCE_SECONDS)
        return SourceUnavailableError(
            f"Connect's REST API of {self._flow} cannot be reached ({why}). "
            f"Check the worker, {self._given_by} and the network",
            source="connect",
            cluster=self._cluster,
        )

    def _refusal(self, status: int) -> SourceError:
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            return SourceDeniedError(
                f"Connect's REST API of {self._flow} rejects mirrorwatch "
                f"(status {status}). Check {self._login_by}",
                source="connect",
                cluster=self._cluster,
                right="Connect's REST API",
            )
        return SourceError(
            f"Connect's REST API of {self._flow} returned an error (status "
            f"{status}). Check the worker's log; 409 is a rebalance",
            source="connect",
            cluster=self._cluster,
        )

    def _strange(self) -> SourceError:
        return SourceError(
            f"The address of Connect's REST API of {self._flow} leads to "
            f"another server. Check {self._given_by}",
            source="connect",
            cluster=self._cluster,
        )


def _quote(name: str) -> str:
    return quote(name, safe="")


UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
"""Exceptions raised on an answer of another layout."""

DETAILS_EVERY = timedelta(seconds=30)
"""Polling interval of the partitions and offsets of tasks: they are many, and
the offsets move once a minute."""


@runtime_checkable
class ConnectDecoder(Protocol):
    """Decoder of one flow's connector and task configurations."""

    @property
    def source_alias(self) -> str:
        """The mirror's alias of the source."""
        ...

    def to_fact(self, name: str, properties: Mapping[str, Any]) -> MirrorFact:
        """Return what the configuration of a connector says."""
        ...

    def to_assignment(
        self, name: str, properties: Mapping[str, Any], written_at: datetime
    ) -> Assignment | None:
        """Return what a task was given, if it is one of this flow."""
        ...


class ConnectWorker:
    """Asks for one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    api
        Connect API to query.
    mirror
        Knows what configurations mean.
    positions
        State that receives facts missing from the mirror's internal topics.
    state
        State that receives the answers and their errors.
    clock
        Gives the time.
    logger
        Logger of answers that cannot be read, once each.

    Notes
    -----
    The internal topics know everything that the API knows, and in order. So
    states and offsets of the API are taken only where a topic does not give
    them, or less.
    """

    interval = timedelta(seconds=5)

    def __init__(
        self,
        *,
        flow: str,
        api: ConnectApi,
        mirror: ConnectDecoder,
        positions: MirrorState,
        state: TasksState,
        clock: Callable[[], datetime],
        logger: FilteringBoundLogger,
    ) -> None:
        self.name = f"connect {flow}"
        self._api = api
        self._mirror = mirror
        self._positions = positions
        self._state = state
        self._clock = clock
        self._logger = logger.bind(flow=flow)
        self._noted: dict[object, object] = {}
        self._left_out: AbstractSet[str] = frozenset()
        self._answered_at: datetime | None = None
        self._details_at: datetime | None = None
        self._version: str | None = None
        self._logged: set[str] = set()

    def step(self) -> None:
        at = self._clock()
        try:
            found = self._api.connectors()
            problem = self._take(found, at)
            if self._details_at is None or at >= self._details_at:
                self._details_at = at + DETAILS_EVERY
                self._ask_details(at)
        except SourceError as e:
            self._state.answer.set(
                ConnectAnswer(at=self._answered_at, problem=str(e))
            )
            raise
        if problem is None:
            self._answered_at = at
        self._state.answer.set(
            ConnectAnswer(
                at=self._answered_at, problem=problem, version=self._version
            )
        )

    def close(self) -> None:
        self._api.close()

    def _take(
        self, found: Mapping[str, Mapping[str, Any]], at: datetime
    ) -> str | None:
        status_is_read = self._positions.optional.get("status").readable
        states = {(s.connector, s.task): s for s in self._positions.tasks()}
        for name, said in found.items():
            try:
                info = said["info"]
                fact = self._mirror.to_fact(name, info["config"])
                self._note(("fact", name), fact)
                count = TaskCount(connector=name, tasks=len(info["tasks"]))
                self._note(("count", name), count)
                if not status_is_read:
                    for state in to_states(name, said["status"], at):
                        before = states.get((state.connector, state.task))
                        self._note_state(before, state)
            except UNREADABLE as e:
                # Never what was answered: it holds passwords.
                self._complain(name, type(e).__name__)
        stateless = self._look_for_left_out(found.keys())
        if stateless is None or status_is_read:
            return None
        return (
            f"Connect's REST API returns no state of connector {stateless}. "
            "Check the worker's log"
        )

    def _look_for_left_out(self, listed: AbstractSet[str]) -> str | None:
        """Note which connectors were removed; return one of this flow that
        is there and not listed.

        Notes
        -----
        Connect's list leaves out connectors whose state it does not know, and
        all of them while a worker starts. So what it leaves out is removed
        only if it does so twice, and does not find it by its name either.
        """
        ours = self._ours()
        known = ours | {c.name for c in self._positions.companions()}
        before, self._left_out = self._left_out, known - listed
        stateless = None
        for name in sorted(self._left_out & before):
            if not self._api.has(name):
                self._positions.note(Companion(name=name, role="removed"))
                self._noted.pop(("fact", name), None)
            elif name in ours:
                stateless = name
        return stateless

    def _ours(self) -> AbstractSet[str]:
        return {c.name for c in self._positions.connectors()} | {
            c.name
            for c in self._positions.companions()
            if c.role != "neighbour"
        }

    def _ask_details(self, at: datetime) -> None:
        self._version = self._api.version()
        version = to_kafka_version(self._version)
        if version is not None:
            self._positions.run_by(version)
        for connector in self._positions.connectors():
            name = connector.name
            try:
                for said in self._api.tasks(name):
                    number = f"{name}-{said['id']['task']}"
                    given = self._mirror.to_assignment(
                        number, said["config"], at
                    )
                    if given is not None:
                        key = ("given", number)
                        self._note(key, given, given.partitions)
                self._take_offsets(connector, at)
            except UNREADABLE as e:
                self._complain(name, type(e).__name__)

    def _take_offsets(self, connector: Connector, at: datetime) -> None:
        name, alias = connector.name, self._mirror.source_alias
        offsets = self._api.offsets(name)
        committed = self._positions.committed_by(name)
        for fact in to_committed(name, offsets or (), alias, at):
            known = committed.get(fact.key)
            if known is None or (known.position or 0) < (fact.position or 0):
                self._positions.note(fact)

    def _note_state(self, before: TaskState | None, now: TaskState) -> None:
        """Note a state that is another one than what is known.

        The time is of the answer; what matters is since when it is so. What
        was answered before does not count: the topic may have said more.
        """
        if before is None or (
            (before.state, before.worker, before.trace)
            != (now.state, now.worker, now.trace)
        ):
            self._positions.note(now)

    def _note(
        self, key: object, fact: MirrorFact, said: object = None
    ) -> None:
        """Note what is new; the topics gave the rest, or the answer before."""
        said = fact if said is None else said
        if self._noted.get(key) != said:
            self._noted[key] = said
            self._positions.note(fact)

    def _complain(self, connector: str, error: str) -> None:
        if connector not in self._logged:
            self._logged.add(connector)
            self._logger.warning(
                "Connect's answer cannot be read",
                connector=connector,
                error=error,
            )
