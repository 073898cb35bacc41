"""Virtual time: who runs next, and what the clocks say.

Everything runs in one process, one at a time, in an order that the seed alone
decides. The agent's workers block inside client calls, so each step of one
needs a thread; one that waits in a step hands the baton to whatever is due
next. A thread that has ended a step goes on with the next one itself: passing
the baton on costs more than most steps.
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock, Thread

__all__ = ["Killed", "Schedule", "Task"]

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Wall-clock time at which each world begins."""


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
        self.runner: _Runner | None = None
        """The thread in which it waits, within a step."""


class _Runner:
    """A thread that runs only when it has the baton."""

    def __init__(self, schedule: "Schedule") -> None:
        self.baton = Lock()
        self.baton.acquire()
        self.task: Task | None = None
        """What to begin with."""

        self._schedule = schedule
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self.baton.acquire()
            if self._schedule.closed:
                return
            task, self.task = self.task, None
            self._schedule.drive(self, task)


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
        self.failure: BaseException | None = None
        self.closed = False
        self._heap: list[tuple[float, int, Callable[[], None] | Task]] = []
        self._number = 0
        self._until = 0.0
        self._tasks: list[Task] = []
        self._idle: list[_Runner] = []
        self._driver = Lock()
        self._driver.acquire()

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
        runner = task.runner
        assert runner is not None
        following = self._next()
        if following is not task:
            self._hand_to(following)
            runner.baton.acquire()
        self.current = task
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
        following = self._next()
        if following is not None:
            self._hand_to(following)
            self._driver.acquire()
        self.current = None
        self.elapsed = max(self.elapsed, time)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def kill(self, task: Task) -> None:
        """End a task, within a step or between two."""
        if task.done or task.killed:
            return
        task.killed = True
        self._heap = [entry for entry in self._heap if entry[2] is not task]
        heapq.heapify(self._heap)
        if task.runner is None:
            task.done = True
        elif task is not self.current:
            self.at(self.elapsed, task)

    def close(self) -> None:
        """End all tasks, and the threads."""
        for task in self._tasks:
            self.kill(task)
        self.failure = None
        self.run_until(self.elapsed)
        self.closed = True
        for runner in self._idle:
            runner.baton.release()

    def drive(self, runner: _Runner, task: Task | None) -> None:
        """Run one step after the other in one thread, until it is the turn of
        another one.
        """
        while task is not None and task.runner is None:
            self._step(runner, task)
            task = self._next()
        self._idle.append(runner)
        self._hand_to(task)

    def _step(self, runner: _Runner, task: Task) -> None:
        task.runner, self.current = runner, task
        try:
            pause = task.step()
        except Killed:
            pause = None
        except BaseException as e:  # noqa: BLE001 - raised by the driver
            self.failure, pause = e, None
        task.runner = None
        task.done = pause is None or task.killed
        if pause is not None and not task.killed:
            self.at(self.elapsed + pause, task)

    def _hand_to(self, task: Task | None) -> None:
        """Hand the baton to whoever goes on; to the driver without a task."""
        if task is None:
            self._driver.release()
        elif task.runner is not None:
            task.runner.baton.release()
        else:
            runner = self._idle.pop() if self._idle else _Runner(self)
            runner.task = task
            runner.baton.release()

    def _next(self) -> Task | None:
        """Run what events are due; return the task that is due then."""
        self.current = None
        while self.failure is None and self._heap:
            time, _, what = self._heap[0]
            if time > self._until:
                break
            heapq.heappop(self._heap)
            self.elapsed = max(self.elapsed, time)
            if isinstance(what, Task):
                if not what.done:
                    return what
                continue
            try:
                what()
            except BaseException as e:  # noqa: BLE001 - raised by the driver
                self.failure = e
        return None
