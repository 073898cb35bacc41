"""Reports of every shape, for properties."""

from datetime import timedelta

from hypothesis import strategies as st

from mirrorwatch.domain.observations import (
    CanaryCounts,
    CanaryObservation,
    CanaryPartition,
    Histogram,
)
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import AgentState, Report

from .builders import NOON, a_verdict, a_window

__all__ = ["reports"]

FLOWS = ("summit->ldf", "ldf->summit", "other")
CHECKS = ("canary", "latency", "lag")


def _a_histogram(milliseconds: list[int]) -> Histogram:
    histogram = Histogram()
    for duration in milliseconds:
        histogram.observe(timedelta(milliseconds=duration))
    return histogram


NAMES = st.sampled_from(["influxdb", "prometheus", "log", "web"])

counts = st.integers(0, 10**9)
times = st.integers(-(10**6), 10**6).map(
    lambda ms: NOON + timedelta(milliseconds=ms)
)

histograms = st.lists(st.integers(-5, 400_000), max_size=4).map(_a_histogram)


def _partitions(
    number: int,
) -> st.SearchStrategy[CanaryPartition]:
    return st.builds(
        CanaryPartition,
        partition=st.just(number),
        counts=st.builds(
            CanaryCounts, sent=counts, delivered=counts, lost=counts
        ),
        latency=histograms,
        replication=histograms,
        produce=histograms,
        outstanding=st.integers(0, 3),
        oldest_outstanding=st.none() | times,
        oldest_unacked=st.none() | times,
        last_arrival=st.none() | times,
        warming=st.booleans(),
    )


canaries = st.builds(
    CanaryObservation,
    flow=st.sampled_from(FLOWS),
    at=times,
    topic=st.just("mirrorwatch.canary"),
    remote_topic=st.just("mirrorwatch.canary"),
    partitions=st.integers(0, 2).flatmap(
        lambda n: st.tuples(*(_partitions(p) for p in range(n)))
    ),
    arrivals=st.just(()),
)

verdicts = st.builds(
    lambda flow, check, health: a_verdict(health, flow=flow, check=check),
    st.sampled_from(FLOWS),
    st.sampled_from(CHECKS),
    st.sampled_from(Health),
)

reports = st.builds(
    Report,
    at=times,
    flows=st.lists(st.sampled_from(FLOWS), unique=True).map(
        lambda names: tuple(
            Flow(name=name, source="summit", target="ldf") for name in names
        )
    ),
    observations=st.lists(canaries, max_size=3).map(tuple),
    verdicts=st.lists(
        verdicts, max_size=4, unique_by=lambda v: (v.flow, v.check)
    ).map(tuple),
    agent=st.builds(
        AgentState,
        sources_up=st.dictionaries(NAMES, st.booleans()),
        sinks_up=st.dictionaries(NAMES, st.booleans()),
        spooled_points=st.dictionaries(NAMES, counts),
        lost_points=st.dictionaries(NAMES, counts),
        last_tick=st.none() | st.timedeltas(timedelta(), timedelta(hours=1)),
    ),
    maintenance=st.lists(
        st.sampled_from(FLOWS).map(lambda flow: a_window(flow=flow)),
        max_size=2,
    ).map(tuple),
)
"""Reports, each flow and check judged at most once."""
