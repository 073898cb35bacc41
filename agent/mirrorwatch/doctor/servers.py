"""Requests of doctor to the servers other than Kafka; nothing is written or
sent.
"""

import re
import shlex
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx

from ..config import (
    FlowConfig,
    HttpServer,
    InfluxDBConfig,
    JmxConfig,
    ReceiverConfig,
    SchemaRegistryConfig,
)
from ..domain.doctor import FindingSeverity
from ..exceptions import (
    ConfigError,
    LayerError,
    MirrorwatchError,
    SinkError,
    SinkRejectedError,
    SourceError,
)
from ..sinks.apprise import AppriseReceiver
from ..sources.connect import ConnectApi, to_kafka_version
from ..sources.registry import Registry
from ..state.queue import Batch
from ..wiring.context import to_address, to_mirror_jmx
from ..wiring.jmx import to_jmx_reader
from .connection import connect, tls_context
from .findings import Connectors, Findings, to_texts

__all__ = [
    "examine_connect",
    "examine_influxdb",
    "examine_jmx",
    "examine_receiver",
    "examine_registry",
]

PATIENCE = timedelta(seconds=3)
"""Timeout of a request by HTTP."""

_RMI = re.compile(r"rmi://(?P<host>[^:/]+):(?P<port>\d+)/")
"""Host and port of a JMX address:
``service:jmx:rmi:///jndi/rmi://host:port/jmxrmi``."""


def examine_registry(
    alias: str,
    config: SchemaRegistryConfig,
    findings: Findings,
    *,
    compared: bool = False,
) -> None:
    """Ask a schema registry for a schema.

    Parameters
    ----------
    alias
        Our alias of the cluster whose schemas it has.
    config
        Address and login of the registry.
    findings
        Findings to add to.
    compared
        A flow compares its schemas: then its subjects are listed, which it may
        refuse although it returns schemas.
    """
    with closing(Registry(alias, to_address(config))) as registry:
        try:
            # Any id: what counts is that a registry answers.
            registry.schema(1)
            if compared:
                registry.subjects()
        except SourceError as e:
            findings.add_error("registry", e)


def examine_connect(
    flow: FlowConfig, config: HttpServer, findings: Findings
) -> Connectors | None:
    """Return the connectors; `None` if nobody tells."""
    api = ConnectApi(flow.name, flow.target, to_address(config))
    with closing(api):
        try:
            found = api.connectors()
        except SourceError as e:
            findings.add_error("connect", e)
            return None
        version = to_kafka_version(api.version())
    with suppress(KeyError, TypeError, AttributeError):
        properties = {
            name: to_texts(said["info"]["config"])
            for name, said in found.items()
        }
        return Connectors(properties, version)
    return None


def examine_influxdb(config: InfluxDBConfig, findings: Findings) -> None:
    """Write nothing to InfluxDB, with all that a write needs."""
    # Its library costs 20 MB of memory and half a second.
    from ..sinks.influxdb import InfluxDbOutlet  # noqa: PLC0415
    from ..wiring.influxdb import to_access  # noqa: PLC0415

    with closing(InfluxDbOutlet(to_access(config))) as outlet:
        try:
            # No point, but all that a write needs: login and bucket.
            outlet.send(Batch(b"", 0), PATIENCE)
        except SinkRejectedError:
            pass  # it was let in: there is nothing to write
        except MirrorwatchError as e:
            _add_sink_error("influxdb", e, findings)
            return
        if config.bucket is None:
            return
        # By default 2.x maps a bucket `database/policy` by its two parts.
        database, _, policy = config.bucket.partition("/")
        with suppress(SinkError):
            if not outlet.has_mapping(database, PATIENCE):
                findings.add(
                    "mapping",
                    f"InfluxQL has no database {database!r} for the bucket "
                    f"{config.bucket!r}: Grafana's and Chronograf's "
                    "dashboards and Kapacitor find no data",
                    f"Run: {_mapping_command(config, database, policy)}",
                    severity=FindingSeverity.WARNING,
                )


def _mapping_command(
    config: InfluxDBConfig, database: str, policy: str
) -> str:
    org, bucket = shlex.quote(config.org or ""), config.bucket or ""
    listed = (
        f"influx bucket list --org {org} --name {shlex.quote(bucket)} "
        "--hide-headers | cut -f 1"
    )
    return (
        f"influx v1 dbrp create --org {org} --db {shlex.quote(database)} "
        f"--rp {shlex.quote(policy or 'autogen')} --default "
        f'--bucket-id "$({listed})"'
    )


def _add_sink_error(
    sink: str, error: MirrorwatchError, findings: Findings
) -> None:
    text = str(error)
    advice = re.search(r" \((.+?)\)", text)
    findings.add(
        sink,
        text.replace(advice[0], "", 1) if advice else text,
        (advice[1][:1].upper() + advice[1][1:])
        if advice
        else f"Check url of sinks.{sink}, and that it runs",
    )


def examine_receiver(receiver: ReceiverConfig, findings: Findings) -> None:
    """Connect to a web hook; nothing is sent.

    Notes
    -----
    What stands for the host in Apprise's URL of a service is often a token:
    nobody is asked for its address, only Apprise whether it knows the URL.
    """
    if receiver.kind == "apprise":
        try:
            AppriseReceiver(
                receiver.name, url=receiver.url.get_secret_value()
            ).close()
        except ConfigError as e:
            findings.add_error("apprise", e)
        return
    parts = urlsplit(receiver.url.get_secret_value())
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 80)
    key = f"url and ca of the receiver {receiver.name}"
    try:
        context = tls_context(key, receiver.ca) if secure else None
        connect(host, port, context, key=key)
    except LayerError as e:
        # Who knows the address of a web hook may post there.
        cause = str(e).replace(f"{host}:{port}", "its address")
        findings.add(e.layer, cause.replace(host, "its host"), e.remedy)


def _read_jmx(flow: FlowConfig, jmx: JmxConfig, url: str) -> Sequence[Any]:
    reader = to_jmx_reader(jmx, url, flow.target, PATIENCE)
    with closing(reader):
        return reader.read(to_mirror_jmx(flow).wanted)


def examine_jmx(
    flow: FlowConfig, jmx: JmxConfig, url: str, findings: Findings
) -> None:
    """Ask one process of MirrorMaker for its metrics."""
    if jmx.format == "rmi":
        place = _RMI.search(url)
        if place is not None:
            host, port = place["host"], int(place["port"])
            connect(host, port, None, key="mirror.jmx.urls")
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
        findings.add_error("jmx", e, key="mirror.jmx.urls")
        return
    if not found:
        findings.add(
            "jmx",
            f"{url} answers, but has no MBean of MirrorMaker",
            "Check that this is the address of MirrorMaker's process, "
            "and the exporter's rules",
            severity=FindingSeverity.WARNING,
        )
