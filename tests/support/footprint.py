"""What a process costs, as the kernel counts it."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "Footprint", "describe_machine"]

MIB = 2**20
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
    """What a process has cost up to a moment."""

    at: float
    """Monotonic seconds."""

    cpu_seconds: float
    rss_mib: float
    peak_mib: float
    threads: int

    @classmethod
    def of(cls, pid: int) -> "Footprint":
        proc = Path("/proc") / str(pid)
        # The name is in brackets and may contain blanks.
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        lines = (proc / "status").read_text().splitlines()
        status = {
            k: v.split() for k, _, v in (x.partition(":") for x in lines)
        }
        return cls(
            at=time.monotonic(),
            cpu_seconds=(int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND,
            rss_mib=int(status["VmRSS"][0]) * 1024 / MIB,
            peak_mib=int(status["VmHWM"][0]) * 1024 / MIB,
            threads=int(status["Threads"][0]),
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process cost between two moments."""

    before: Footprint
    after: Footprint

    @property
    def seconds(self) -> float:
        return self.after.at - self.before.at

    @property
    def cpu_seconds(self) -> float:
        return self.after.cpu_seconds - self.before.cpu_seconds

    @property
    def percent_of_core(self) -> float:
        return 100 * self.cpu_seconds / self.seconds

    @property
    def growth_mib(self) -> float:
        return self.after.rss_mib - self.before.rss_mib

    def __str__(self) -> str:
        return (
            f"{self.percent_of_core:.2f} % of a core over "
            f"{self.seconds:.0f} s, {self.after.rss_mib:.1f} MiB resident "
            f"({self.growth_mib:+.1f}, at most {self.after.peak_mib:.1f}), "
            f"{self.after.threads} threads"
        )


def describe_machine() -> str:
    """Return what a figure was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [x.partition(":")[2] for x in lines if x.startswith("model name")]
    model = names[0].strip() if names else os.uname().machine
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return f"{os.cpu_count()} x {model}, load {load}"
