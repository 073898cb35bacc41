"""The three ways to a lab's figures, and what a reader makes of them."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any

from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.domain.bottleneck.model import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    MBean,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskMetrics,
)
from mirrorwatch.mirrors.mirrormaker2_jmx import WANTED, MirrorMaker2Jmx
from mirrorwatch.ports import Report
from mirrorwatch.sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
)
from mirrorwatch.sources.jmx.rmi import RmiReader
from mirrorwatch.wiring.flows import to_interpreter
from mirrorwatch_lab import Lab

from .watch import FLOW, Watch, describe

__all__ = ["Said", "interpreter", "last", "metrics", "mirror_seen"]
__all__ += ["missing", "read", "readers", "said"]

Said = dict[tuple[str, frozenset[tuple[str, str]]], Mapping[str, float | str]]
"""Attributes by domain and properties."""


def address(url: str, **more: str | None) -> JmxAddress:
    return JmxAddress(
        url=url,
        cluster="ldf",
        # An exporter whose rules changed needs long on a busy machine.
        timeout=timedelta(seconds=60),
        user=more.get("user"),
        password=more.get("password"),
    )


def readers(lab: Lab) -> dict[str, JmxReader]:
    """Return a reader for each way that the lab's mirror has."""
    mirror = lab.mirror
    return {
        "jolokia": JolokiaReader(address(mirror.jolokia_url)),
        "prometheus": PrometheusReader(address(mirror.jmx.prometheus_url)),
        "rmi": RmiReader(address(mirror.jmx.rmi_url)),
    }


def read(reader: JmxReader) -> Said:
    return {name(mbean): mbean.attributes for mbean in reader.read(WANTED)}


def name(mbean: MBean) -> tuple[str, frozenset[tuple[str, str]]]:
    return mbean.domain, frozenset(mbean.properties.items())


def interpreter(lab: Lab, classes: Mapping[str, str]) -> MirrorMaker2Jmx:
    data = describe(lab)
    data["flows"][0]["classes"] = dict(classes)
    return to_interpreter(Config.from_mapping(data).flows[0])


def metrics(mirror: MirrorMaker2Jmx, reader: JmxReader) -> MirrorMetrics:
    return mirror.metrics({"mirror": reader.read(WANTED)})


def last(watch: Watch) -> Report:
    """Return an agent's last report; before the first, an empty one."""
    empty = Report(at=utc_now(), flows=(), observations=(), verdicts=())
    return watch.agent.board.report or empty


def mirror_seen(watch: Watch) -> MirrorObservation:
    """Return what the mirror said of itself; at first, nothing."""
    for seen in last(watch).observations:
        if isinstance(seen, MirrorObservation):
            return seen
    return MirrorObservation(flow=FLOW, at=utc_now(), metrics=MirrorMetrics())


def said(watch: Watch) -> str:
    """Return everything that the check says."""
    verdict = watch.verdict("bottleneck")
    if verdict is None:
        return ""
    return " ".join([verdict.reason, *map(str, verdict.evidence.values())])


def missing(told: MirrorMetrics) -> set[str]:
    """Return the figures that are absent."""
    groups: list[tuple[str, Any]] = [
        ("consumer", told.consumer),
        ("producer", told.producer),
        ("tasks", told.tasks),
        ("io of consumer", told.io["consumer"]),
        ("io of producer", told.io["producer"]),
        ("class traffic", told.classes["traffic"]),
    ]
    kinds = {ConsumerMetrics, ProducerMetrics, TaskMetrics}
    assert kinds | {IoMetrics, ClassMetrics} == {type(g) for _, g in groups}
    return {
        f"{group}: {figure.name}"
        for group, of in groups
        for figure in fields(of)
        if getattr(of, figure.name) is None
    }
