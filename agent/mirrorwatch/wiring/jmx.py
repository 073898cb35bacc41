"""The mirror's own figures, of all flows that have them configured."""

from collections.abc import Iterable
from datetime import timedelta

from ..config import FlowConfig
from ..config.mirror import JmxConfig
from ..domain.mirror_errors import ErrorBooks
from ..domain.selection import compile_pattern
from ..mirrors.mirrormaker2_jmx import MirrorMaker2Jmx
from ..mirrors.mirrormaker2_mbeans import WANTED
from ..mirrors.mirrormaker2_ownership import Ownership
from ..sources.jmx import (
    JmxAddress,
    JmxBoard,
    JmxReader,
    JmxSource,
    JmxWorker,
    JolokiaReader,
    PrometheusReader,
    RmiReader,
)
from ..state.document import DocumentStore
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["to_interpreter", "wire_jmx"]

_SHARE = 0.8
"""Of the tick, for one answer: the next tick has it, or knows why not."""

_LEAST, _MOST = timedelta(seconds=5), timedelta(seconds=10)
"""A shorter one would not outlast a pause of Java's garbage collector, or an
exporter with many partitions on a busy machine; a longer one would not make
an answer likelier."""


def wire_jmx(flows: Iterable[FlowParts], around: Surroundings) -> Wired:
    """Wire what reads the mirrors' figures, each process once.

    Raises
    ------
    ConfigError
        Raised, with the remedy, if a way to read them is not to be had here.
    StateError
        Raised if the state file cannot be used.
    """
    board = JmxBoard()
    workers: dict[str, JmxWorker] = {}
    sources = []
    for parts in flows:
        flow = parts.config
        jmx = flow.mirror.jmx
        if jmx is None:
            continue
        for url in jmx.urls:
            # Flows may share a mirror.
            if url not in workers:
                address = _to_address(jmx, url, flow.target, around.interval)
                workers[url] = JmxWorker(
                    url=url,
                    reader=_to_reader(jmx, address),
                    wanted=WANTED,
                    board=board,
                    interval=around.interval,
                    timeout=address.timeout,
                    clock=around.clock,
                )
        sources.append(
            JmxSource(
                flow=flow.name,
                urls=jmx.urls,
                board=board,
                interpret=to_interpreter(flow).metrics,
                store=DocumentStore(
                    around.database, flow.name, "mirror_errors", ErrorBooks
                ),
            )
        )
    return Wired(workers=tuple(workers.values()), sources=tuple(sources))


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


def to_interpreter(flow: FlowConfig) -> MirrorMaker2Jmx:
    """Return what reads the figures of a flow out of MBeans."""
    mirror = flow.mirror
    return MirrorMaker2Jmx(
        own=Ownership(
            source_alias=mirror.source_alias,
            target_alias=mirror.target_alias,
            naming=flow.topic_naming,
            selection=flow.selection,
            connectors=mirror.connectors,
            dedicated=mirror.mode == "dedicated",
        ),
        classes={
            name: compile_pattern(pattern)
            for name, pattern in flow.classes.items()
        },
    )
