"""An agent in a process, and a thread that looks at what it says."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self, TextIO

import httpx

from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.series import Series, prometheus_series

from .grading import Look, Saying, to_sayings

__all__ = ["IGNORED", "WatchedAgent"]

POLL_SECONDS = 0.25
ANSWER_SECONDS = 1.5
"""A frozen agent does not answer at all."""

IGNORED = frozenset({"latency", "bottleneck"})
"""Checks that judge the last minutes: they are not waited for."""

SINK_UP = re.compile(
    r'^mirrorwatch_sink_up\{sink="influxdb"\} (\S+)', re.MULTILINE
)


class WatchedAgent(AbstractContextManager["WatchedAgent"]):
    """An agent that is killed and started again on the same state file.

    Parameters
    ----------
    folder
        Folder for the state and for each agent.
    config
        What its file says.
    environment
        Variables that the file refers to.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        environment: Mapping[str, str],
    ) -> None:
        self._folder = folder
        self._config = config
        self._environment = environment
        self._begin = time.monotonic()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="watcher", daemon=True)
        self._file: TextIO | None = None
        self.agent: AgentProcess | None = None
        self.starts = 0
        self.looks: list[Look] = []
        self.killed_after: list[str | None] = []
        """The last tick that was seen of each agent that was killed."""

        self.crashes: list[str] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = (self._folder / "looks.jsonl").open("w")
        self.start()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        if self.agent is not None:
            self.agent.kill()
        if self._file is not None:
            self._file.close()

    @property
    def now(self) -> float:
        """Seconds since the start of the run."""
        return time.monotonic() - self._begin

    def start(self) -> None:
        """Start an agent where the last one was killed."""
        self.starts += 1
        agent = AgentProcess(
            self._folder / f"agent-{self.starts}",
            self._config,
            self._environment,
            state=self._folder / "state.db",
        )
        agent.__enter__()
        self.agent = agent

    def kill(self) -> None:
        """Take it away without warning."""
        if (agent := self.agent) is not None:
            self.agent = None
            agent.kill()
            self.killed_after.append(self.last_tick)

    def revive(self) -> bool:
        """Start another agent if this one has ended by itself, as Kubernetes
        would; return whether it had.
        """
        agent = self.agent
        if agent is None or agent.status is None:
            return False
        self.crashes.append(
            f"the agent ended by itself at {self.now:.0f} s, with status "
            f"{agent.status}: {agent.log_file.read_text()[-200:]}"
        )
        self.killed_after.append(self.last_tick)
        self.start()
        return True

    def stop(self) -> int:
        """Stop it in good order, and look no more."""
        self._stopping.set()
        self._thread.join()
        assert self.agent is not None
        return self.agent.stop()

    @property
    def last_tick(self) -> str | None:
        ticks = (look.tick for look in reversed(self.looks) if look.tick)
        return next(ticks, None)

    def is_well(self) -> bool:
        """Tell whether all was ok at the last look."""
        return not self.troubles()

    def troubles(self) -> list[str]:
        """Return what was not ok at the last look."""
        if not self.looks:
            return ["nobody has looked yet"]
        look = self.looks[-1]
        if look.tick is None:
            return ["the agent does not answer"]
        said = {s.name.partition(".")[0]: s.title for s in look.sayings[::-1]}
        return [
            f"{check} {health}: {said.get(check, '')}"
            for check, health in look.healths.items()
            if health not in {"ok", "off"} and check not in IGNORED
        ]

    def metrics(self) -> Series:
        """Return every figure of ours, none if it does not answer."""
        text = self._get("/metrics")
        return {} if text is None else prometheus_series(text)

    def _get(self, path: str) -> str | None:
        agent = self.agent
        if agent is None:
            return None
        try:
            answer = HTTP.get(agent.url + path, timeout=ANSWER_SECONDS)
        except httpx.TransportError:
            return None
        return answer.text if answer.is_success else None

    def _run(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            look = self._look()
            before = self.looks[-1] if self.looks else None
            self.looks.append(look)
            if before is None or _changed(before, look):
                self._note(look)

    def _look(self) -> Look:
        status, metrics = self._get("/api/status"), self._get("/metrics")
        at = self.now
        if status is None or metrics is None:
            return Look(at=at, tick=None)
        report = json.loads(status)
        healths: dict[str, str] = {}
        sayings: list[Saying] = []
        for flow in report["flows"]:
            for verdict in flow["verdicts"]:
                check, health = verdict["check"], verdict["health"]
                healths[check] = health
                sayings += to_sayings(check, health, verdict["findings"])
        found = SINK_UP.search(metrics)
        if found is not None and float(found[1]) == 0:
            healths["sink"] = "warning"
            sayings.append(Saying(name="sink.down", health="warning"))
        return Look(
            at=at, tick=report["at"], healths=healths, sayings=tuple(sayings)
        )

    def _note(self, look: Look) -> None:
        assert self._file is not None
        words = [f"{s.health} {s.name}: {s.title}" for s in look.sayings]
        noted = {"at": round(look.at, 2), "tick": look.tick, "said": words}
        self._file.write(json.dumps(noted) + "\n")
        self._file.flush()


def _changed(before: Look, now: Look) -> bool:
    if (before.tick is None) != (now.tick is None):
        return True
    return {(s.name, s.topic, s.count) for s in before.sayings} != {
        (s.name, s.topic, s.count) for s in now.sayings
    }
