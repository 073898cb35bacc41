"""The ways to a lab's figures, and what a reader makes of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from statistics import median
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
from mirrorwatch.domain.report import Health
from mirrorwatch.mirrors.mirrormaker2_jmx import WANTED
from mirrorwatch.ports import MirrorJmx, Report
from mirrorwatch.sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
)
from mirrorwatch.sources.jmx.rmi import RmiReader
from mirrorwatch.wiring.context import to_mirror_jmx
from mirrorwatch_lab import Lab

from .watch import FLOW, PATIENT, Watch, describe, wait_until

__all__ = [
    "Comparison",
    "assert_that_only_jmx_suffers",
    "follow",
    "interpreter",
    "last",
    "metrics",
    "mirror_seen",
    "missing",
    "read",
    "readers",
    "urls_of",
    "wait_for",
    "wait_until_well",
    "watching",
]


Said = dict[tuple[str, frozenset[tuple[str, str]]], Mapping[str, float | str]]


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
    mirror, ways = lab.mirror, lab.settings.jmx
    found: dict[str, JmxReader] = {
        "jolokia": JolokiaReader(address(mirror.jolokia_url))
    }
    if "prometheus" in ways:
        url = mirror.jmx.prometheus_url
        found["prometheus"] = PrometheusReader(address(url))
    if "reporter" in ways:
        found["reporter"] = PrometheusReader(address(mirror.jmx.reporter_url))
    if "rmi" in ways:
        found["rmi"] = RmiReader(address(mirror.jmx.rmi_url))
    return found


def read(reader: JmxReader) -> Said:
    return {name(mbean): mbean.attributes for mbean in reader.read(WANTED)}


def name(mbean: MBean) -> tuple[str, frozenset[tuple[str, str]]]:
    return mbean.domain, frozenset(mbean.properties.items())


def interpreter(lab: Lab, classes: Mapping[str, str]) -> MirrorJmx:
    data = describe(lab)
    data["flows"][0]["classes"] = dict(classes)
    return to_mirror_jmx(Config.from_mapping(data).flows[0])


def metrics(mirror: MirrorJmx, reader: JmxReader) -> MirrorMetrics:
    return mirror.metrics({"mirror": reader.read(WANTED)})


def last(watch: Watch) -> Report:
    """Return an agent's last report; before the first, an empty one."""
    empty = Report(at=utc_now(), flows=(), observations=(), verdicts=())
    return watch.agent.latest.get() or empty


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
    evidence = map(str, verdict.evidence.values())
    return " ".join([*verdict.codes, verdict.reason, *evidence])


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


MOMENTARY = {
    "buffer-available-bytes",
    "requests-in-flight",
    "records-lag",
    "source-record-active-count",
}
"""Attributes of this very moment: two readers can see two of them."""


class Comparison:
    """What Jolokia says alike before and after must be said alike by others;
    what moves must be between, or as near as a window moves meanwhile.
    """

    def __init__(self, ways: dict[str, JmxReader]) -> None:
        self.compared: Counter[tuple[str, str]] = Counter()
        self.differences: list[object] = []
        self._before = read(ways["jolokia"])
        others = {way: read(ways[way]) for way in ways if way != "jolokia"}
        self._after = read(ways["jolokia"])
        for way, told in others.items():
            self._compare(way, told)

    def _compare(self, way: str, told: Said) -> None:
        for name in self._before.keys() & self._after.keys():
            kind = dict(name[1])["type"]
            if way == "prometheus" and kind == "connector-metrics":
                continue  # words only, which its own rules do not export
            for attribute, first in self._before[name].items():
                value = told.get(name, {}).get(attribute)
                last = self._after[name].get(attribute)
                if not self._agree(way, attribute, value, (first, last)):
                    self.differences.append(
                        (way, dict(name[1]), attribute, first, value, last)
                    )

    def _agree(
        self, way: str, attribute: str, value: Any, around: tuple[Any, Any]
    ) -> bool:
        first, last = around
        if isinstance(first, str):
            return way == "prometheus" or value == first
        if attribute in MOMENTARY or last is None:
            return way == "prometheus" or value is not None
        if first == last:
            self.compared[way, "exactly"] += 1
            return bool(value == first)
        self.compared[way, "nearly"] += 1
        slack = max(0.3 * max(abs(first), abs(last)), 0.05)
        return value is not None and bool(
            min(first, last) - slack <= value <= max(first, last) + slack
        )


JMX = f"jmx {FLOW}"


def watching(
    lab: Lab, way: str, urls: Sequence[str], classes: Mapping[str, str]
) -> Watch:
    """Return an agent that reads the figures in one way."""
    jmx = {"format": way, "urls": list(urls)}
    flow = {"mirror": {"jmx": jmx}, "classes": dict(classes)}
    return Watch(lab, flow=flow, canary={"enabled": False})


def urls_of(lab: Lab) -> dict[str, str]:
    """Return where the figures are, by the way to read them."""
    mirror = lab.mirror
    return {
        "jolokia": mirror.jolokia_url,
        "prometheus": mirror.jmx.prometheus_url,
        "rmi": mirror.jmx.rmi_url,
    }


def wait_for(watch: Watch, health: Health, saying: str) -> None:
    """Wait for what the check says."""
    wait_until(
        lambda: health_of(last(watch)) is health and saying in said(watch),
        what=lambda: (watch.verdict("bottleneck"), saying),
    )


def wait_until_well(watch: Watch) -> None:
    """Wait until the figures arrive and are in order."""
    wait_for(watch, Health.OK, "bottleneck.ok")
    wait_until(lambda: last(watch).agent.sources_up[JMX])


def health_of(report: Report) -> Health | None:
    judged = [v for v in report.verdicts if v.check == "bottleneck"]
    return judged[0].health if judged else None


def follow(watch: Watch, seconds: float) -> list[Report]:
    """Return every report that is made in the next seconds."""
    until = utc_now() + timedelta(seconds=seconds)
    reports: dict[datetime, Report] = {}

    def take() -> bool:
        report = last(watch)
        reports[report.at] = report
        return report.at >= until

    wait_until(take, within=seconds + PATIENT)
    return list(reports.values())


def assert_that_only_jmx_suffers(reports: Sequence[Report]) -> None:
    """Hold reports of an agent to what a process that hangs may do to it."""
    assert {health_of(report) for report in reports} == {Health.UNKNOWN}
    down = Counter(
        name
        for report in reports
        for name, is_up in report.agent.sources_up.items()
        if not is_up
    )
    assert down.pop(JMX) == len(reports)
    # One that waited for the figures would be down most of the time; what a
    # busy machine does to one lasts a moment.
    assert all(times <= len(reports) / 3 for times in down.values()), down
    ticks = [r.agent.last_tick for r in reports if r.agent.last_tick]
    seconds = median(tick.total_seconds() for tick in ticks)
    print(f"{len(ticks)} ticks of {seconds * 1000:.1f} ms meanwhile")
    # One that waited for an answer would wait for all of 5 s.
    assert seconds < 1
