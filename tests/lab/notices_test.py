"""A mirror that stands still is one notice, and its return another."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mirrorwatch_lab import Lab
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.watch import FLOW, describe_notifying, wait_until
from tests.support.webhook import Webhook, serve_webhook

pytestmark = pytest.mark.lab


def told(webhook: Webhook) -> list[str]:
    return [body["kind"] for body in webhook.bodies]


def healths(agent: AgentProcess) -> Mapping[str, str]:
    """Return the health of the flow and of each check."""
    status = HTTP.get(f"{agent.url}/api/status", timeout=60).json()
    (flow,) = status["flows"] or [{"health": "unknown", "verdicts": []}]
    checks = {v["check"]: v["health"] for v in flow["verdicts"]}
    return {"flow": flow["health"]} | checks


def wait_for_health(agent: AgentProcess, health: str) -> None:
    wait_until(
        lambda: healths(agent)["flow"] == health, what=lambda: healths(agent)
    )


def wait_for_notice(agent: AgentProcess, webhook: Webhook, kind: str) -> None:
    wait_until(
        lambda: told(webhook)[-1:] == [kind],
        what=lambda: (told(webhook), healths(agent)),
    )


@pytest.mark.long
def test_each_fault_of_a_mirror_is_one_notice_and_one_recovery(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_webhook() as webhook:
        monkeypatch.setenv("HOOK", webhook.url)
        config = describe_notifying(
            lab, interval="1s", hold="10s", deadline="10s"
        )
        start = (tmp_path, config, {"HOOK": webhook.url})
        try:
            with AgentProcess(*start) as agent:
                wait_for_health(agent, "ok")
                lab.mirror.freeze()
                wait_for_notice(agent, webhook, "worse")
                # This ends with a kill, while the mirror stands still.
            agent.log_file.rename(tmp_path / "killed.log")
            with AgentProcess(*start) as agent:
                wait_for_health(agent, "critical")
                lab.mirror.thaw()
                wait_for_notice(agent, webhook, "recovered")
        finally:
            lab.mirror.thaw()

    kinds = [body["kind"] for body in webhook.bodies]
    assert kinds == ["worse", "recovered"], webhook.bodies
    worse, recovered = webhook.bodies
    assert (worse["flow"], worse["health"]) == (FLOW, "critical")
    assert recovered["lasted_seconds"] > 10
