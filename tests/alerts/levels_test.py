"""Alerts on budgets fire where they burn, and are silent elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.bundled_files import bundled_folder
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.levels.model import (
    LevelCounts,
    LevelObjective,
    LevelsObservation,
    LevelState,
    ServiceLevel,
)
from mirrorwatch.domain.report import Flow
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch_alerting.alerts import LEVEL_ALERTS
from mirrorwatch_alerting.prometheus import rules
from tests.support.alert_servers import (
    FLOW,
    OTHER,
    Story,
    check_stories,
    ruling,
)
from tests.support.alerts import LONG_STEP, at
from tests.support.builders import a_report
from tests.support.http import Answer, answering
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow

RULES = bundled_folder("alerts") / "prometheus" / "mirrorwatch.yaml"
STEP = LONG_STEP
"""Minutes would take minutes."""

FAST, MEDIUM, SLOW = (
    f"MirrorwatchBudget{name}" for name in ("Fast", "Medium", "Slow")
)
HOLD = timedelta(seconds=4)
HOUR = 15
"""In steps."""

ALL = 200
"""More steps than any story has."""


def level(
    good: str, bad: str, unknown: str = f"0x{ALL}", flow: str = FLOW
) -> dict[str, str]:
    labels = f'{{flow="{flow}", level="delivered"}}'
    return {
        f"mirrorwatch_level_good_total{labels}": good,
        f"mirrorwatch_level_bad_total{labels}": bad,
        f"mirrorwatch_level_unknown_total{labels}": unknown,
        f"mirrorwatch_level_objective_ratio{labels}": f"0.999x{ALL}",
    }


def story(name: str, steps: int, *parts: dict[str, str]) -> Story:
    series = {key: value for part in parts for key, value in part.items()}
    return Story(name=name, step=STEP, steps=steps, series=series, fires={})


def stories() -> Iterator[Story]:
    # Six hours are good, half an hour nothing arrives, then all is well.
    begin, end = 6 * HOUR, 6 * HOUR + 8
    good = 240 * begin
    burns = story(
        "nothing arrives for half an hour",
        end + 7 * HOUR,
        level(
            f"0+240x{begin} {good}x7 {good}+240x{ALL}",
            f"0x{begin} 240+240x7 1920x{ALL}",
        ),
        level(f"0+240x{ALL}", f"0x{ALL}", flow=OTHER),
    )
    burns.fires = {
        begin: set(),
        begin + 4: at({FAST, MEDIUM}),
        end: at({FAST, MEDIUM}),
        # Short windows are over one after the other: 5 and 30 minutes.
        end + 5: at({MEDIUM, SLOW}),
        end + 12: at({SLOW}),
        end + 7 * HOUR - 1: set(),
    }
    burns.ever = {FAST, MEDIUM, SLOW}
    yield burns

    # A probe in a thousand may be bad; here it is one in 500, or in 2,000.
    slow = story(
        "twice what the budget lasts for",
        2 * HOUR,
        level(f"0+499x{ALL}", f"0+1x{ALL}"),
        level(f"0+1999x{ALL}", f"0+1x{ALL}", flow=OTHER),
    )
    slow.fires = {2 * HOUR - 1: at({SLOW})}
    slow.ever = {SLOW}
    yield slow

    unknown = story(
        "the source is down for hours",
        4 * HOUR,
        level(
            f"0+240x{HOUR} {240 * HOUR}x{ALL}",
            f"0x{ALL}",
            f"0x{HOUR} 240+240x{ALL}",
        ),
    )
    unknown.fires = {4 * HOUR - 1: set()}
    yield unknown


def held() -> Iterator[Story]:
    key = f'mirrorwatch_maintenance{{flow="{FLOW}"}}'
    burning = level(f"0x{ALL}", f"0+240x{ALL}")
    before = story("maintenance is before it", 30, burning, {key: f"1x{ALL}"})
    before.fires = {29: set()}
    yield before
    while_it = story(
        "maintenance begins while it burns",
        40,
        burning,
        {key: f"0x20 1x{ALL}"},
    )
    while_it.fires = {
        20: at({FAST, MEDIUM, SLOW}),
        39: at({FAST, MEDIUM, SLOW}),
    }
    while_it.ever = {FAST, MEDIUM, SLOW}
    yield while_it


def silence() -> Iterator[Story]:
    # Everything is bad, the agent is silent for two hours, then it is well.
    stops, back = HOUR, 3 * HOUR
    gap = f"stale _x{back - stops - 1}"
    told = story(
        "the agent is silent while the budget burns",
        back + 7 * HOUR,
        level(
            f"0x{stops} {gap} 0+240x{ALL}",
            f"0+240x{stops} {gap} {240 * stops}x{ALL}",
        ),
    )
    labels = f'{{flow="{FLOW}", level="delivered"}}'
    told.series = {
        **told.series,
        f"mirrorwatch_level_objective_ratio{labels}": f"0.999x{stops} {gap} "
        f"0.999x{ALL}",
    }
    told.fires = {
        stops: at({FAST, MEDIUM, SLOW}),
        back: at({FAST, MEDIUM, SLOW}),
        back + 4: at({SLOW}),
        back + 7 * HOUR - 1: set(),
    }
    told.ever = {FAST, MEDIUM, SLOW}
    yield told


@pytest.mark.parametrize("told", [stories, held, silence])
def test_a_budget_that_burns_is_told_and_nothing_else(
    told: Callable[[], Iterator[Story]], tmp_path: Path
) -> None:
    check_stories(RULES, tmp_path, list(told()))


HURRY = {
    "[5m]": "[4s]",
    "[30m]": "[6s]",
    "[1h]": "[8s]",
    "[6h]": "[12s]",
    "[3d]": "[20s]",
    "[30d]": "[40s]",
    "interval: 4m": "interval: 1s",
}
"""A month is less than a minute."""


def test_a_real_prometheus_tells_a_fault_and_nothing_where_there_is_none(
    tmp_path: Path,
) -> None:
    """What the sink shows is what the rules ask for, flow by flow."""
    hurried = tmp_path / "rules.yaml"
    text = rules([replace(a, hold=HOLD) for a in LEVEL_ALERTS])
    for whole, short in HURRY.items():
        assert whole in text
        text = text.replace(whole, short)
    hurried.write_text(text)
    sink = PrometheusSink()
    page = Answer(
        status=200, headers={"Content-Type": "text/plain; version=0.0.4"}
    )
    counts = {FLOW: LevelCounts(), OTHER: LevelCounts()}
    faulty = False

    def tick() -> None:
        for flow, count in counts.items():
            bad = faulty and flow == FLOW
            count.add(LevelCounts(bad=9) if bad else LevelCounts(good=9))
        now = utc_now()
        flows = [Flow(name=f, source="a", target="b") for f in counts]
        seen = [
            LevelsObservation(
                flow=flow,
                at=now,
                levels=(
                    LevelState(
                        objective=LevelObjective(
                            level=ServiceLevel.DELIVERED, share=0.999
                        ),
                        total=count.copy(),
                        month=count.copy(),
                    ),
                ),
            )
            for flow, count in counts.items()
        ]
        sink.publish(
            a_report(now, flows=flows, verdicts=[], observations=seen)
        )
        page.body = sink.exposition("text/plain;version=0.0.4")[0]

    tick()
    with (
        answering(page),
        ruling(
            tmp_path / "prometheus", page.url, hurried, every="1s"
        ) as prometheus,
    ):

        def fire() -> set[tuple[str, str]]:
            tick()
            found = prometheus.query(
                'ALERTS{alertname=~".*Budget.*", alertstate="firing"}'
            )
            labels = [series["metric"] for series in found]
            return {(x["alertname"], x["flow"]) for x in labels}

        def is_known() -> bool:
            fire()
            known = prometheus.query("mirrorwatch:level_bad:ratio_rate3d == 0")
            return len(known) == len(counts)

        wait_until(is_known, within=60)
        assert fire() == set()
        faulty = True
        wait_until(lambda: fire() == at({FAST, MEDIUM, SLOW}), within=60)
        faulty = False
        wait_until(lambda: fire() == set(), within=60)
