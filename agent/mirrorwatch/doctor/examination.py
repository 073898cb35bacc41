"""Finds out why an agent of this configuration could not do its work.

All parts are asked at once, each in a thread of its own, with one deadline:
a server that does not answer is one finding, and delays no other.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from ssl import SSLContext
from threading import Thread
from typing import Any, TypeVar

from structlog.typing import FilteringBoundLogger

from ..config import Config, FlowConfig, HttpServer, JmxConfig
from ..domain.conflicts import FlowTopics, find_conflicts
from ..domain.doctor import (
    DoctorFinding,
    FindingSeverity,
)
from ..domain.parity.topics import names
from ..domain.report import counted
from ..domain.topics import Selection
from ..exceptions import (
    ConfigError,
    InternalError,
    LayerError,
    MirrorwatchError,
    SourceDeniedError,
    SourceError,
)
from ..isolation import Isolation
from ..kafka.admin import (
    Cluster,
)
from ..kafka.errors import NO_TOKEN
from ..wiring.context import to_mirror
from .carried import carriage_of
from .connection import broker_context, connect, speaks_tls
from .findings import Connectors, Findings, ReachedCluster
from .flows import examine_flow
from .servers import (
    examine_connect,
    examine_influxdb,
    examine_jmx,
    examine_receiver,
    examine_registry,
)

__all__ = ["LONGEST", "Diagnosis", "examine"]

LONGEST = timedelta(seconds=9.5)
"""Timeout of the whole examination, even if servers do not answer: somebody
waits."""

ADVERTISED = 30
"""Brokers of a cluster that are connected to."""

CLUSTER = "cluster "

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Result of an examination: its findings and their subjects."""

    findings: tuple[DoctorFinding, ...]
    """Errors first."""

    checked: tuple[str, ...]
    seconds: float

    @property
    def failed(self) -> bool:
        return any(f.severity is FindingSeverity.ERROR for f in self.findings)


def examine(
    config: Config,
    *,
    logger: FilteringBoundLogger,
    progress: Callable[[str], None] = lambda _: None,
    longest: timedelta = LONGEST,
    clusters_only: bool = False,
) -> Diagnosis:
    """Look at everything that a configuration names.

    Nothing is written, sent, registered or created.

    Parameters
    ----------
    config
        Configuration, whose Kafka properties librdkafka takes.
    logger
        Logger of a crash of a part.
    progress
        Gets a line that says what is still looked at.
    longest
        Timeout of the examination.
    clusters_only
        Look at the clusters only.
    """
    begin = time.monotonic()
    examination = _Examination(config, Isolation(logger))
    parts = examination.start(clusters_only=clusters_only)
    while True:
        open_ = [name for name, part in parts.items() if not part.done()]
        left = begin + longest.total_seconds() - time.monotonic()
        if not open_ or left <= 0:
            break
        done = len(parts) - len(open_)
        progress(f"{done} of {len(parts)} checked; waiting for {open_[0]}")
        with suppress(FutureTimeoutError):
            parts[open_[0]].exception(min(left, 0.2))
    late = {name for name, part in parts.items() if not part.done()}
    findings = [
        *examination.found(),
        *(_late(name, longest) for name in examination.causes(late)),
    ]
    findings.sort(key=lambda f: -f.severity)
    return Diagnosis(
        findings=tuple(dict.fromkeys(findings)),
        checked=tuple(parts),
        seconds=time.monotonic() - begin,
    )


def _late(name: str, longest: timedelta) -> DoctorFinding:
    return DoctorFinding(
        severity=FindingSeverity.ERROR,
        subject=name,
        check="deadline",
        cause=f"not all of it was answered within "
        f"{longest.total_seconds():.0f} s",
        remedy="Check whether it is overloaded, and run doctor again",
    )


class _Examination:
    """All parts of one run."""

    def __init__(self, config: Config, isolation: Isolation) -> None:
        self._config = config
        self._isolation = isolation
        self._reached: dict[str, Future[ReachedCluster | None]] = {
            alias: Future() for alias in config.clusters
        }
        self._connectors: dict[str, Future[Connectors | None]] = {
            flow.name: Future() for flow in config.flows
        }
        self._expected = frozenset(_name_internal(config))
        self._findings: list[Findings] = []

    def start(self, *, clusters_only: bool) -> dict[str, "Future[None]"]:
        """Start to look; return what is under way, by part."""
        parts = dict(self._parts())
        if clusters_only:
            parts = {s: w for s, w in parts.items() if s.startswith(CLUSTER)}
        self._findings = [Findings(subject) for subject in parts]
        return {
            findings.subject: self._in_thread(
                partial(self._run, findings, parts[findings.subject])
            )
            for findings in self._findings
        }

    def found(self) -> Iterator[DoctorFinding]:
        """Yield what was found so far."""
        for findings in self._findings:
            yield from list(findings.all)

    def causes(self, late: AbstractSet[str]) -> list[str]:
        """Return those late parts that wait for no other one."""
        waits = {
            f"flow {flow.name}": {
                f"cluster {flow.source}",
                f"cluster {flow.target}",
                f"Connect {flow.name}",
            }
            for flow in self._config.flows
        }
        return sorted(one for one in late if not waits.get(one, set()) & late)

    def _in_thread(self, work: Callable[[], T]) -> "Future[T]":
        """Do it in a thread for which the end of the process does not wait."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(self._isolation.run("doctor", work))
            except MirrorwatchError as e:
                future.set_exception(e)

        Thread(target=run, name="doctor", daemon=True).start()
        return future

    def _run(
        self, findings: Findings, work: Callable[[Findings], None]
    ) -> None:
        subject = findings.subject
        try:
            self._isolation.run(subject, lambda: work(findings))
        except InternalError as e:
            findings.add_error("internal", e)
        except LayerError as e:
            findings.add(e.layer, str(e), e.remedy)
        except MirrorwatchError as e:
            findings.add_error("request", e)
        finally:
            # Who waits for this part need not wait for ever.
            kind, _, name = subject.partition(" ")
            if kind == "cluster" and not self._reached[name].done():
                self._reached[name].set_result(None)
            if kind == "Connect" and not self._connectors[name].done():
                self._connectors[name].set_result(None)

    def _parts(
        self,
    ) -> Iterator[tuple[str, Callable[[Findings], None]]]:
        config = self._config
        compared = {
            alias
            for flow in config.flows
            if config.compares_schemas(flow)
            for alias in (flow.source, flow.target)
        }
        for alias, cluster in config.clusters.items():
            yield f"cluster {alias}", partial(self._cluster, alias)
            if cluster.schema_registry is not None:
                yield (
                    f"schema registry {alias}",
                    partial(
                        examine_registry,
                        alias,
                        cluster.schema_registry,
                        compared=alias in compared,
                    ),
                )
        for flow in config.flows:
            if flow.mirror.connect is not None:
                yield (
                    f"Connect {flow.name}",
                    partial(self._connect, flow, flow.mirror.connect),
                )
            else:
                self._connectors[flow.name].set_result(None)
            yield f"flow {flow.name}", partial(self._flow, flow)
            if flow.mirror.jmx is not None:
                yield (
                    f"JMX {flow.name}",
                    partial(self._jmx, flow, flow.mirror.jmx),
                )
        if config.sinks.influxdb is not None:
            yield (
                "InfluxDB",
                partial(examine_influxdb, config.sinks.influxdb),
            )
        if config.sinks.notify is not None:
            for receiver in config.sinks.notify.receivers:
                yield (
                    f"receiver {receiver.name}",
                    partial(examine_receiver, receiver),
                )

    # Clusters

    def _cluster(self, alias: str, findings: Findings) -> None:
        kafka = self._config.clusters[alias].kafka
        servers = sorted(kafka.brokers)
        context = broker_context(alias, kafka)
        if not self._connect_first(alias, servers, context, findings):
            return
        cluster = Cluster(alias, dict(kafka))
        try:
            listed = cluster.metadata()
        except SourceDeniedError as e:
            if NO_TOKEN in str(e):
                findings.add_error("sasl", e)
                return
            findings.add(
                "sasl",
                str(e).rpartition(". ")[0],
                "Check sasl.username, sasl.password and sasl.mechanism, or "
                f"the client certificate, under clusters.{alias}.kafka, and "
                "that the user exists there",
            )
            return
        except SourceError as e:
            host, port = servers[0]
            if context is None and speaks_tls(host.strip("[]"), port):
                findings.add(
                    "tls",
                    f"{host}:{port} requires TLS",
                    f"Set clusters.{alias}.kafka.security.protocol to SSL or "
                    "SASL_SSL",
                )
                return
            why = cluster.trouble
            findings.add(
                "metadata",
                str(e).rpartition(". ")[0]
                if why is None
                else f"{alias} does not answer ({why})",
                f"Check that it runs, and clusters.{alias}.kafka: the port, "
                "security.protocol, the login and the client certificate",
            )
            return
        found = str(listed.cluster_id)
        expected = self._config.clusters[alias].cluster_id
        if expected is not None and expected != found:
            findings.add(
                "cluster-id",
                f"{alias} has the cluster id {found}, not {expected}",
                "Check bootstrap.servers; if the cluster was replaced on "
                f"purpose, correct clusters.{alias}.cluster_id",
            )
        self._reached[alias].set_result(
            ReachedCluster(
                cluster,
                _count_partitions(listed.topics),
                len(listed.brokers),
                found,
            )
        )
        others = {
            (str(b.host).lower(), int(b.port)) for b in listed.brokers.values()
        } - kafka.brokers
        self._connect_advertised(
            alias, sorted(others)[:ADVERTISED], len(others), context, findings
        )

    def _connect_first(
        self,
        alias: str,
        servers: Sequence[tuple[str, int]],
        context: SSLContext | None,
        findings: Findings,
    ) -> bool:
        key = f"clusters.{alias}.kafka"
        asked = {
            (host, port): self._in_thread(
                partial(connect, host.strip("[]"), port, context, key=key)
            )
            for host, port in servers
        }
        failed: dict[tuple[str, str], list[tuple[str, LayerError]]] = {}
        answers = 0
        for (host, port), one in asked.items():
            try:
                note = one.result()
            except LayerError as e:
                place = f"{host}:{port}"
                cause = str(e).replace(place, "").replace(host, "")
                failed.setdefault((e.layer, cause), []).append((place, e))
            else:
                answers += 1
                if note is not None:
                    findings.add(
                        "tls",
                        note,
                        "Renew it in time",
                        severity=FindingSeverity.WARNING,
                    )
        for same in failed.values():
            (_, error), *more = same
            also = ", ".join(place for place, _ in more)
            findings.add(
                error.layer,
                str(error) + (f"; likewise {also}" if also else ""),
                error.remedy,
                severity=FindingSeverity.WARNING
                if answers
                else FindingSeverity.ERROR,
            )
        return answers > 0

    def _connect_advertised(
        self,
        alias: str,
        servers: Sequence[tuple[str, int]],
        number: int,
        context: SSLContext | None,
        findings: Findings,
    ) -> None:
        """Connect to the brokers that the cluster itself names: their names
        are in no bootstrap.servers, nor need they be in the certificate.
        """
        key = "advertised.listeners"
        asked = {
            f"{host}:{port}": self._in_thread(
                partial(connect, host, port, context, key=key)
            )
            for host, port in servers
        }
        failed: list[tuple[str, LayerError]] = []
        for place, one in asked.items():
            try:
                one.result()
            except LayerError as e:
                failed.append((place, e))
        if failed:
            first = failed[0][1]
            findings.add(
                "advertised",
                f"{alias} answers, but {len(failed)} of its "
                f"{counted(number, 'other broker')} cannot be reached at "
                f"the address that it advertises: {first}",
                first.remedy
                if first.layer == "tls"
                else "Correct advertised.listeners of the brokers, or open "
                "the network to these addresses",
            )

    # Flows

    def _flow(self, flow: FlowConfig, findings: Findings) -> None:
        examine_flow(
            flow,
            self._reached[flow.source].result(),
            self._reached[flow.target].result(),
            connectors=self._connectors[flow.name].result,
            properties=dict(self._config.clusters[flow.target].kafka),
            expected=self._expected,
            audit=self._config.audit is not None,
            schemas=self._config.compares_schemas(flow),
            findings=findings,
        )
        self._conflicts(flow, findings)

    def _conflicts(self, flow: FlowConfig, findings: Findings) -> None:
        """Compare the topics that exist with those of the flows before it."""
        flows, carried = self._config.flows, list[FlowTopics]()
        for one in (flow, *flows[: flows.index(flow)]):
            reached = self._reached[one.source].result()
            if reached is None or "include" not in one.topics.model_fields_set:
                continue  # what its mirror wants is not known
            carried.append(
                FlowTopics(
                    flow=one.flow,
                    names=carriage_of(one).names(reached.topics),
                    is_merged=Selection(include=one.topics.merged).matches,
                )
            )
        if not carried or carried[0].flow.name != flow.name:
            return
        for conflict in find_conflicts(carried)[0]:
            findings.add(
                "loop" if conflict.loop else "overlap",
                f"{conflict.cause}: {names(conflict.topics)}",
                conflict.remedy,
            )

    def _connect(
        self, flow: FlowConfig, config: HttpServer, findings: Findings
    ) -> None:
        self._connectors[flow.name].set_result(
            examine_connect(flow, config, findings)
        )

    def _jmx(
        self, flow: FlowConfig, config: JmxConfig, findings: Findings
    ) -> None:
        asked = [
            self._in_thread(partial(examine_jmx, flow, config, url, findings))
            for url in config.urls
        ]
        for one in asked:
            one.result()


def _name_internal(config: Config) -> Iterator[tuple[str, str]]:
    for flow in config.flows:
        # What keeps a name from being known is a finding about its flow.
        with suppress(ConfigError):
            for topic in to_mirror(flow).internal_topics():
                at_source = topic.side == "source"
                yield flow.source if at_source else flow.target, topic.name


def _count_partitions(topics: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: len(topic.partitions)
        for name, topic in topics.items()
        if not name.startswith("__")
    }
