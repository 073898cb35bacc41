"""An agent that reads a lab's figures, and what of it may fail."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Health
from mirrorwatch.ports import Report
from mirrorwatch_lab import Lab

from .jmx import last, said
from .watch import FLOW, PATIENT, Watch, wait_until

__all__ = ["JMX", "assert_that_only_jmx_suffers", "follow", "urls_of"]
__all__ += ["wait_for", "wait_until_well", "watching"]

JMX = f"jmx {FLOW}"
"""Name of the source of the figures."""


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
    wait_for(watch, Health.OK, "Nothing holds the mirror up")
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
