"""The part at fault is named on a real mirror, in one notification."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch_lab import Lab
from tests.support.agent_process import AgentProcess
from tests.support.watch import describe, wait_until
from tests.support.webhook import Webhook, serve_webhook

pytestmark = [pytest.mark.lab, pytest.mark.long]

TICK = "2s"
"""More often than usual, so that more is seen of each fault."""

TWO_TICKS = timedelta(seconds=10)
"""How long symptoms may have no cause: two ticks of the usual interval."""

LIMITS = {
    "canary": {"warning_window": "5s"},
    # Of a mirror that just starts, nothing is asked here.
    "latency": {"warning": "5m", "critical": "10m"},
}


def config(lab: Lab) -> dict[str, Any]:
    data = describe(lab, canary={"interval": "500ms", "deadline": "15s"})
    data["flows"][0]["limits"] = LIMITS
    jmx = {"format": "jolokia", "urls": [lab.mirror.jolokia_url]}
    data["flows"][0]["mirror"]["jmx"] = jmx
    receiver = {"name": "on-call", "kind": "webhook", "url": "${env:HOOK}"}
    notify = {"hold": "5s", "recovery": "5s", "receivers": [receiver]}
    sinks = {"notify": notify}
    return data | {"interval": TICK, "sinks": sinks}


@dataclass(frozen=True)
class Fault:
    """What is broken and healed, and the part that has to be named."""

    part: str
    inject: Callable[[Lab], object]
    heal: Callable[[Lab], object]

    notified: bool = True
    """Whether it makes a check bad at once, so that its notification is
    waited for; of what is only unknown, one is sent after two minutes."""


FAULTS = {
    "mirror frozen": Fault(
        "mirror",
        lambda lab: lab.mirror.freeze(),
        lambda lab: lab.mirror.thaw(),
    ),
    "link cut for the mirror only": Fault(
        "link",
        lambda lab: lab.link_mirror.cut(),
        lambda lab: lab.link_mirror.restore(),
    ),
    "source stopped": Fault(
        "source or link",
        lambda lab: lab.source.kill(),
        lambda lab: lab.source.start(),
        notified=False,
    ),
    "target stopped": Fault(
        "target",
        lambda lab: lab.target.kill(),
        lambda lab: lab.target.start(),
    ),
}


class Timeline:
    """What the agent said in each report since a fault."""

    def __init__(self, agent: AgentProcess) -> None:
        self._agent = agent
        self.reports: dict[str, Mapping[str, Any]] = {}

    def look(self) -> Mapping[str, Any]:
        """Return the flow as the newest report has it."""
        status = httpx.get(f"{self._agent.url}/api/status", timeout=60).json()
        flows = status["flows"] or [
            {"health": "unknown", "cause": None, "verdicts": []}
        ]
        if status["at"] is not None:
            self.reports.setdefault(status["at"], flows[0])
        found: Mapping[str, Any] = flows[0]
        return found

    def parts(self) -> list[str | None]:
        """Return the part of each report."""
        return [
            None if flow["cause"] is None else flow["cause"]["part"]
            for flow in self.reports.values()
        ]

    def named_after(self) -> timedelta:
        """Return how long there were symptoms, but no cause."""
        bad = [
            (datetime.fromisoformat(at), flow["cause"])
            for at, flow in self.reports.items()
            if flow["health"] != "ok"
        ]
        named = next(at for at, cause in bad if cause is not None)
        return named - bad[0][0]

    def show(self) -> list[Any]:
        return [
            (
                at[14:19],
                flow["cause"] and flow["cause"]["part"],
                {
                    v["check"]: (v["health"], v["reason"][:60])
                    for v in flow["verdicts"]
                    if v["health"] not in {"ok", "off"}
                },
            )
            for at, flow in self.reports.items()
        ]


def is_over(timeline: Timeline, webhook: Webhook) -> bool:
    """Return whether all is ok and notified as such, so that the next fault
    is seen apart.
    """
    flow = timeline.look()
    recovered = told(webhook)[-1:] == [("recovered", "ok", None)]
    return (
        flow["health"] == "ok"
        and flow["cause"] is None
        and (recovered or not webhook.bodies)
    )


def show(timeline: Timeline, webhook: Webhook) -> list[Any]:
    return [told(webhook), *timeline.show()]


def told(webhook: Webhook) -> list[Any]:
    return [
        (body["kind"], body["health"], (body["cause"] or {}).get("part"))
        for body in webhook.bodies
    ]


def test_each_fault_is_named_at_once_in_one_notification(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_webhook() as webhook:
        monkeypatch.setenv("HOOK", webhook.url)
        start = (tmp_path, config(lab), {"HOOK": webhook.url})
        with AgentProcess(*start) as agent:
            for name, fault in FAULTS.items():
                calm = Timeline(agent)
                wait_until(
                    partial(is_over, calm, webhook),
                    what=partial(show, calm, webhook),
                )
                webhook.bodies.clear()
                see(name, fault, lab, Timeline(agent), webhook)


def see(
    name: str, fault: Fault, lab: Lab, during: Timeline, webhook: Webhook
) -> None:
    """Inject a fault, wait for its name and notification, and heal it."""

    def is_named() -> bool:
        return during.look()["cause"] is not None and (
            webhook.bodies != [] or not fault.notified
        )

    fault.inject(lab)
    try:
        wait_until(is_named, what=partial(show, during, webhook))
    finally:
        fault.heal(lab)
    parts = {part for part in during.parts() if part is not None}
    assert parts == {fault.part}, (name, during.show())
    assert during.named_after() <= TWO_TICKS, (name, during.show())
    if fault.notified:
        assert told(webhook) == [("worse", "critical", fault.part)], name
        symptoms = webhook.bodies[0]["cause"]["symptoms"]
        assert "canary" in symptoms
        assert set(symptoms) <= {
            c["check"] for c in webhook.bodies[0]["checks"]
        }
