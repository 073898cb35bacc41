"""The part at fault is named on a real mirror, in one notification.

One test for each fault: it has an agent of its own, of which first nothing is
asked but silence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.link import Link
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.watch import describe_notifying, wait_until
from tests.support.webhook import Webhook, serve_webhook
from tests.support.writers import Writer

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1800)]

BULK = "lsst.sal.bulk"

TICK = "2s"
"""More often than usual, so that more is seen of each fault."""

TWO_TICKS = timedelta(seconds=10)
"""How long symptoms may have no cause: two ticks of the usual interval."""

HOLD = timedelta(seconds=20)
"""How long a flow is bad before that is notified. Longer than `TWO_TICKS`, as
it is by default: the notification has the cause."""

SILENCE = timedelta(seconds=20)
"""How long nothing is broken, and nothing may be said. By then it is known how
fast both clusters usually answer."""


REFRESH = {"refresh.topics.interval.seconds": "10"}
"""The mirror finds its topic of heartbeats soon after its start, and restarts
its tasks for it: not ten minutes later, amid a fault."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        topics={CANARY_TOPIC: 6, BULK: 1},
        mirror_properties=REFRESH,
        target_links=True,
    )
    with Lab(settings) as lab:
        yield lab


@contextmanager
def between(
    begin: Callable[[], object], end: Callable[[], object]
) -> Iterator[None]:
    """Begin a fault, and end it whatever happens meanwhile."""
    begin()
    try:
        yield
    finally:
        end()


@contextmanager
def cut(*links: Link) -> Iterator[None]:
    with ExitStack() as faults:
        for link in links:
            faults.enter_context(between(link.cut, link.restore))
        yield


@contextmanager
def shaped(
    links: Iterable[Link], delay: timedelta, rate: int | None = None
) -> Iterator[None]:
    with ExitStack() as faults:
        for link in links:
            begin = partial(link.shape, delay, rate)
            faults.enter_context(between(begin, link.shape))
        yield


def source_stopped(lab: Lab, _: AgentProcess) -> AbstractContextManager[None]:
    return between(lab.source.kill, lab.source.start)


def target_stopped(lab: Lab, _: AgentProcess) -> AbstractContextManager[None]:
    return between(lab.target.kill, lab.target.start)


def mirror_frozen(lab: Lab, _: AgentProcess) -> AbstractContextManager[None]:
    return between(lab.mirror.freeze, lab.mirror.thaw)


def link_cut_for_mirror(
    lab: Lab, _: AgentProcess
) -> AbstractContextManager[None]:
    return cut(lab.link_mirror)


def link_cut_for_both(
    lab: Lab, _: AgentProcess
) -> AbstractContextManager[None]:
    return cut(lab.link_mirror, lab.link_agent)


@contextmanager
def own_path_cut(lab: Lab, _: AgentProcess) -> Iterator[None]:
    with Writer(lab, BULK), cut(lab.link_agent):
        yield


def own_path_cut_and_no_traffic(
    lab: Lab, _: AgentProcess
) -> AbstractContextManager[None]:
    return cut(lab.link_agent)


@contextmanager
def link_slow(lab: Lab, _: AgentProcess) -> Iterator[None]:
    """Half as much again is written as the link carries."""
    links = (lab.link_mirror, lab.link_agent)
    delay = timedelta(milliseconds=300)
    with Writer(lab, BULK, size=4_000), shaped(links, delay, 256_000):
        yield


def target_slow(lab: Lab, _: AgentProcess) -> AbstractContextManager[None]:
    return shaped(lab.links_target, timedelta(seconds=1))


STARVED = timedelta(seconds=10)
"""How long the agent gets no CPU, between two moments in which it does."""


@contextmanager
def agent_starved(_: Lab, agent: AgentProcess) -> Iterator[None]:
    """Let it go on for one report, again and again."""
    ended = Event()

    def run() -> None:
        while not ended.is_set():
            before = status(agent)["at"]
            agent.freeze()
            ended.wait(STARVED.total_seconds())
            agent.thaw()
            while status(agent)["at"] == before and not ended.wait(0.02):
                pass

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def status(agent: AgentProcess) -> Mapping[str, Any]:
    """Return what the agent says of its newest report."""
    answer = HTTP.get(f"{agent.url}/api/status", timeout=60)
    found: Mapping[str, Any] = answer.json()
    return found


@dataclass(frozen=True)
class Fault:
    """What is broken, and what has to be named and notified."""

    part: str
    inject: Callable[[Lab, AgentProcess], Any]
    notice: tuple[str, str] = ("worse", "critical")
    latency: str | None = None
    """From when the latency of probes is a warning, if it is one."""

    symptom: str = "canary"


SLOW = ("worse", "warning")

FAULTS = {
    "mirror frozen": Fault("mirror", mirror_frozen),
    "link cut for the mirror only": Fault("link", link_cut_for_mirror),
    "link cut for mirror and agent": Fault(
        "source or link", link_cut_for_both
    ),
    "link slow": Fault(
        "source or link",
        link_slow,
        notice=SLOW,
        latency="1500ms",
        symptom="latency",
    ),
    "target slow": Fault(
        "target",
        target_slow,
        notice=SLOW,
        latency="900ms",
        symptom="latency",
    ),
    "the agent's own path cut": Fault(
        "monitor", own_path_cut, notice=("unknown", "unknown")
    ),
    "the agent's own path cut, and nothing to copy": Fault(
        "monitor",
        own_path_cut_and_no_traffic,
        notice=("unknown", "unknown"),
    ),
    "agent starved of CPU": Fault(
        "monitor",
        agent_starved,
        notice=("unknown", "unknown"),
    ),
    "source stopped": Fault("source or link", source_stopped),
    "target stopped": Fault("target", target_stopped),
}


WELL = {"ok", "off"}
"""Of a check. That of a flow is unknown where its report is old, too."""


class Timeline:
    """What the agent said in each report since a fault."""

    def __init__(self, agent: AgentProcess) -> None:
        self._agent = agent
        self.reports: dict[str, Mapping[str, Any]] = {}

    def look(self) -> Mapping[str, Any]:
        """Return the flow as the newest report has it."""
        said = status(self._agent)
        flows = said["flows"] or [
            {"health": "unknown", "cause": None, "verdicts": []}
        ]
        if said["at"] is not None:
            self.reports.setdefault(said["at"], flows[0])
        found: Mapping[str, Any] = flows[0]
        return found

    @property
    def parts(self) -> set[str]:
        """Every part that was named."""
        named = [flow["cause"] for flow in self.reports.values()]
        return {cause["part"] for cause in named if cause is not None}

    def named_after(self) -> timedelta:
        """Return how long there were symptoms, but no cause."""
        bad = [
            (datetime.fromisoformat(at), flow["cause"])
            for at, flow in self.reports.items()
            if any(v["health"] not in WELL for v in flow["verdicts"])
        ]
        named = next(at for at, cause in bad if cause is not None)
        return named - bad[0][0]

    def is_silent(self, webhook: Webhook) -> bool:
        """Return whether all was ok for long enough, and nothing was said of
        it; begin again where it was not.
        """
        flow = self.look()
        if flow["health"] != "ok" or flow["cause"] or not is_over(webhook):
            self.reports.clear()
        return self.lasts(SILENCE)

    def lasts(self, time: timedelta) -> bool:
        """Return whether it has lasted for some time."""
        seen = [datetime.fromisoformat(at) for at in self.reports]
        return bool(seen) and seen[-1] - seen[0] >= time

    def show(self) -> list[Any]:
        return [
            (
                at[14:19],
                flow["cause"] and flow["cause"]["part"],
                {
                    v["check"]: (v["health"], v["reason"][:60])
                    for v in flow["verdicts"]
                    if v["health"] not in WELL
                },
            )
            for at, flow in self.reports.items()
        ]


def is_over(webhook: Webhook) -> bool:
    """Return whether what was notified of the beginning is over."""
    return told(webhook)[-1:] in ([], [("recovered", "ok", None)])


def told(webhook: Webhook) -> list[Any]:
    return [
        (body["kind"], body["health"], (body["cause"] or {}).get("part"))
        for body in webhook.bodies
    ]


def show(timeline: Timeline, webhook: Webhook) -> list[Any]:
    return [told(webhook), *timeline.show()]


def config(lab: Lab, fault: Fault) -> dict[str, Any]:
    limits = {} if fault.latency is None else {"warning": fault.latency}
    data = describe_notifying(
        lab,
        interval=TICK,
        hold=f"{HOLD.total_seconds():g}s",
        deadline="15s",
        limits={"latency": limits} if limits else {},
    )
    jmx = {"format": "jolokia", "urls": [lab.mirror.jolokia_url]}
    data["flows"][0]["mirror"]["jmx"] = jmx
    return data


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_each_fault_is_named_at_once_in_one_notification(
    fault: Fault, lab: Lab, tmp_path: Path
) -> None:
    with ExitStack() as around:
        webhook = around.enter_context(serve_webhook())
        environment = {"HOOK": webhook.url}
        agent = around.enter_context(
            AgentProcess(tmp_path, config(lab, fault), environment)
        )
        calm = Timeline(agent)
        wait_until(
            partial(calm.is_silent, webhook),
            what=partial(show, calm, webhook),
        )
        webhook.bodies.clear()
        during, after = Timeline(agent), Timeline(agent)

        def is_notified() -> bool:
            return during.look()["cause"] is not None and (
                webhook.bodies != []
            )

        def is_notified_no_more() -> bool:
            during.look()
            after.look()
            # A second notice would be due by then.
            return after.lasts(2 * HOLD)

        with fault.inject(lab, agent):
            what = partial(show, during, webhook)
            wait_until(is_notified, what=what)
            wait_until(is_notified_no_more, what=what)

    print(during.named_after(), *show(during, webhook), sep="\n")
    assert during.parts == {fault.part}, during.show()
    assert during.named_after() <= TWO_TICKS, during.show()
    assert told(webhook) == [(*fault.notice, fault.part)], during.show()
    symptoms = webhook.bodies[0]["cause"]["symptoms"]
    assert fault.symptom in symptoms
    assert set(symptoms) <= {c["check"] for c in webhook.bodies[0]["checks"]}
