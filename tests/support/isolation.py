"""An isolated sink on a fake outlet and a fake clock."""

from dataclasses import dataclass
from datetime import timedelta

import structlog

from mirrorwatch.sinks.backlog import Backlog
from mirrorwatch.sinks.backoff import Backoff
from mirrorwatch.sinks.isolated import IsolatedSink

from .builders import NOON, a_report
from .outlets import FakeOutlet

__all__ = ["Bench", "FakeClock"]


@dataclass
class FakeClock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """An isolated sink on a fake outlet and a fake clock."""

    def __init__(self, limit: int = 3, points: int = 1) -> None:
        self.outlet = FakeOutlet(points=points)
        self.clock = FakeClock()
        self.sink = IsolatedSink(
            self.outlet,
            backlog=Backlog(limit),
            backoff=Backoff(clock=self.clock, jitter=lambda: 0.5),
            clock=self.clock,
            logger=structlog.get_logger(),
        )
        self.published = 0

    def publish(self, count: int = 1) -> None:
        for _ in range(count):
            at = NOON + timedelta(seconds=self.published)
            self.published += 1
            self.sink.publish(a_report(at))

    def step(self) -> None:
        """Step after any pause is over."""
        self.clock.now += 60
        self.sink.step()
