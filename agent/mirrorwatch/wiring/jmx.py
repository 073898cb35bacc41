"""Makes what reads the JMX metrics of the flows' mirrors."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta

from ..config.mirror import JmxConfig
from ..domain.bottleneck.model import ErrorCounters
from ..secrets import hide_secrets
from ..sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
)
from ..sources.jmx.rmi import RmiReader
from ..sources.jmx.source import JmxReading, JmxSource, JmxWorker
from ..state.documents import DocumentStore
from ..threads import Latest
from .context import FlowParts, WiredParts, WiringContext, to_mirror_jmx

__all__ = ["to_jmx_reader", "wire_jmx"]


_SHARE = 0.8
"""Of the tick, for one answer: the next tick has it, or knows why not."""

_LEAST, _MOST = timedelta(seconds=5), timedelta(seconds=10)
"""A shorter one would not outlast a pause of Java's garbage collector, or an
exporter with many partitions on a busy machine; a longer one would not make
an answer likelier."""


def wire_jmx(flows: Iterable[FlowParts], around: WiringContext) -> WiredParts:
    """Wire what reads the mirrors' JMX metrics, each process once.

    Raises
    ------
    ConfigError
        Raised, with the remedy, if a way to read them is not to be had here.
    StateError
        Raised if the state file cannot be used.
    """
    readings: dict[str, Latest[JmxReading]] = {}
    shown: dict[str, str] = {}
    workers: dict[str, JmxWorker] = {}
    sources = []
    for parts in flows:
        flow = parts.config
        jmx = flow.mirror.jmx
        if jmx is None:
            continue
        mirror = to_mirror_jmx(flow)
        for url in jmx.urls:
            # Flows may share a mirror.
            if url not in workers:
                address = _to_address(jmx, url, flow.target, around.interval)
                readings[url] = Latest(JmxReading())
                shown[url] = _to_shown(url, shown.values())
                workers[url] = JmxWorker(
                    url=shown[url],
                    reader=_to_reader(jmx, address),
                    wanted=mirror.wanted,
                    reading=readings[url],
                    interval=around.interval,
                    timeout=address.timeout,
                    clock=around.clock,
                )
        sources.append(
            JmxSource(
                flow=flow.name,
                readings={shown[url]: readings[url] for url in jmx.urls},
                interpret=mirror.metrics,
                store=DocumentStore(
                    around.database, flow.name, "mirror_errors", ErrorCounters
                ),
            )
        )
    return WiredParts(workers=tuple(workers.values()), sources=tuple(sources))


def _to_shown(url: str, others: Collection[str]) -> str:
    """Return how a process is called: its address, as far as it is shown."""
    hidden = hide_secrets(url)
    return hidden if hidden not in others else f"{hidden} {len(others) + 1}"


def _to_address(
    jmx: JmxConfig, url: str, cluster: str, interval: timedelta
) -> JmxAddress:
    return JmxAddress(
        url=url,
        cluster=cluster,
        timeout=min(max(interval * _SHARE, _LEAST), _MOST),
        user=jmx.user,
        password=jmx.password.get_secret_value() if jmx.password else None,
        ca=jmx.ca,
    )


def _to_reader(jmx: JmxConfig, address: JmxAddress) -> JmxReader:
    match jmx.format:
        case "jolokia":
            return JolokiaReader(address)
        case "prometheus":
            return PrometheusReader(address)
        case "rmi":
            return RmiReader(address)


def to_jmx_reader(
    jmx: JmxConfig, url: str, cluster: str, patience: timedelta
) -> JmxReader:
    """Return what reads one process once, for `mirrorwatch doctor`.

    Raises
    ------
    ConfigError
        Raised if the certificate authority cannot be read.
    """
    address = _to_address(jmx, url, cluster, patience)
    return _to_reader(jmx, replace(address, timeout=patience))
