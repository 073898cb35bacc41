"""Virtual time: who runs next, and what the clocks say.

Everything runs in one process, one at a time, in an order that the seed alone
decides. The agent's workers block inside client calls, so each has a thread;
a thread that waits hands the baton to whatever is due next.
"""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock, Thread

__all__ = ["Killed", "Schedule", "Task"]

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Wall-clock time at which each world begins."""


class Killed(BaseException):
    """Ends a thread at the call in which it waits, as SIGKILL would."""


class Task:
    """A thread that runs only when it is its turn.

    Parameters
    ----------
    schedule
        Decides whose turn it is.
    name
        For errors.
    work
        What the thread does.
    """

    def __init__(
        self, schedule: "Schedule", name: str, work: Callable[[], None]
    ) -> None:
        self.name = name
        self.killed = False
        self.done = False
        self._schedule = schedule
        self._work = work
        self._baton = Lock()
        self._baton.acquire()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def resume(self) -> None:
        """Let the thread run, from another one."""
        self._baton.release()

    def wait(self) -> None:
        """Wait for its turn, within the thread itself."""
        self._baton.acquire()
        self._schedule.current = self
        if self.killed:
            raise Killed

    def _run(self) -> None:
        try:
            self.wait()
            self._work()
        except Killed:
            pass
        except BaseException as e:  # noqa: BLE001 - raised again in the driver
            self._schedule.failure = e
        self.done = True
        self._schedule.pass_on()


class Schedule:
    """Events and threads in the order of their time.

    Attributes
    ----------
    elapsed
        Seconds since the world began: the monotonic clock.
    step
        How far the agent's wall clock is wrong.
    """

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.step = timedelta()
        self.current: Task | None = None
        self.failure: BaseException | None = None
        self._heap: list[tuple[float, int, Callable[[], None] | Task]] = []
        self._number = 0
        self._until = 0.0
        self._tasks: list[Task] = []
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
        """Run an event, or resume a thread, at a time."""
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

    def spawn(
        self, name: str, work: Callable[[], None], delay: float = 0.0
    ) -> Task:
        """Start a thread."""
        task = Task(self, name, work)
        self._tasks = [t for t in self._tasks if not t.done]
        self._tasks.append(task)
        self.at(self.elapsed + delay, task)
        return task

    def sleep(self, seconds: float) -> None:
        """Wait, within a thread of the schedule."""
        task = self.current
        assert task is not None, "only threads of the schedule wait"
        wake = self.elapsed + max(0.0, seconds)
        if task.killed:
            raise Killed
        # Most waits end before anything else is due.
        if wake <= self._until and (not self._heap or self._heap[0][0] > wake):
            self.elapsed = wake
            return
        self.at(wake, task)
        if not self._hand_on(task):
            task.wait()

    def run_until(self, time: float) -> None:
        """Run everything up to a time, from outside.

        Raises
        ------
        BaseException
            Raised as a thread raised it.
        """
        self._until = time
        self.current = None
        if not self._hand_on(None, driver=True):
            self._driver.acquire()
        self.current = None
        self.elapsed = max(self.elapsed, time)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure

    def kill(self, task: Task) -> None:
        """End a thread that waits, now."""
        if task.done or task.killed:
            return
        task.killed = True
        self._heap = [entry for entry in self._heap if entry[2] is not task]
        heapq.heapify(self._heap)
        if task is not self.current:
            self.at(self.elapsed, task)

    def pass_on(self) -> None:
        """Hand the baton on, from a thread that ends."""
        self._hand_on(None)

    def close(self) -> None:
        """End all threads that still wait."""
        for task in self._tasks:
            self.kill(task)
        self.failure = None
        self.run_until(self.elapsed)

    def _hand_on(self, own: Task | None, *, driver: bool = False) -> bool:
        """Run what is due until it is the caller's turn; `True` if so now.

        The driver, which is no task, has the baton when nothing is left to do
        before the end.
        """
        while self.failure is None and self._heap:
            time, _, what = self._heap[0]
            if time > self._until:
                break
            heapq.heappop(self._heap)
            self.elapsed = max(self.elapsed, time)
            if isinstance(what, Task):
                if what.done:
                    continue
                if what is own and not what.killed:
                    return True
                what.resume()
                return False
            try:
                what()
            except BaseException as e:  # noqa: BLE001 - raised by the driver
                self.failure = e
        if driver:
            return True
        self._driver.release()
        return False
