"""MirrorMaker 2, real, watched by its copies alone, as a mirror that says
nothing: beside an agent that reads its offset-syncs, which is the truth.

Traffic is clean, records are dropped, and the mirror is stopped and killed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import copied, numbered, produce
from tests.support.skips import books_of, truth, wait_for_tallies
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

MARKED = {MARK: b""}
TOPICS = {CANARY_TOPIC: 1, "x": 1, "y": 2, "quiet": 1}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(LabSettings(topics=dict(TOPICS), start_mirror=False)) as lab:
        lab.mirror.start(drop_marked())
        yield lab


LIMITS = {
    "latency": {"warning": "5m", "critical": "10m"},
    "position": {"lost_window": "5s", "rewind_window": "5s"},
    "skips": {"lost_window": "5s", "warning_window": "5s"},
}


def by_syncs(lab: Lab, state: Path) -> Watch:
    return Watch(lab, state=state, flow={"limits": LIMITS})


def by_copies(lab: Lab, state: Path) -> Watch:
    return Watch(
        lab,
        state=state,
        canary={"enabled": False},
        flow={"limits": LIMITS, "mirror": {"kind": "opaque"}},
    )


def lag(watch: Watch) -> Mapping[str, int]:
    """Return the lag in records of the topics that are not the canary's."""
    report = watch.agent.latest.get()
    return {
        topic.topic: topic.records
        for seen in (report.observations if report else ())
        for topic in getattr(seen, "topics", ())
        if hasattr(topic, "records") and topic.topic in {"x", "y", "quiet"}
    }


def unhealthy(watch: Watch) -> dict[str, str]:
    report = watch.agent.latest.get()
    healthy = {Health.OK, Health.OFF}
    return {
        v.check: f"{v.health}: {v.reason}"
        for v in (report.verdicts if report else ())
        if v.health not in healthy
    }


def wait_for_lag(watch: Watch, expected: Mapping[str, int]) -> None:
    wait_until(
        lambda: lag(watch) == expected,
        what=lambda: (lag(watch), unhealthy(watch)),
    )


def test_copies_tell_what_syncs_tell(lab: Lab, tmp_path: Path) -> None:
    for topic in ("x", "y", "quiet"):
        produce(lab, topic, numbered("a", 0, 150))
        copied(lab, topic, ["a 149"])
    with (
        by_syncs(lab, tmp_path / "syncs.db") as syncs,
        by_copies(lab, tmp_path / "copies.db") as copies,
    ):
        both = (syncs, copies)
        for watch in both:
            watch.wait_for(Health.OK, check="lag")
            watch.wait_for(Health.OK, check="skips")
        for n in range(5):
            produce(lab, "x", numbered(f"b{n}", 0, 60))
            produce(lab, "x", numbered(f"x{n}", 0, n + 1), headers=MARKED)
            produce(lab, "x", numbered(f"c{n}", 0, 40))
            copied(lab, "x", [f"c{n} 39"])
        for watch in both:
            wait_for_tallies(watch, {"x": lambda: truth(lab, "x")})
        assert books_of(syncs, "x") == books_of(copies, "x") == (15, 0)
        lab.mirror.stop()
        produce(lab, "x", numbered("d", 0, 7))
        produce(lab, "quiet", numbered("d", 0, 30))
        for watch in both:
            wait_for_lag(watch, {"x": 7, "y": 0, "quiet": 30})
