"""Where a process spends its processor time: by thread, by source file.

The kernel counts the time of each thread, librdkafka's included; py-spy looks
at the Python stacks of those that run, a hundred times a second.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.support.footprint import Cost, Footprint

__all__ = ["ProcessorTime", "by_source"]

RATE = 100

SHOWN = 25


PY_SPY = Path(sys.executable).with_name("py-spy")

OURS = "mirrorwatch"


class ProcessorTime:
    """What the threads of a process do while it is watched.

    Parameters
    ----------
    pid
        The process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seconds = 0.0
        self._threads: defaultdict[str, float] = defaultdict(float)
        self._sources: Counter[str] = Counter()

    @contextmanager
    def watch(self, *, sampled: bool) -> Iterator[None]:
        """Count its time in the block; with samples also by source, which
        costs it some.
        """
        whole, before = Footprint.of(self._pid), self._spent()
        with self._sample() if sampled else nullcontext():
            yield
        after = self._spent()
        cost = Cost(whole, Footprint.of(self._pid))
        self._seconds = cost.seconds
        names = self._names()
        for thread, (name, spent) in after.items():
            began = before.get(thread, (name, 0.0))[1]
            self._threads[names.get(thread, name)] += spent - began
        # Such as write `/metrics`, and ask for log ends.
        rest = cost.cpu_seconds - sum(self._threads.values())
        self._threads["threads that ended"] = max(0.0, rest)

    @contextmanager
    def _sample(self) -> Iterator[None]:
        """Look at its stacks until the block ends."""
        with tempfile.TemporaryDirectory() as folder:
            stacks = Path(folder) / "stacks"
            with subprocess.Popen(
                [
                    *(PY_SPY, "record", "--pid", str(self._pid)),
                    *("--duration", "unlimited", "--threads"),
                    *("--rate", str(RATE), "--format", "raw"),
                    *("--full-filenames", "--nonblocking"),
                    *("--output", stacks),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as looking:
                yield
                looking.send_signal(signal.SIGINT)  # it writes, and ends
            self._sources = by_source(stacks.read_text().splitlines())

    def __str__(self) -> str:
        total = sum(self._threads.values())
        rows = ["    by thread, % of a core:"]
        most = sorted(self._threads.items(), key=lambda item: -item[1])
        for name, spent in most[:SHOWN]:
            rows.append(f"    {100 * spent / self._seconds:6.2f}  {name}")
        looks = sum(self._sources.values()) or 1
        if self._sources:
            rows.append("    by source file of Python's part, % of the looks:")
        for name, count in self._sources.most_common(SHOWN):
            rows.append(f"    {100 * count / looks:6.1f}  {name}")
        rows.append(f"    all threads: {total:.2f} s of {self._seconds:.0f} s")
        return "\n".join(rows)

    def _spent(self) -> dict[int, tuple[str, float]]:
        """Return each thread's name and processor seconds."""
        found = {}
        for task in Path(f"/proc/{self._pid}/task").iterdir():
            try:
                stat = (task / "stat").read_text()
                # Nanoseconds; the other file has hundredths of a second.
                spent = int((task / "schedstat").read_text().split()[0]) / 1e9
            except FileNotFoundError:
                continue  # it has ended
            name = stat.partition("(")[2].rpartition(")")[0]
            found[int(task.name)] = (name, spent)
        return found

    def _names(self) -> dict[int, str]:
        told = subprocess.run(
            [PY_SPY, "dump", "--pid", str(self._pid), "--json"],
            check=True,
            capture_output=True,
        ).stdout
        return {
            each["os_thread_id"]: each["thread_name"] or "?"
            for each in json.loads(told)
            if each.get("thread_name")
        }


def by_source(lines: Iterable[str]) -> Counter[str]:
    """Return how often each source file of ours ran, by itself or in what it
    called, with the thread.

    Parameters
    ----------
    lines
        Stacks as py-spy writes them: the thread, then frames from the
        outermost in, with semicolons, and a count.
    """
    found: Counter[str] = Counter()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        thread, *frames = stack.split(";")
        ours = [f for f in frames if f"/{OURS}/" in f]
        where = ours[-1] if ours else frames[-1] if frames else "?"
        file = where.rpartition("(")[2].rpartition(":")[0]
        short = file.rpartition(f"/{OURS}/")[2]
        name = thread.rpartition(": ")[2].strip('"')
        found[f"{short} ({name})"] += int(count)
    return found
