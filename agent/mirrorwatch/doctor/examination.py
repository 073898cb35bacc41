"""Finds out why an agent of this configuration could not do its work.

All parts are asked at once, each in a thread of its own, with one deadline:
a server that does not answer is one finding, and delays no other.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from json import dumps
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from confluent_kafka import TopicPartition as Requested
from confluent_kafka.admin import NewTopic, OffsetSpec
from structlog.typing import FilteringBoundLogger

from ..clock import utc_now
from ..config import Config, FlowConfig, JmxConfig, ReceiverConfig
from ..domain.acls import ACL_WORDS, Operation, Side
from ..domain.doctor import (
    DoctorFinding,
    FindingSeverity,
    MirrorSetup,
    SetupConnector,
    find_traps,
)
from ..domain.foreign import load_json
from ..domain.mirror_records import Companion, Connector
from ..domain.report import counted
from ..domain.topics import ReplicatedTopics
from ..exceptions import (
    InternalError,
    MirrorwatchError,
    SinkRejectedError,
    SourceDeniedError,
    SourceError,
)
from ..isolation import Isolation
from ..kafka.admin import (
    Cluster,
    Topic,
    describe_topics,
)
from ..kafka.errors import TIMEOUT
from ..kafka.reader import read_all
from ..kafka.topic_configs import read_configs
from ..ports import InternalTopic
from ..sources.connect import ConnectApi
from ..sources.registry import Registry
from ..state.queue import Batch
from ..wiring.context import (
    rights_of,
    to_address,
    to_mirror,
    to_mirror_jmx,
)
from ..wiring.flows import to_jmx_reader
from .connection import LayerError, TlsSettings, check_broker, check_tcp

__all__ = ["LONGEST", "Diagnosis", "examine"]

LONGEST = timedelta(seconds=9.5)
"""When the findings are there, whatever does not answer: somebody waits."""

PATIENCE = timedelta(seconds=3)
"""How long a server may take that is asked by HTTP."""

AHEAD = timedelta(seconds=5)
"""A record from so far in the future is of a clock that is wrong."""

ADVERTISED = 30
"""Brokers of a cluster that are connected to."""

COMPARED = 1000
"""Topics whose sizes are compared: more take longer than there is time."""

CLUSTER = "cluster "
"""What the subjects of clusters begin with."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What was found."""

    findings: tuple[DoctorFinding, ...]
    """Errors first."""

    checked: tuple[str, ...]
    """What was looked at."""

    seconds: float
    """How long it took."""

    @property
    def failed(self) -> bool:
        """Whether any finding is an error."""
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
        Where a crash of a part is logged.
    progress
        Gets a line that says what is still looked at.
    longest
        When to stop waiting.
    clusters_only
        Whether to look at the clusters only.
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


@dataclass(frozen=True, slots=True)
class _Reached:
    """A cluster that answers."""

    cluster: Cluster
    topics: Mapping[str, int]
    """Number of partitions by topic, as far as they are shown."""

    brokers: int
    id: str


class _Findings:
    """Findings about one subject."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.all: list[DoctorFinding] = []

    def add(
        self,
        check: str,
        cause: str,
        remedy: str = "",
        *,
        severity: FindingSeverity = FindingSeverity.ERROR,
        reference: str = "",
    ) -> None:
        self.all.append(
            DoctorFinding(
                severity=severity,
                subject=self.subject,
                check=check,
                cause=cause,
                remedy=remedy,
                reference=reference,
            )
        )

    def add_error(
        self,
        check: str,
        error: Exception,
        severity: FindingSeverity = FindingSeverity.ERROR,
    ) -> None:
        """Take the words of an error, which end in the remedy."""
        cause, _, remedy = str(error).rpartition(". ")
        self.add(
            check, cause or remedy, remedy if cause else "", severity=severity
        )


class _Examination:
    """All parts of one run."""

    def __init__(self, config: Config, isolation: Isolation) -> None:
        self._config = config
        self._isolation = isolation
        self._reached: dict[str, Future[_Reached | None]] = {
            alias: Future() for alias in config.clusters
        }
        self._connectors: dict[
            str, Future[Mapping[str, Mapping[str, str]] | None]
        ] = {flow.name: Future() for flow in config.flows}
        self._findings: list[_Findings] = []

    def start(self, *, clusters_only: bool) -> dict[str, "Future[None]"]:
        """Start to look; return what is under way, by part."""
        parts = dict(self._parts())
        if clusters_only:
            parts = {s: w for s, w in parts.items() if s.startswith(CLUSTER)}
        self._findings = [_Findings(subject) for subject in parts]
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
        self, findings: _Findings, work: Callable[[_Findings], None]
    ) -> None:
        subject = findings.subject
        try:
            self._isolation.run(subject, lambda: work(findings))
        except InternalError as e:
            findings.add_error("internal", e)
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
    ) -> Iterator[tuple[str, Callable[[_Findings], None]]]:
        config = self._config
        for alias, cluster in config.clusters.items():
            yield f"cluster {alias}", partial(self._cluster, alias)
            if cluster.schema_registry is not None:
                yield (
                    f"schema registry {alias}",
                    partial(self._registry, alias),
                )
        for flow in config.flows:
            if flow.mirror.connect is not None:
                yield (
                    f"Connect {flow.name}",
                    partial(self._connect, flow),
                )
            else:
                self._connectors[flow.name].set_result(None)
            yield f"flow {flow.name}", partial(self._flow, flow)
            if flow.mirror.jmx is not None:
                yield (
                    f"JMX {flow.name}",
                    partial(self._jmx, flow),
                )
        if config.sinks.influxdb is not None:
            yield "InfluxDB", self._influxdb
        if config.sinks.notify is not None:
            for receiver in config.sinks.notify.receivers:
                yield (
                    f"receiver {receiver.name}",
                    partial(self._receiver, receiver),
                )

    # Clusters

    def _cluster(self, alias: str, findings: _Findings) -> None:
        kafka = self._config.clusters[alias].kafka
        servers = sorted(kafka.brokers)
        if not self._connect_first(alias, servers, findings):
            return
        cluster = Cluster(alias, dict(kafka))
        try:
            listed = cluster.metadata()
        except SourceDeniedError as e:
            findings.add(
                "sasl",
                str(e).rpartition(". ")[0],
                "Check sasl.username, sasl.password and sasl.mechanism, or "
                f"the client certificate, under clusters.{alias}.kafka, and "
                "that the user exists there",
            )
            return
        except SourceError as e:
            findings.add_error("metadata", e)
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
            _Reached(
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
            alias, sorted(others)[:ADVERTISED], len(others), findings
        )

    def _connect_first(
        self,
        alias: str,
        servers: Sequence[tuple[str, int]],
        findings: _Findings,
    ) -> bool:
        """Connect to the bootstrap servers; return whether one answers."""
        kafka = self._config.clusters[alias].kafka
        asked = {
            (host, port): self._in_thread(
                partial(check_broker, alias, host.strip("[]"), port, kafka)
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
        findings: _Findings,
    ) -> None:
        """Connect to the brokers that the cluster itself names."""
        asked = {
            f"{host}:{port}": self._in_thread(
                partial(
                    check_tcp, host, port, None, key="advertised.listeners"
                )
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
            findings.add(
                "advertised",
                f"{alias} answers, but {len(failed)} of its "
                f"{counted(number, 'other broker')} cannot be reached at "
                f"the address that it advertises: {failed[0][1]}",
                "Correct advertised.listeners of the brokers, or open the "
                "network to these addresses",
            )

    # Flows

    def _flow(self, flow: FlowConfig, findings: _Findings) -> None:
        source = self._reached[flow.source].result()
        target = self._reached[flow.target].result()
        sides = {"source": source, "target": target}
        if source and target and source.id == target.id:
            findings.add(
                "cluster-id",
                f"{flow.source} and {flow.target} are one cluster "
                f"({source.id})",
                "Correct bootstrap.servers of one of them",
            )
            return
        present, absent = _ask_internal(flow, sides, findings)
        if source is not None and flow.canary.enabled:
            self._canary_source(flow, source, findings)
        connectors = self._read_connectors(flow, target, present, findings)
        setup = self._setup(flow, source, target, present, connectors)
        traps = find_traps(setup)
        if (
            target is not None
            and flow.canary.enabled
            and not any(t.check == "canary-filter" for t in traps)
        ):
            self._canary_target(flow, target, findings)
        findings.all += traps
        located = any(t.check == "syncs-location" for t in traps)
        _report_absent(
            [one for one in absent if not (located and one.kind == "syncs")],
            sides,
            findings,
        )
        if source is not None:
            self._visible(flow, source, findings)
        for reached in filter(None, (source, target)):
            self._clock(flow, reached, present, findings)

    def _canary_source(
        self, flow: FlowConfig, reached: _Reached, findings: _Findings
    ) -> None:
        name = flow.canary.topic
        wanted = _wanted(flow, "source", name)
        found, denied = _ask_rights(reached.cluster, name, wanted, findings)
        if found is not None or denied:
            return
        alias = reached.cluster.alias
        if not flow.canary.create:
            findings.add(
                "canary",
                f"the canary topic {name} does not exist at {alias}",
                f"Create it, or set canary.create of {flow.name}",
            )
            return
        try:
            _try_to_create(reached.cluster, name)
        except SourceDeniedError:
            findings.add(
                "rights",
                f"mirrorwatch lacks CREATE on topic {name} at {alias}",
                "Grant it, or create the topic",
            )
        except SourceError as e:
            findings.add_error("canary", e)

    def _canary_target(
        self, flow: FlowConfig, reached: _Reached, findings: _Findings
    ) -> None:
        name = flow.topic_naming.remote(flow.canary.topic)
        wanted = _wanted(flow, "target", name)
        # Where it is not there yet, the mirror makes it at its next refresh.
        _ask_rights(reached.cluster, name, wanted, findings)

    def _visible(
        self, flow: FlowConfig, reached: _Reached, findings: _Findings
    ) -> None:
        carried = _carriage(flow)
        if not any(
            carried.carries(t) for t in reached.topics if not _own(flow, t)
        ):
            findings.add(
                "rights",
                f"mirrorwatch sees no topic of {flow.name} at "
                f"{flow.source}: no lag, no skips, no parity",
                "Grant DESCRIBE on its topics (READ includes it), or check "
                "topics.include",
                severity=FindingSeverity.WARNING,
            )

    def _clock(
        self,
        flow: FlowConfig,
        reached: _Reached,
        present: Mapping[tuple[str, str], str],
        findings: _Findings,
    ) -> None:
        """Look for a heartbeat from the future."""
        cluster = reached.cluster
        side = "source" if cluster.alias == flow.source else "target"
        beats = ("beats", "heartbeats", "carried")
        for (place, name), kind in present.items():
            if place != side or kind not in beats:
                continue
            with suppress(SourceError):  # brokers before 3.0 do not say
                newest = _newest_timestamp(cluster, name)
                ahead = newest / 1000 - utc_now().timestamp()
                if ahead > AHEAD.total_seconds():
                    findings.add(
                        "clocks",
                        f"a heartbeat in {name} at {cluster.alias} is "
                        f"{ahead:.0f} s in the future",
                        "Synchronise the clocks of MirrorMaker and of this "
                        "machine (NTP): latencies are wrong otherwise",
                        severity=FindingSeverity.WARNING,
                    )
                    return

    def _read_connectors(
        self,
        flow: FlowConfig,
        target: _Reached | None,
        present: Mapping[tuple[str, str], str],
        findings: _Findings,
    ) -> tuple[SetupConnector, ...]:
        """Return the connectors of a flow, by REST or by the configs topic."""
        raw = self._connectors[flow.name].result()
        if raw is None:
            topic = next(
                (n for (_, n), k in present.items() if k == "configs"), None
            )
            if target is None or topic is None:
                return ()
            raw = self._read_configs(flow, target, topic)
        found = tuple(_to_connectors(flow, raw))
        if not any(isinstance(c.fact, Connector) for c in found):
            pairs = sorted(
                {
                    f"{p['source.cluster.alias']}->"
                    f"{p.get('target.cluster.alias', '?')}"
                    for p in raw.values()
                    if p.get("source.cluster.alias")
                }
            )
            mirror = flow.mirror
            findings.add(
                "connectors",
                "no MirrorSourceConnector replicates "
                f"{mirror.source_alias}->{mirror.target_alias}"
                + (f"; there are {', '.join(pairs[:5])}" if pairs else ""),
                "Set mirror.source_alias and mirror.target_alias to the "
                "aliases of MirrorMaker, or start its connector"
                if pairs
                else "Start MirrorMaker, or correct mirror.topics.configs",
            )
        return found

    def _read_configs(
        self, flow: FlowConfig, target: _Reached, topic: str
    ) -> Mapping[str, Mapping[str, str]]:
        properties = dict(self._config.clusters[flow.target].kafka)
        found: dict[str, Mapping[str, str]] = {}
        for record in read_all(target.cluster, properties, topic):
            key, value = record.key() or b"", record.value()
            kind, _, name = bytes(key).decode(errors="replace").partition("-")
            if kind != "connector":
                continue
            found.pop(name, None)
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                if value is not None:
                    found[name] = _to_texts(load_json(value)["properties"])
        return found

    def _setup(
        self,
        flow: FlowConfig,
        source: _Reached | None,
        target: _Reached | None,
        present: Mapping[tuple[str, str], str],
        connectors: tuple[SetupConnector, ...],
    ) -> MirrorSetup:
        mirror = flow.mirror
        sides = {"source": source, "target": target}
        return MirrorSetup(
            flow=flow.name,
            source=flow.source,
            target=flow.target,
            topics=_carriage(flow),
            policy=flow.naming.policy,
            separator=mirror.separator,
            syncs_location=mirror.syncs_location,
            canary=flow.canary.topic if flow.canary.enabled else None,
            counts_errors=mirror.jmx is not None,
            connectors=connectors,
            source_topics=frozenset(source.topics if source else ()),
            target_topics=frozenset(target.topics if target else ()),
            brokers={s: r.brokers for s, r in sides.items() if r is not None},
            replication={
                (side, name): factor
                for side, reached in sides.items()
                if reached is not None
                for name, factor in _replication(
                    reached.cluster, [n for s, n in present if s == side]
                ).items()
            },
            largest=_largest(flow, source, target)
            if source and target
            else {},
        )

    # Servers

    def _registry(self, alias: str, findings: _Findings) -> None:
        config = self._config.clusters[alias].schema_registry
        assert config is not None  # noqa: S101 - else there is no such part
        with closing(Registry(alias, to_address(config))) as registry:
            try:
                # Any id: what counts is that a registry answers.
                registry.schema(1)
            except SourceError as e:
                findings.add_error("registry", e)

    def _connect(self, flow: FlowConfig, findings: _Findings) -> None:
        config = flow.mirror.connect
        assert config is not None  # noqa: S101 - else there is no such part
        api = ConnectApi(flow.name, flow.target, to_address(config))
        with closing(api):
            try:
                found = api.connectors()
            except SourceError as e:
                findings.add_error("connect", e)
                return
        with suppress(KeyError, TypeError, AttributeError):
            self._connectors[flow.name].set_result(
                {
                    name: _to_texts(said["info"]["config"])
                    for name, said in found.items()
                }
            )

    def _jmx(self, flow: FlowConfig, findings: _Findings) -> None:
        jmx = flow.mirror.jmx
        assert jmx is not None  # noqa: S101 - else there is no such part
        asked = [
            self._in_thread(partial(_check_process, flow, jmx, url, findings))
            for url in jmx.urls
        ]
        for one in asked:
            one.result()

    def _influxdb(self, findings: _Findings) -> None:
        # Its library costs 20 MB of memory and half a second.
        from ..sinks.influxdb import InfluxDbClient  # noqa: PLC0415
        from ..wiring.influxdb import to_access  # noqa: PLC0415

        config = self._config.sinks.influxdb
        assert config is not None  # noqa: S101 - else there is no such part
        with closing(InfluxDbClient(to_access(config))) as client:
            try:
                # No point, but all that a write needs: login and bucket.
                client.write(Batch(b"", 0), PATIENCE)
            except SinkRejectedError:
                return  # it was let in: there is nothing to write
            except MirrorwatchError as e:
                text = str(e)
                advice = re.search(r" \((.+?)\)", text)
                findings.add(
                    "influxdb",
                    text.replace(advice[0], "", 1) if advice else text,
                    (advice[1][:1].upper() + advice[1][1:])
                    if advice
                    else "Check url of sinks.influxdb, and that it runs",
                )

    def _receiver(self, receiver: ReceiverConfig, findings: _Findings) -> None:
        parts = urlsplit(receiver.url.get_secret_value())
        secure = parts.scheme == "https"
        host = parts.hostname or ""
        tls = TlsSettings(key="ca", ca=receiver.ca) if secure else None
        _check_address(
            host,
            parts.port or (443 if secure else 80),
            tls,
            findings,
            f"url of the receiver {receiver.name}",
            hidden=True,
        )


_RMI = re.compile(r"rmi://(?P<host>[^:/]+):(?P<port>\d+)/")
"""Where a JMX port is: ``service:jmx:rmi:///jndi/rmi://host:port/jmxrmi``."""


def _count_partitions(topics: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of partitions of all topics but Kafka's own."""
    return {
        name: len(topic.partitions)
        for name, topic in topics.items()
        if not name.startswith("__")
    }


def _check_address(
    host: str,
    port: int,
    tls: TlsSettings | None,
    findings: _Findings,
    key: str,
    *,
    hidden: bool = False,
) -> None:
    try:
        check_tcp(host, port, tls, key=key)
    except LayerError as e:
        cause, remedy = str(e), e.remedy
        if hidden:
            # Who knows the address of a web hook may post there.
            cause = cause.replace(f"{host}:{port}", "its address")
            cause = cause.replace(host, "its host")
        findings.add(e.layer, cause, remedy)


def _wanted(flow: FlowConfig, side: Side, topic: str) -> list[Operation]:
    """Return the operations on a topic, without its creation."""
    return [
        right.operation
        for right in rights_of(flow)
        if (right.side, right.kind, right.topic) == (side, "topic", topic)
        and right.operation != "CREATE"
    ]


def _ask_rights(
    cluster: Cluster,
    name: str,
    operations: Sequence[str],
    findings: _Findings,
    severity: FindingSeverity = FindingSeverity.ERROR,
) -> tuple[Topic | None, bool]:
    """Describe a topic; return it, and whether a right on it is missing."""
    lacking: Sequence[str]
    try:
        found = cluster.describe_topic(name, right=" and ".join(operations))
        lacking = found.lacks(*operations) if found is not None else ()
    except SourceDeniedError:
        # It is not even described; DESCRIBE_CONFIGS is a right of its own.
        found = None
        lacking = [
            operation
            for operation in operations
            if operation != "DESCRIBE_CONFIGS" or _lacks_configs(cluster, name)
        ]
    if lacking:
        rights = " and ".join(lacking)
        flags = " ".join(f"--operation {ACL_WORDS[o]}" for o in lacking)
        findings.add(
            "rights",
            f"mirrorwatch lacks {rights} on topic {name} at {cluster.alias}",
            f"Grant it: kafka-acls.sh --add --topic {name} {flags} "
            "--allow-principal User:NAME (mirrorwatch acls prints all rights)",
            severity=severity,
            reference="docs/security.md",
        )
    return found, bool(lacking)


def _lacks_configs(cluster: Cluster, name: str) -> bool:
    try:
        cluster.max_message_bytes(name)
    except SourceDeniedError:
        return True
    return False


def _try_to_create(cluster: Cluster, name: str) -> None:
    """Ask whether a topic may be created; nothing is."""
    new = NewTopic(name, 1, replication_factor=-1)
    (future,) = cluster.call(
        lambda admin: admin.create_topics(
            [new], request_timeout=TIMEOUT, validate_only=True
        ),
        f"CREATE on topic {name}",
    ).values()
    cluster.wait(future, f"CREATE on topic {name}")


def _newest_timestamp(cluster: Cluster, topic: str) -> int:
    asked = {Requested(topic, 0): OffsetSpec.max_timestamp()}
    (future,) = cluster.call(
        lambda admin: admin.list_offsets(asked, request_timeout=TIMEOUT),
        f"DESCRIBE on topic {topic}",
    ).values()
    return int(cluster.wait(future, f"DESCRIBE on topic {topic}").timestamp)


def _replication(cluster: Cluster, names: Sequence[str]) -> dict[str, int]:
    try:
        found = describe_topics(cluster, names)
    except SourceError:
        return {}
    return {name: topic.replication_factor for name, topic in found.items()}


def _largest(
    flow: FlowConfig, source: _Reached, target: _Reached
) -> dict[str, tuple[int, int]]:
    names = _carriage(flow).names(source.topics)
    both = {t: r for t, r in sorted(names.items()) if r in target.topics}
    both = dict(list(both.items())[:COMPARED])
    try:
        here, _ = read_configs(source.cluster, both)
        there, _ = read_configs(target.cluster, both.values())
    except SourceError:
        return {}
    found = {}
    for topic, remote in both.items():
        sizes = [
            configs[name].max_message_bytes
            for configs, name in ((here, topic), (there, remote))
            if name in configs
        ]
        if len(sizes) == 2 and None not in sizes:
            found[topic] = (int(sizes[0] or 0), int(sizes[1] or 0))
    return found


def _carriage(flow: FlowConfig) -> ReplicatedTopics:
    return ReplicatedTopics(
        selection=flow.selection,
        naming=flow.topic_naming,
        target_alias=flow.mirror.target_alias,
    )


def _own(flow: FlowConfig, topic: str) -> bool:
    return topic == flow.canary.topic or topic.endswith("heartbeats")


def _ask_internal(
    flow: FlowConfig,
    sides: Mapping[str, _Reached | None],
    findings: _Findings,
) -> tuple[dict[tuple[str, str], str], list[InternalTopic]]:
    """Return the kinds of the internal topics that may be read, by side and
    name, and those that are not there.
    """
    present: dict[tuple[str, str], str] = {}
    absent: list[InternalTopic] = []
    for one in to_mirror(flow).internal_topics():
        reached = sides[one.side]
        if reached is None:
            continue
        found, denied = _ask_rights(
            reached.cluster,
            one.name,
            _wanted(flow, one.side, one.name),
            findings,
            FindingSeverity.WARNING if one.optional else FindingSeverity.ERROR,
        )
        if found is not None and not denied:
            present[one.side, one.name] = one.kind
        elif not denied and not one.optional:
            absent.append(one)
    return present, absent


def _report_absent(
    absent: Sequence[InternalTopic],
    sides: Mapping[str, _Reached | None],
    findings: _Findings,
) -> None:
    for side, reached in sides.items():
        missing = [one for one in absent if one.side == side]
        if reached is not None and missing:
            names = ", ".join(one.name for one in missing)
            findings.add(
                "internal-topics",
                f"{names} {'does' if len(missing) == 1 else 'do'} not exist "
                f"at {reached.cluster.alias}",
                _find_likely(missing, reached.topics),
            )


def _find_likely(
    absent: Sequence[InternalTopic],
    topics: Mapping[str, int],
) -> str:
    """Return what to do about internal topics that are not there."""
    kinds = {one.kind for one in absent}
    side = absent[0].side
    if kinds == {"syncs"}:
        other = "target" if side == "source" else "source"
        likely = sorted(t for t in topics if "offset-syncs" in t)
        if likely:
            return f"Set mirror.topics.syncs; there is {', '.join(likely[:3])}"
        return (
            "Check that MirrorMaker runs and mirror.target_alias; with "
            f"offset-syncs.topic.location={other}, set mirror.syncs_location "
            f"to {other}"
        )
    likely = sorted(
        t
        for t in topics
        if re.search(r"(offsets?|configs?)(\b|[._-]|$)", t)
        and "offset-syncs" not in t
    )
    there = f"; there are {', '.join(likely[:4])}" if likely else ""
    return (
        "Check that MirrorMaker runs, and mirror.mode, mirror.source_alias "
        f"and mirror.topics{there}"
    )


def _to_texts(properties: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(name): str(value)
        for name, value in properties.items()
        if value is not None
    }


def _to_connectors(
    flow: FlowConfig, raw: Mapping[str, Mapping[str, str]]
) -> Iterator[SetupConnector]:
    mirror, now = to_mirror(flow), utc_now()
    for name, properties in raw.items():
        value = dumps({"properties": dict(properties)}).encode()
        try:
            fact = mirror.decode(
                "configs", f"connector-{name}".encode(), value, now
            )
        except ValueError:
            continue
        if isinstance(fact, Connector) or (
            isinstance(fact, Companion)
            and fact.role in {"checkpoints", "heartbeats"}
        ):
            yield SetupConnector(name=name, fact=fact, properties=properties)


def _read_jmx(flow: FlowConfig, jmx: JmxConfig, url: str) -> Sequence[Any]:
    reader = to_jmx_reader(jmx, url, flow.target, PATIENCE)
    with closing(reader):
        return reader.read(to_mirror_jmx(flow).wanted)


def _check_process(
    flow: FlowConfig, jmx: JmxConfig, url: str, findings: _Findings
) -> None:
    if jmx.format == "rmi":
        place = _RMI.search(url)
        if place is not None:
            _check_address(
                place["host"],
                int(place["port"]),
                None,
                findings,
                "mirror.jmx.urls",
            )
        return
    try:
        found = _read_jmx(flow, jmx, url)
    except SourceError as e:
        causes = (httpx.ConnectError, httpx.TimeoutException)
        other = url.rstrip("/") if url.endswith("/") else f"{url}/"
        if jmx.format == "jolokia" and not isinstance(e.__cause__, causes):
            with suppress(SourceError):
                _read_jmx(flow, jmx, other)
                slash = "without" if url.endswith("/") else "with"
                findings.add(
                    "jmx",
                    f"{url} is not answered, {other} is",
                    f"Write it {slash} the slash at the end in "
                    "mirror.jmx.urls",
                )
                return
        findings.add_error("jmx", e)
        return
    if not found:
        findings.add(
            "jmx",
            f"{url} answers, but has no MBean of MirrorMaker",
            "Check that this is the address of MirrorMaker's process, "
            "and the exporter's rules",
            severity=FindingSeverity.WARNING,
        )
