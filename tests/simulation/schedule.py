"""Virtual time: who runs next, and what the clocks say.

Everything runs in one thread, one at a time, in an order that the seed alone
decides. The agent's workers block inside client calls, so each step of one is
a greenlet: one that waits in a step lets whatever is due next run.
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from greenlet import getcurrent, greenlet

__all__ = ["Killed", "Schedule", "Task"]

START = datetime(2026, 1, 5, tzinfo=UTC)


class Killed(BaseException):
    """Ends a step at the call in which it waits, as SIGKILL would."""


class Task:
    """Something that is done step by step.

    Parameters
    ----------
    name
        For errors, and for whoever asks who is calling.
    step
        Does one step, in which it may sleep, and returns after how many
        seconds the next one follows; `None` for none.
    """

    def __init__(self, name: str, step: Callable[[], float | None]) -> None:
        self.name = name
        self.step = step
        self.killed = False
        self.done = False
        self.waiting: greenlet | None = None
        """Where it waits, within a step."""


class Schedule:
    """Events and tasks in the order of their time.

    Attributes
    ----------
    elapsed
        Seconds since the world began: the monotonic clock.
    step
        How far the agent's wall clock is wrong.
    current
        The task that runs.
    """

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.step = timedelta()
        self.current: Task | None = None
        self._heap: list[tuple[float, int, Callable[[], None] | Task]] = []
        self._number = 0
        self._until = 0.0
        self._tasks: list[Task] = []
        self._driver = getcurrent()

    def now(self) -> datetime:
        """Return the true time, by which brokers stamp records."""
        return START + timedelta(seconds=self.elapsed)

    def agent_now(self) -> datetime:
        """Return what the agent's wall clock says."""
        return self.now() + self.step

    def monotonic(self) -> float:
        """Return seconds that only go forward."""
        return self.elapsed

    def at(self, time: float, what: Callable[[], None] | Task) -> None:
        """Run an event, or go on with a task, at a time."""
        self._number += 1
        heapq.heappush(
            self._heap, (max(time, self.elapsed), self._number, what)
        )

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Run an event in some seconds."""
        self.at(self.elapsed + seconds, event)

    def every(
        self, seconds: Callable[[], float], event: Callable[[], object]
    ) -> None:
        """Run an event again and again."""

        def run() -> None:
            event()
            self.after(seconds(), run)

        self.after(seconds(), run)

    def spawn(self, name: str, step: Callable[[], float | None]) -> Task:
        """Start a task."""
        task = Task(name, step)
        self._tasks = [t for t in self._tasks if not t.done]
        self._tasks.append(task)
        self.at(self.elapsed, task)
        return task

    def sleep(self, seconds: float) -> None:
        """Wait, within a step.

        Raises
        ------
        Killed
            Raised if the task was killed.
        """
        task = self.current
        assert task is not None, "only tasks of the schedule wait"
        wake = self.elapsed + max(0.0, seconds)
        if task.killed:
            raise Killed
        # Most waits end before anything else is due.
        if wake <= self._until and (not self._heap or self._heap[0][0] > wake):
            self.elapsed = wake
            return
        self.at(wake, task)
        task.waiting = getcurrent()
        self._driver.switch()
        task.waiting = None
        if task.killed:
            raise Killed

    def run_until(self, time: float) -> None:
        """Run everything up to a time, from outside.

        Raises
        ------
        BaseException
            Raised as a step or an event raised it.
        """
        self._until = time
        self._driver = getcurrent()
        while self._heap and self._heap[0][0] <= time:
            due, _, what = heapq.heappop(self._heap)
            self.elapsed = max(self.elapsed, due)
            if not isinstance(what, Task):
                what()
            elif not what.done:
                self.current = what
                (what.waiting or greenlet(self._step)).switch(what)
                self.current = None
        self.elapsed = max(self.elapsed, time)

    def kill(self, task: Task) -> None:
        """End a task, within a step or between two."""
        if task.done or task.killed:
            return
        task.killed = True
        self._heap = [entry for entry in self._heap if entry[2] is not task]
        heapq.heapify(self._heap)
        if task.waiting is None and task is not self.current:
            task.done = True
        elif task is not self.current:
            self.at(self.elapsed, task)

    def close(self) -> None:
        """End all tasks."""
        for task in self._tasks:
            self.kill(task)
        self.run_until(self.elapsed)

    def _step(self, task: Task) -> None:
        try:
            pause = task.step()
        except Killed:
            pause = None
        task.done = pause is None or task.killed
        if pause is not None and not task.killed:
            self.at(self.elapsed + pause, task)
