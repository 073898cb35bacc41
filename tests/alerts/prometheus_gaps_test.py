"""What goes to and fro, and what is missing: rules as promtool plays them."""

from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.bundled_files import bundled_folder
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.report import Health
from tests.support.alert_stories import at, expected
from tests.support.promtool import FLOW, OTHER, Story, check_stories, health_of

pytestmark = pytest.mark.slow

RULES = bundled_folder("alerts") / "prometheus" / "mirrorwatch.yaml"
SCRAPE = timedelta(seconds=15)
MINUTE = 4
"""In scrapes."""

MISSED = "stale"
"""What Prometheus writes for each series of a scrape that failed."""

LAST_TICK = "mirrorwatch_last_tick_timestamp_seconds"
LOST = 'mirrorwatch_sink_lost_points_total{sink="influxdb"}'


def series(*runs: tuple[int, str]) -> str:
    """Return values in promtool's notation: patterns, by their scrapes."""
    return " ".join(
        values[n % len(values)]
        for length, pattern in runs
        for values in [pattern.split()]
        for n in range(length)
    )


def ticks(*runs: tuple[int, str]) -> str:
    """Return times of the last tick where there are any in a pattern."""
    values = series(*runs).split()
    seconds = int(SCRAPE.total_seconds())
    return " ".join(
        v if v == MISSED else str(n * seconds) for n, v in enumerate(values)
    )


def test_neither_not_knowing_nor_a_good_moment_ends_an_alert(
    tmp_path: Path,
) -> None:
    told = expected("lag", Health.CRITICAL)
    blind = told | expected("lag", Health.UNKNOWN)
    minutes = [(4, "0"), (20, "3"), (20, "1"), (10, "3")]
    runs = [(n * MINUTE, value) for n, value in minutes]
    runs += [(2, "0"), (5 * MINUTE, "3"), (5 * MINUTE, "0")]
    story = Story(
        name="critical, not known for long, well for a moment, well",
        step=SCRAPE,
        steps=sum(n for n, _ in runs),
        series={health_of("lag"): series(*runs)},
        fires={
            25 * MINUTE: at(told),
            43 * MINUTE: at(blind),
            # What cannot be told is over, the rest is not.
            46 * MINUTE: at(told),
            54 * MINUTE + 1: at(told),
            58 * MINUTE: at(told),
            62 * MINUTE: set(),
        },
        ever=blind,
    )
    check_stories(RULES, tmp_path, [story])


@pytest.mark.parametrize("check", ["canary", "audit"])
def test_a_check_that_is_bad_and_not_known_by_turns_makes_a_ticket(
    check: str, tmp_path: Path
) -> None:
    told = {f"Mirrorwatch{check.capitalize()}Warning"}
    runs = [(8, "0"), (20 * MINUTE, "3 3 1 1 1 1"), (4 * MINUTE, "0")]
    story = Story(
        name=f"{check}: never well and never critical for long",
        step=SCRAPE,
        steps=sum(n for n, _ in runs),
        series={health_of(check): series(*runs)},
        fires={20 * MINUTE: at(told), 25 * MINUTE: set()},
        ever=told,
    )
    check_stories(RULES, tmp_path, [story])


def test_a_single_bad_sample_is_nothing_whatever_is_missing_or_unknown(
    tmp_path: Path,
) -> None:
    stories = [
        Story(
            name=f"one bad sample, then {then}",
            step=SCRAPE,
            steps=sum(n for n, _ in runs),
            series={
                health_of(check): series(*runs) for check in ("skips", "tasks")
            },
            fires={},
        )
        for then in (MISSED, "1")
        for runs in [
            [(8, "0"), (1, "3"), (14 * MINUTE, then), (4 * MINUTE, "0")]
        ]
    ]
    check_stories(RULES, tmp_path, stories)


def test_scrapes_that_fail_now_and_then_do_not_silence_an_alert(
    tmp_path: Path,
) -> None:
    critical = expected("lag", Health.CRITICAL)
    every = [(8, "0"), (20 * MINUTE, f"3 3 {MISSED}"), (4 * MINUTE, "0")]
    # It dies soon after each start, before it knows anything.
    loop = [(8, "0"), (20 * MINUTE, f"1 {' '.join([MISSED] * 5)}"), (16, "0")]
    restless = {
        name for c in CHECKS for name in expected(c, Health.UNKNOWN)
    } - {"MirrorwatchAuditUnknown"}
    stories = [
        Story(
            name="each third scrape fails",
            step=SCRAPE,
            steps=sum(n for n, _ in every),
            series={
                health_of("lag"): series(*every),
                LAST_TICK: ticks(*every),
                'mirrorwatch_sink_up{sink="influxdb"}': series(
                    (8, "1"), (20 * MINUTE, f"0 0 {MISSED}"), (16, "1")
                ),
            },
            fires={
                20 * MINUTE: at(critical) | at({"MirrorwatchSinkDown"}, ""),
                25 * MINUTE: set(),
            },
            ever=critical | {"MirrorwatchSinkDown"},
        ),
        Story(
            name="the agent dies and is started again and again",
            step=SCRAPE,
            steps=sum(n for n, _ in loop),
            series={
                **{health_of(check): series(*loop) for check in CHECKS},
                LAST_TICK: ticks(*loop),
            },
            fires={20 * MINUTE: at(restless), 25 * MINUTE: set()},
            ever=restless,
        ),
    ]
    check_stories(RULES, tmp_path, stories)


def test_an_agent_that_dies_beside_another_is_told_by_its_flows(
    tmp_path: Path,
) -> None:
    well, gone = 10 * MINUTE, 20 * MINUTE
    dies = series((well, "0"), (gone, MISSED))
    none = f"_x{well + gone}"
    other = f'mirrorwatch_health{{flow="{OTHER}"}}'
    unwatched = {"MirrorwatchFlowUnwatched"}
    story = Story(
        name="one of two agents dies",
        step=SCRAPE,
        steps=well + gone,
        series={
            **{health_of(c): dies for c in CHECKS},
            f'mirrorwatch_health{{flow="{FLOW}"}}': dies,
            f'mirrorwatch_maintenance{{flow="{FLOW}"}}': dies,
            other: none,
            f'mirrorwatch_health{{flow="{OTHER}", instance="b"}}': series(
                (well + gone, "0")
            ),
        },
        fires={well + 4 * MINUTE: set(), well + 6 * MINUTE: at(unwatched)},
        ever=unwatched,
    )
    check_stories(RULES, tmp_path, [story])


def test_an_agent_that_moves_takes_its_alerts_along(tmp_path: Path) -> None:
    told = expected("lag", Health.CRITICAL)
    before, after = 20 * MINUTE, 10 * MINUTE
    lag = health_of("lag").removesuffix("}")
    story = Story(
        name="from one machine to another",
        step=SCRAPE,
        steps=before + after,
        series={
            health_of("lag"): f"_x{before}",
            f'{lag}, instance="a"}}': series((before, "3"), (after, MISSED)),
            f'{lag}, instance="b"}}': series((before + 6, "_"), (after, "3")),
        },
        fires={n: at(told) for n in range(before, before + 12, 3)},
        ever=told,
    )
    check_stories(RULES, tmp_path, [story])


def test_a_counter_that_begins_again_is_no_loss_but_what_it_counts_is(
    tmp_path: Path,
) -> None:
    name = "MirrorwatchSinkLosesPoints"
    half = 10 * MINUTE
    again = [
        Story(
            name=f"an agent is started again and has lost {lost}",
            step=SCRAPE,
            steps=3 * half,
            series={LOST: series((half, "7"), (half, "0"), (half, lost))},
            fires={half + 8: set(), 2 * half + 8: at(fired, "")},
            ever=fired,
        )
        for lost, fired in (("0", set[str]()), ("2", {name}))
    ]
    check_stories(RULES, tmp_path, again)
