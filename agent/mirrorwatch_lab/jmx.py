"""More ways to a mirror's figures than Jolokia, on the mirror itself."""

import secrets
from pathlib import Path
from typing import Literal

from mirrorwatch.maven import Artifact, cache_folder, fetch

from .link import LOOPBACK, Ports
from .process import read_manifest, write_private

__all__ = ["JmxDoor", "JmxDoors"]


PLAIN = """\
lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: ".*"
"""
"""The exporter's own names, in small letters as nearly everyone has them."""

_CLIENT = (
    ".+-total|.+-avg|.+-bytes|.+-count|.+-ratio|.+-age|.+-flight|.+-threads"
    "|.+-connectors|.+-tasks|.+-ago"
)
_TASK = (
    ".+-total|.+-count|.+-ms|.+-ratio|.+-avg|.+-failures|.+-requests"
    "|.+-timestamp|.+-logged|.+-errors|.+-retries|.+-skipped"
)

STRIMZI = f"""\
lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), topic=(.+), \
partition=(.+)><>(.+-total|.+-avg|.+-replica|.+-lag|.+-lead)
    name: kafka_$2_$6
    labels: {{clientId: "$3", topic: "$4", partition: "$5"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), topic=(.+)><>\
(.+-total|compression-rate|.+-avg)
    name: kafka_$2_$5
    labels: {{clientId: "$3", topic: "$4"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.+), node-id=(.+)><>\
(.+-total|.+-avg)
    name: kafka_$2_$5
    labels: {{clientId: "$3", nodeId: "$4"}}
  - pattern: kafka.(.+)<type=(.+)-metrics, client-id=(.*)><>({_CLIENT})
    name: kafka_$2_$4
    labels: {{clientId: "$3"}}
  - pattern: "kafka.connect<type=connector-task-metrics, connector=(.+), \
task=(.+)><>status: ([a-z-]+)"
    name: kafka_connect_connector_status
    value: 1
    labels: {{connector: "$1", task: "$2", status: "$3"}}
  - pattern: kafka.connect<type=(.+)-metrics, connector=(.+), task=(.+)><>\
({_TASK})
    name: kafka_connect_$1_$4
    labels: {{connector: "$2", task: "$3"}}
  - pattern: kafka.connect<type=connect-worker-metrics, connector=(.+)><>\
([a-z-]+)
    name: kafka_connect_worker_$2
    labels: {{connector: "$1"}}
  - pattern: kafka.connect<type=connect-worker-metrics><>([a-z-]+)
    name: kafka_connect_worker_$1
  - pattern: kafka.connect<type=connect-worker-rebalance-metrics><>([a-z-]+)
    name: kafka_connect_worker_rebalance_$1
  - pattern: kafka.connect.mirror<type=(.+), source=(.+), target=(.+), \
group=(.+), topic=(.+), partition=([0-9]+)><>([a-z-_]+)
    name: kafka_connect_mirror_$1_$7
    labels: {{source: "$2", target: "$3", group: "$4", topic: "$5", \
partition: "$6"}}
  - pattern: kafka.connect.mirror<type=(.+), source=(.+), target=(.+), \
topic=(.+), partition=([0-9]+)><>([a-z-_]+)
    name: kafka_connect_mirror_$1_$6
    labels: {{source: "$2", target: "$3", topic: "$4", partition: "$5"}}
"""
"""Exporter rules of Strimzi's example for MirrorMaker 2, and nothing more: no
rates and no highest values of the clients, no figures without a source."""


JmxDoor = Literal["prometheus", "reporter", "rmi", "rmi-password"]
"""A way to a mirror's figures: the Prometheus exporter, Strimzi's metrics
reporter, a plain JMX port, or one that asks for a password."""

Rules = Literal["plain", "strimzi"]
"""Under which names the Prometheus exporter gives the figures."""

_RULES = {"plain": PLAIN, "strimzi": STRIMZI}

EXPORTER = Artifact(
    group="io.prometheus.jmx",
    name="jmx_prometheus_javaagent",
    version="1.0.1",
    sha256="7d61f737fd661610ccc14aea79764faa1ea94a340cbc8f0029b3d2edea3d80c1",
)


REPORTER = "strimzi-reporter-0.3.0"
"""Jars of Strimzi's metrics reporter, which needs no JMX."""

_REPORTERS = (
    "org.apache.kafka.common.metrics.JmxReporter,"
    "io.strimzi.kafka.metrics.prometheus.ClientMetricsReporter"
)

_SCOPES = (
    "{target}.",
    "{target}.producer.",
    "{source}->{target}.",
    "{source}->{target}.source.consumer.",
)
"""Property prefixes of the clients that report: the worker, the producers, the
connectors, and the consumers that copy. Not the worker for the other
direction: it runs in the same process and has metrics of the same names, on
which the reporter fails (0.3.0). Beside the JMX exporter, which is in the same
registry, it fails as well."""


class JmxDoors:
    """Metric endpoints of a mirror, beside Jolokia.

    Parameters
    ----------
    doors
        Which ways are wanted.
    ports
        Gives free ports.
    """

    def __init__(self, doors: tuple[JmxDoor, ...], ports: Ports) -> None:
        self._doors = doors
        self._prometheus = ports.take() if "prometheus" in doors else None
        self._reporter = ports.take() if "reporter" in doors else None
        rmi = any(door.startswith("rmi") for door in doors)
        self._rmi = ports.take() if rmi else None
        self._folder = Path()
        self.user = "mirrorwatch"
        self.password = secrets.token_hex(12)

    @property
    def prometheus_url(self) -> str:
        """Address of the Prometheus exporter."""
        return f"http://{LOOPBACK}:{self._prometheus}/metrics"

    @property
    def reporter_url(self) -> str:
        """Address of Strimzi's metrics reporter."""
        return f"http://{LOOPBACK}:{self._reporter}/metrics"

    @property
    def rmi_url(self) -> str:
        """Address of the JMX port."""
        return f"service:jmx:rmi:///jndi/rmi://{LOOPBACK}:{self._rmi}/jmxrmi"

    def jars(self) -> tuple[Path, ...]:
        """Return what the mirror's class path needs in addition.

        Raises
        ------
        LabError
            Raised if it is not to be had.
        """
        if self._reporter is None:
            return ()
        return tuple(fetch(read_manifest(REPORTER), cache_folder() / "jars"))

    def properties(self, source: str, target: str) -> dict[str, str]:
        """Return what a dedicated MirrorMaker 2 must be told.

        Parameters
        ----------
        source
            Alias of the cluster that it copies from.
        target
            Alias of the other.
        """
        if self._reporter is None:
            return {}
        listener = f"http://{LOOPBACK}:{self._reporter}"
        found = {}
        for scope in _SCOPES:
            prefix = scope.format(source=source, target=target)
            found[f"{prefix}metric.reporters"] = _REPORTERS
            found[f"{prefix}prometheus.metrics.reporter.listener"] = listener
        return found

    def options(self, folder: Path) -> list[str]:
        """Write what the doors need, and return the options for Java.

        Raises
        ------
        LabError
            Raised if the exporter is not to be had.
        """
        self._folder = folder
        options: list[str] = []
        if self._prometheus is not None:
            (jar,) = fetch([EXPORTER], cache_folder() / "jars")
            self.export("plain")
            where = f"{LOOPBACK}:{self._prometheus}:{self._rules}"
            options.append(f"-javaagent:{jar}={where}")
        if self._rmi is not None:
            options += self._rmi_options()
        return options

    def export(self, rules: Rules) -> None:
        """Let the Prometheus exporter use other names; it needs no restart."""
        write_private(self._rules, _RULES[rules])

    @property
    def _rules(self) -> Path:
        return self._folder / "exporter.yaml"

    def _rmi_options(self) -> list[str]:
        remote = "-Dcom.sun.management.jmxremote"
        options = [
            f"{remote}.host={LOOPBACK}",
            f"{remote}.port={self._rmi}",
            # One port for both halves of the protocol.
            f"{remote}.rmi.port={self._rmi}",
            f"{remote}.ssl=false",
            f"-Djava.rmi.server.hostname={LOOPBACK}",
        ]
        if "rmi-password" not in self._doors:
            return [*options, f"{remote}.authenticate=false"]
        passwords = self._folder / "jmxremote.password"
        access = self._folder / "jmxremote.access"
        write_private(passwords, f"{self.user} {self.password}\n")
        write_private(access, f"{self.user} readonly\n")
        return [
            *options,
            f"{remote}.authenticate=true",
            f"{remote}.password.file={passwords}",
            f"{remote}.access.file={access}",
        ]
