"""What the agent costs: `make bench`.

One lab, and one canary topic for each number of partitions; the agent watches
them one after the other, with nothing but Prometheus asking it every 15 s.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import httpx

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from tests.support.agent_process import AgentProcess
from tests.support.footprint import Cost, describe_machine
from tests.support.series import Series, prometheus_series
from tests.support.watch import describe, wait_until

WARM_UP_SECONDS = 20.0
"""After everything is ok: the first ticks make tables and open connections."""

SCRAPE_SECONDS = 15.0
"""Between two scrapes, as Prometheus is often told."""

START_SECONDS = 120.0


def measure(lab: Lab, topic: str, seconds: float) -> str:
    """Return a line of figures."""
    config = describe(lab, canary={"topic": topic})
    with (
        tempfile.TemporaryDirectory() as folder,
        AgentProcess(Path(folder), config) as agent,
        httpx.Client(base_url=agent.url) as client,
    ):
        wait_until(
            lambda: is_ok(client),
            within=START_SECONDS,
            what=lambda: client.get("/api/status").text,
        )
        time.sleep(WARM_UP_SECONDS)
        before, scrapes = agent.footprint, [scrape(client)]
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, SCRAPE_SECONDS))
            scrapes.append(scrape(client))
        cost = Cost(before, agent.footprint)
        agent.stop()
    ticks = [s["mirrorwatch_tick_seconds", ()] * 1000 for s in scrapes]
    sent = total(scrapes[-1], "sent") - total(scrapes[0], "sent")
    lost = total(scrapes[-1], "lost")
    return (
        f"{cost}; tick {median(ticks):.1f} ms, at most {max(ticks):.1f} ms; "
        f"{sent / cost.seconds:.1f} probes a second, {lost:.0f} lost"
    )


def is_ok(client: httpx.Client) -> bool:
    flows = client.get("/api/status").json()["flows"]
    return bool(flows) and all(flow["health"] == "ok" for flow in flows)


def scrape(client: httpx.Client) -> Series:
    return prometheus_series(client.get("/metrics").text)


def total(series: Series, counter: str) -> float:
    name = f"mirrorwatch_canary_{counter}_total"
    return sum(v for (metric, _), v in series.items() if metric == name)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument(
        "--partitions", type=int, nargs="+", default=[6, 1, 24]
    )
    options = parser.parse_args(arguments)
    topics = {n: f"{CANARY_TOPIC}.{n}" for n in options.partitions}
    print(f"On {describe_machine()}", flush=True)
    with Lab(LabSettings(topics={t: n for n, t in topics.items()})) as lab:
        for partitions, topic in topics.items():
            line = measure(lab, topic, options.seconds)
            print(f"{partitions:3} partitions: {line}", flush=True)
    print(f"In the end: {describe_machine()}")


if __name__ == "__main__":
    main()
