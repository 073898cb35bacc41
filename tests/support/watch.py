"""An agent that watches a lab, and the plain truth to hold it to."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import structlog

from mirrorwatch.clock import Clock, utc_now
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent, Daemon
from mirrorwatch.domain.canary.model import CanaryObservation, canaries
from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.domain.lag.model import LagObservation
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.tasks.model import TasksObservation
from mirrorwatch.factory import build_agent
from mirrorwatch.sources.canary.settings import Headers, no_headers
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch_lab import Lab
from mirrorwatch_lab.cli import describe_agent

from .findings import is_found

__all__ = ["FLOW", "PATIENT", "Watch"]
__all__ += ["describe", "describe_notifying", "lag_of", "wait_until"]

FLOW = "summit->ldf"

PATIENT = 400.0
"""Seconds for what takes some on an idle machine. Others start JVMs on this
one, and whoever waits loses nothing by patience."""

LOOK = 0.2
"""Seconds between two looks. Many of them ask a broker, by a new client: more
often would keep the brokers from what is waited for."""

FORGET = "5s"
"""How long a probe that was late or came twice keeps a verdict at warning: a
busy machine makes some late, of which most tests ask nothing."""


def wait_until(
    condition: Callable[[], bool],
    *,
    within: float = PATIENT,
    what: Callable[[], object] = lambda: "",
) -> float:
    """Wait for a condition; return how many seconds it took."""
    start = time.monotonic()
    while not condition():
        passed = time.monotonic() - start
        assert passed < within, f"not within {within} s: {what()}"
        time.sleep(LOOK)  # between looks; the deadline decides
    return time.monotonic() - start


def describe(
    lab: Lab, *, canary: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the demo's configuration with some of the canary replaced."""
    data = describe_agent(lab)
    (flow,) = data["flows"]
    flow["canary"].update(canary or {})
    return data


LIMITS = {
    "canary": {"warning_window": FORGET},
    # Of a mirror that just starts, nothing is asked here.
    "latency": {"warning": "5m", "critical": "10m"},
}


def describe_notifying(
    lab: Lab,
    *,
    interval: str,
    hold: str,
    deadline: str,
    limits: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the same with a webhook, at what `HOOK` says.

    Parameters
    ----------
    lab
        What is watched.
    interval
        Time between ticks.
    hold
        How long a flow is worse, or ok again, before that is notified.
    deadline
        That of the canary.
    limits
        Limits of checks, over those of all these tests.
    """
    canary = {"interval": "500ms", "deadline": deadline}
    data = describe(lab, canary=canary)
    data["flows"][0]["limits"] = LIMITS | dict(limits or {})
    receiver = {"name": "on-call", "kind": "webhook", "url": "${env:HOOK}"}
    notify = {"hold": hold, "receivers": [receiver]}
    return data | {"interval": interval, "sinks": {"notify": notify}}


class Watch(AbstractContextManager["Watch"]):
    """An agent in this process, watching a lab."""

    def __init__(
        self,
        lab: Lab,
        *,
        state: Path | None = None,
        headers: Headers = no_headers,
        canary: Mapping[str, Any] | None = None,
        flow: Mapping[str, Any] | None = None,
        registries: Mapping[str, str] | None = None,
        interval: str = "1s",
        sized_interval: timedelta | None = None,
    ) -> None:
        data = describe(
            lab,
            canary={"interval": "500ms", "deadline": "10s", **(canary or {})},
        )
        data["flows"][0].update(_forgetful(flow or {}))
        for alias, url in (registries or {}).items():
            data["clusters"][alias]["schema_registry"] = {"url": url}
        data["interval"] = interval
        self.config = Config.from_mapping(data)
        if sized_interval is not None:
            self.config = _hurry(self.config, sized_interval)
        self.lab = lab
        self._state = state
        self._headers = headers
        self.ledgers: dict[int, Ledger] = {}

    def __enter__(self) -> Self:
        self.database = Database(self._state)
        logger = structlog.get_logger("mirrorwatch")
        self.agent: Agent = build_agent(
            self.config,
            database=self.database,
            clock=Clock(),
            logger=logger,
            headers=self._headers,
        )
        self._daemon = Daemon(self.agent, logger=logger)
        self._daemon.__enter__()
        self.store = CanaryStore(self.database, FLOW)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the agent; its books can be read afterwards."""
        if not self.ledgers:
            self._daemon.stop_working()
            self.ledgers = self.store.load()
            self.losses = self.store.losses()
            self._daemon.__exit__(None, None, None)

    @property
    def url(self) -> str:
        assert self.agent.server is not None
        return self.agent.server.url

    @property
    def canary(self) -> CanaryObservation | None:
        report = self.agent.latest.get()
        seen = canaries(report.observations) if report else ()
        return seen[0] if seen else None

    @property
    def tasks(self) -> TasksObservation | None:
        report = self.agent.latest.get()
        for seen in report.observations if report else ():
            if isinstance(seen, TasksObservation):
                return seen
        return None

    @property
    def counts(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for partition in self.canary.partitions if self.canary else ():
            totals.update(partition.counts.as_dict())
            totals["outstanding"] += partition.outstanding
        return totals

    def verdict(self, check: str = "canary") -> Verdict | None:
        report = self.agent.latest.get()
        found = (
            [v for v in report.verdicts if v.check == check] if report else []
        )
        return found[0] if found else None

    def wait_for(
        self,
        health: Health,
        *saying: str,
        check: str = "canary",
        **facts: str | float | None,
    ) -> Verdict:
        """Wait for a verdict with all of these codes, or parts of sentences,
        and return that one: the next may be another. Facts are of the first
        code.
        """
        met: list[Verdict] = []

        def is_so() -> bool:
            found = self.verdict(check)
            if (
                found
                and found.health is health
                and _says(found, saying)
                and (not facts or is_found(found, saying[0], **facts))
            ):
                met.append(found)
            return met != []

        wait_until(is_so, what=lambda: (saying, self.verdict(check)))
        return met[0]

    def evidence(self, check: str) -> Mapping[str, object]:
        """Return the evidence of a verdict, none before there is one."""
        found = self.verdict(check)
        return {} if found is None else found.evidence

    def unhealthy(self) -> dict[str, str]:
        """Return what is wrong, by check."""
        report = self.agent.latest.get()
        healthy = {Health.OK, Health.OFF}
        return {
            v.check: f"{v.health}: {v.reason}"
            for v in (report.verdicts if report else ())
            if v.health not in healthy
        }

    def wait_for_only(self, *checks: str) -> None:
        """Wait until these checks alone are not well."""
        wait_until(
            lambda: (
                self.agent.latest.get() is not None
                and set(self.unhealthy()) == set(checks)
            ),
            what=self.unhealthy,
        )

    def says(self, text: str) -> bool:
        """Tell whether the canary's verdict says something anywhere."""
        verdict = self.verdict()
        return verdict is not None and _says(verdict, [text])

    def let_pass(self, seconds: float) -> None:
        """Wait until the agent has reported for this long."""
        until = utc_now() + timedelta(seconds=seconds)

        def has_passed() -> bool:
            report = self.agent.latest.get()
            return report is not None and report.at >= until

        wait_until(has_passed, within=seconds + PATIENT)

    def wait_for_count(self, name: str, least: int) -> None:
        wait_until(
            lambda: self.counts[name] >= least,
            what=lambda: (self.counts, self.verdict()),
        )


def lag_of(watch: Watch, topic: str) -> int | None:
    """Return the lag in records that an agent reports of a topic."""
    report = watch.agent.latest.get()
    found = [
        each.records
        for seen in (report.observations if report else ())
        if isinstance(seen, LagObservation)
        for each in seen.topics
        if each.topic == topic
    ]
    return found[0] if found else None


def _says(verdict: Verdict, texts: Iterable[str]) -> bool:
    said = [
        *verdict.codes,
        verdict.reason,
        *map(str, verdict.evidence.values()),
    ]
    return all(any(text in part for part in said) for text in texts)


def _forgetful(flow: Mapping[str, Any]) -> dict[str, Any]:
    """Let a flow forget what load alone can do, unless it says otherwise."""
    limits = flow.get("limits", {})
    canary = {"warning_window": FORGET, **limits.get("canary", {})}
    return {**flow, "limits": {**limits, "canary": canary}}


def _hurry(config: Config, interval: timedelta) -> Config:
    (flow,) = config.flows
    assert flow.canary.sized is not None
    sized = flow.canary.sized.model_copy(update={"interval": interval})
    canary = flow.canary.model_copy(update={"sized": sized})
    flows = (flow.model_copy(update={"canary": canary}),)
    return config.model_copy(update={"flows": flows})
