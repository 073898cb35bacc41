"""Every rule fires for its fault and for no other, played by promtool."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.report import Health
from mirrorwatch_alerting.alerts import (
    ALERTS,
    PAGE,
    Above,
    Alert,
    AtFault,
    Grows,
    Old,
    Silent,
    Vanished,
    WhenHealth,
)
from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.alert_servers import (
    FIRING,
    FLOW,
    OTHER,
    Story,
    cause_of,
    check_stories,
    health_of,
    play,
)
from tests.support.alerts import (
    AFTER,
    BEGIN,
    LONG_STEP,
    ONCE,
    STEP,
    at,
    expected,
    fault_of,
    keep_of,
    raised_by,
    steps_of,
)

pytestmark = pytest.mark.slow

RULES = bundled_folder("alerts") / "prometheus" / "mirrorwatch.yaml"
MAINTENANCE = f'mirrorwatch_maintenance{{flow="{FLOW}"}}'
LAST_TICK = "mirrorwatch_last_tick_timestamp_seconds"
BAD = (Health.CRITICAL, Health.WARNING, Health.UNKNOWN)

Series = dict[str, str]

FAULTS = [fault_of(check, health) for check in CHECKS for health in BAD]


@pytest.mark.parametrize(
    ("health", "step"),
    [
        (Health.CRITICAL, STEP),
        pytest.param(Health.WARNING, STEP, marks=pytest.mark.long),
        pytest.param(Health.UNKNOWN, STEP, marks=pytest.mark.long),
        pytest.param(Health.UNKNOWN, LONG_STEP, marks=pytest.mark.long),
    ],
)
def test_each_check_fires_for_its_fault_only_and_resolves(
    health: Health, step: timedelta, tmp_path: Path
) -> None:
    told = [fault_of(check, health) for check in CHECKS]
    stories = [story for story in told if story.step == step]
    assert stories
    check_stories(RULES, tmp_path, stories)


def test_every_alert_of_a_check_is_fired_by_one_of_these_faults() -> None:
    judged = {a.name for a in ALERTS if isinstance(a.when, WhenHealth)}
    assert set().union(*(story.ever for story in FAULTS)) == judged


@pytest.mark.long
def test_maintenance_holds_new_alerts_and_ends_those_that_fire(
    tmp_path: Path,
) -> None:
    check_stories(RULES, tmp_path, [s for h in BAD for s in held(h)])


def held(health: Health) -> Iterator[Story]:
    """Tell what maintenance does before alerts of all checks fire, and
    afterwards.
    """
    alerts = [a for c in CHECKS for a in raised_by(c, health).values()]
    quick = [a for a in alerts if a.hold < timedelta(hours=1)]
    soon = {alert.name for alert in quick}
    assert soon
    long = max(map(steps_of, quick)) + 10
    shortest = min(steps_of(alert) for alert in quick if alert.hold)
    ended = BEGIN + long
    bad = health.value
    yield Story(
        name=f"{health.label} is not told in maintenance",
        step=STEP,
        steps=ended + long,
        series={
            MAINTENANCE: f"1x{ended - 1} 0x{long}",
            **{
                health_of(c): f"0x{BEGIN - 1} {bad}x{2 * long}" for c in CHECKS
            },
        },
        fires={
            ended - 1: set(),
            # It has to hold from the end of maintenance on.
            ended + shortest - 1: at(a.name for a in quick if not a.hold),
            ended + long - 1: at(soon),
        },
        ever=soon,
    )
    yield Story(
        name=f"{health.label} is told on when maintenance begins",
        step=STEP,
        steps=ended + AFTER,
        series={
            MAINTENANCE: f"0x{ended - 1} 1x{AFTER}",
            **{
                health_of(c): f"0x{BEGIN - 1} {bad}x{long + AFTER}"
                for c in CHECKS
            },
        },
        fires={ended + 1: at(soon), ended + keep_of(): set()},
        ever=soon,
    )


def test_an_alert_goes_on_until_the_silence_of_its_data_is_told(
    tmp_path: Path,
) -> None:
    told = expected("lag", Health.CRITICAL)
    gone, back, steps = 50, 80, 100
    silence = f"stale _x{back - gone - 1} 0x{steps - back}"
    series = {
        **{health_of(c, f): "0" for c in CHECKS for f in (FLOW, OTHER)},
        **{
            f'mirrorwatch_{what}{{flow="{flow}"}}': "0"
            for what in ("health", "maintenance")
            for flow in (FLOW, OTHER)
        },
    }
    data = dict.fromkeys(series, f"0x{gone - 1} {silence}")
    lag = f"0x{BEGIN - 1} 3x{gone - BEGIN - 1} {silence}"
    ticks = f"0+60x{gone - 1} stale _x{back - gone - 1} {60 * back}+60x20"
    story = Story(
        name="the agent dies while an alert fires",
        step=STEP,
        steps=steps,
        series=data | {health_of("lag"): lag, LAST_TICK: ticks},
        fires={
            gone: at(told),
            gone + 4: at(told),
            gone + 6: at(told) | {("MirrorwatchAgentSilent", "")},
            # By then its own alert has taken its place.
            gone + 6 + keep_of(): {("MirrorwatchAgentSilent", "")},
            back - 1: {("MirrorwatchAgentSilent", "")},
            back + 1: set(),
        },
        ever=told | {"MirrorwatchAgentSilent"},
    )
    check_stories(RULES, tmp_path, [story])


def test_the_agents_own_alerts_fire_for_their_faults_only(
    tmp_path: Path,
) -> None:
    own = [a for a in ALERTS if not isinstance(a.when, WhenHealth)]
    check_stories(RULES, tmp_path, [own_fault(alert) for alert in own])


def own_fault(alert: Alert) -> Story:
    """One bad sample where there is such a thing, a fault, its end."""
    hold, flow, delay, kept = steps_of(alert), "", 0, 2
    mended = BEGIN + hold + 10
    bad = mended - BEGIN - 1
    match alert.when:
        case Silent():
            # A site that never had an agent; see above for one that dies.
            fires = {hold - 1: set(), hold + 1: at({alert.name}, flow)}
            return Story(
                name=alert.name,
                step=STEP,
                steps=hold + 10,
                series={LAST_TICK: "_"},
                fires=fires,
                ever={alert.name},
            )
        case AtFault(health=health):
            flow, name, kept = FLOW, cause_of("link"), keep_of()
            values = (
                f"0x{ONCE - 1} 3 0x{BEGIN - ONCE - 2} "
                f"{health.value}x{bad} 0x{AFTER}"
            )
        case Vanished(metric=metric):
            flow = FLOW
            name = f'{metric.name}{{flow="{FLOW}"}}'
            values = f"0x{BEGIN - 1} stale _x{bad} 0x{AFTER}"
        case Old(metric=metric, age=age):
            name, kept = metric.name, keep_of()
            delay = age // STEP
            values = (
                f"0+60x{BEGIN - 1} {BEGIN * 60}x{bad} {mended * 60}+60x{AFTER}"
            )
        case Above(metric=metric, bound=bound, below=below):
            sink = '{sink="influxdb"}' if metric.labels else ""
            name = f"{metric.name}{sink}"
            well, ill = (bound, 0) if below else (0, 100)
            values = (
                f"{well}x{ONCE - 1} {ill} {well}x{BEGIN - ONCE - 2} "
                f"{ill}x{bad} {well}x{AFTER}"
            )
        case Grows(metric=metric, within=within):
            name = f'{metric.name}{{sink="influxdb"}}'
            values = f"7x{BEGIN - 1} 9x60"
            mended = BEGIN + within // STEP
        case WhenHealth():
            raise AssertionError(alert)
    return Story(
        name=alert.name,
        step=STEP,
        steps=mended + AFTER,
        series={name: values},
        fires={
            BEGIN + delay + hold - 1: set(),
            BEGIN + delay + hold + 1: at({alert.name}, flow),
            mended + kept: set(),
        },
        ever={alert.name},
    )


def test_the_alert_on_a_cause_is_held_in_maintenance_and_goes_on_in_silence(
    tmp_path: Path,
) -> None:
    name = "MirrorwatchReplicationStopped"
    steps, silent = 50, 40
    stories = [
        Story(
            name="not in maintenance",
            step=STEP,
            steps=steps,
            series={
                MAINTENANCE: f"1x{silent - 1} 0x{steps - silent}",
                cause_of("mirror"): f"0x{BEGIN - 1} 3x{steps - BEGIN}",
            },
            fires={silent - 1: set(), silent + 5: at({name})},
            ever={name},
        ),
        Story(
            name="its data stop",
            step=STEP,
            steps=steps,
            series={cause_of("mirror"): f"0x{BEGIN - 1} 3x6 stale _x{steps}"},
            fires={
                BEGIN + 5: at({name}),
                BEGIN + 6 + keep_of(): at({name}),
                BEGIN + 9 + keep_of(): set(),
            },
            ever={name},
        ),
        Story(
            name="flapping, a minute at fault and a minute not",
            step=STEP,
            steps=steps,
            series={
                cause_of("mirror"): "3 0 " * (steps // 2),
                cause_of("source or link"): "0 3 " * (steps // 2),
            },
            fires={},
        ),
    ]
    check_stories(RULES, tmp_path, stories)


def test_a_state_that_is_not_kept_makes_a_ticket_and_a_kept_one_none(
    tmp_path: Path,
) -> None:
    name = "MirrorwatchStateDown"
    stories = [
        Story(
            name=what,
            step=STEP,
            steps=50,
            series={"mirrorwatch_state_up": values},
            fires={8: set(), 23: set(), 27: at(fired, ""), 42: set()},
            ever=fired,
        )
        for what, values, fired in (
            ("a full disk, for half an hour", "1x9 0x29 1x9", {name}),
            ("it is kept", "1x49", set[str]()),
            ("for 10 minutes, twice", "1x9 0x9 1x9 0x9 1x9", set[str]()),
        )
    ]
    check_stories(RULES, tmp_path, stories)


SCRAPE = timedelta(seconds=15)
MINUTE = 4

MISSED = "stale"
"""What Prometheus writes for each series of a scrape that failed."""

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


@pytest.mark.long
def test_an_alert_goes_on_until_not_knowing_is_told_and_over_a_good_moment(
    tmp_path: Path,
) -> None:
    told = expected("lag", Health.CRITICAL)
    blind = told | expected("lag", Health.UNKNOWN)
    critical = {"MirrorwatchPositionStalled"}
    minutes = [(4, "0"), (20, "3"), (20, "1"), (10, "3")]
    runs = [(n * MINUTE, value) for n, value in minutes]
    runs += [(2, "0"), (5 * MINUTE, "3"), (14 * MINUTE, "0")]
    story = Story(
        name="critical, not known for long, well for a moment, well",
        step=SCRAPE,
        steps=sum(n for n, _ in runs),
        series={health_of("lag"): series(*runs)},
        fires={
            25 * MINUTE: at(told),
            35 * MINUTE: at(blind),
            43 * MINUTE: at(expected("lag", Health.UNKNOWN)),
            47 * MINUTE: at(critical | expected("lag", Health.UNKNOWN)),
            58 * MINUTE: at(critical),
            62 * MINUTE: at(critical),
            73 * MINUTE: set(),
        },
        ever=blind,
    )
    check_stories(RULES, tmp_path, [story])


@pytest.mark.long
def test_a_page_that_nothing_is_known_stays_until_another_takes_its_place(
    tmp_path: Path,
) -> None:
    blind, critical = {"MirrorwatchBlind"}, {"MirrorwatchProbesMissing"}
    stories = []
    for then, pattern, soon, later in (
        ("critical for good", "3", blind | critical, critical),
        ("never critical for long", "3 3 1 1", blind, blind),
        ("ok", "0", blind, set[str]()),
    ):
        runs = [(8, "0"), (18 * MINUTE, "1"), (10 * MINUTE, pattern)]
        runs.append((16 * MINUTE, "0"))
        stories.append(
            Story(
                name=f"nothing is known, then {then}",
                step=SCRAPE,
                steps=sum(n for n, _ in runs),
                series={health_of("canary"): series(*runs)},
                fires={
                    17 * MINUTE: at(blind),
                    23 * MINUTE: at(soon),
                    34 * MINUTE: at(later),
                    45 * MINUTE: set(),
                },
                ever=blind | soon,
            )
        )
    check_stories(RULES, tmp_path, stories)


@pytest.mark.parametrize(
    "check", ["canary", pytest.param("audit", marks=pytest.mark.long)]
)
def test_a_check_that_is_bad_and_not_known_by_turns_makes_a_ticket(
    check: str, tmp_path: Path
) -> None:
    told = {f"Mirrorwatch{check.capitalize()}Warning"}
    runs = [(8, "0"), (20 * MINUTE, "3 3 1 1 1 1"), (16 * MINUTE, "0")]
    story = Story(
        name=f"{check}: never well and never critical for long",
        step=SCRAPE,
        steps=sum(n for n, _ in runs),
        series={health_of(check): series(*runs)},
        fires={20 * MINUTE: at(told), 37 * MINUTE: set()},
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
                health_of(check): series(*runs)
                for check in ("retention", "tasks")
            },
            fires={},
        )
        for then in (MISSED, "1")
        for runs in [
            [(8, "0"), (1, "3"), (9 * MINUTE, then), (4 * MINUTE, "0")]
        ]
    ]
    check_stories(RULES, tmp_path, stories)


def test_scrapes_that_fail_now_and_then_do_not_silence_an_alert(
    tmp_path: Path,
) -> None:
    critical = expected("lag", Health.CRITICAL)
    every = [(8, "0"), (20 * MINUTE, f"3 3 {MISSED}"), (16 * MINUTE, "0")]
    # It dies soon after each start, before it knows anything.
    loop = [(8, "0"), (20 * MINUTE, f"1 {' '.join([MISSED] * 5)}")]
    loop.append((16 * MINUTE, "0"))
    restless = {"MirrorwatchBlind"}
    stories = [
        Story(
            name="each third scrape fails",
            step=SCRAPE,
            steps=sum(n for n, _ in every),
            series={
                health_of("lag"): series(*every),
                LAST_TICK: ticks(*every),
                'mirrorwatch_sink_up{sink="influxdb"}': series(
                    (8, "1"), (20 * MINUTE, f"0 0 {MISSED}"), (64, "1")
                ),
            },
            fires={
                20 * MINUTE: at(critical) | at({"MirrorwatchSinkDown"}, ""),
                37 * MINUTE: set(),
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
            fires={20 * MINUTE: at(restless), 37 * MINUTE: set()},
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


def test_an_agent_that_hangs_is_told_once_and_not_for_each_flow(
    tmp_path: Path,
) -> None:
    # After two minutes without a tick it says nothing of its flows.
    gone, steps = 20, 60
    flows = f"0x{gone + 1} stale _x{steps - gone}"
    stuck = {"MirrorwatchAgentStuck"}
    story = Story(
        name="an agent answers and makes no ticks",
        step=STEP,
        steps=steps,
        series={
            **{health_of(c): flows for c in CHECKS},
            f'mirrorwatch_health{{flow="{FLOW}"}}': flows,
            f'mirrorwatch_maintenance{{flow="{FLOW}"}}': flows,
            LAST_TICK: f"0+60x{gone - 1} {gone * 60}x{steps - gone}",
        },
        fires={gone + 1: set(), gone + 7: at(stuck, ""), steps: at(stuck, "")},
        ever=stuck,
    )
    check_stories(RULES, tmp_path, [story])


def test_an_agent_that_hangs_and_then_dies_is_told_without_a_break(
    tmp_path: Path,
) -> None:
    hangs, dies, back, steps = 20, 40, 50, 60
    stuck, silent = "MirrorwatchAgentStuck", "MirrorwatchAgentSilent"
    hung = f"0+60x{hangs - 1} {hangs * 60}x{dies - hangs - 1} stale"
    dead = f"{hung} _x{steps - dies}"
    again = f"_x{back - 1} {back * 60}+60x{steps - back}"
    stories = [
        Story(
            name="an agent that makes no ticks dies",
            step=STEP,
            steps=steps,
            series={LAST_TICK: dead},
            fires={
                **{t: at({stuck}, "") for t in range(hangs + 7, dies + 5)},
                dies + 6: at({stuck, silent}, ""),
                steps: at({silent}, ""),
            },
            ever={stuck, silent},
        ),
        Story(
            name="it is restarted before its silence has lasted",
            step=STEP,
            steps=steps,
            series={
                LAST_TICK: f"{hung} _x2 {dies * 60 + 180}+60x{steps - dies}"
            },
            fires={
                dies + 2: at({stuck}, ""),
                dies + 4: at({stuck}, ""),
                steps: set(),
            },
            ever={stuck},
        ),
        Story(
            name="another agent is started instead",
            step=STEP,
            steps=steps,
            series={LAST_TICK: dead, f'{LAST_TICK}{{instance="b"}}': again},
            fires={back - 2: at({stuck, silent}, ""), back + 6: set()},
            ever={stuck, silent},
        ),
        Story(
            name="Prometheus does not see that its series ended",
            step=STEP,
            steps=steps,
            series={LAST_TICK: dead.replace("stale", "_")},
            fires={
                **{t: at({stuck}, "") for t in range(hangs + 7, dies + 9)},
                dies + 11: at({stuck, silent}, ""),
                steps: at({silent}, ""),
            },
            ever={stuck, silent},
        ),
    ]
    check_stories(RULES, tmp_path, stories)


@pytest.mark.parametrize(
    "label",
    [
        "job",
        *(
            pytest.param(x, marks=pytest.mark.long)
            for x in ("namespace", "cluster")
        ),
    ],
)
def test_agents_of_one_prometheus_with_flows_of_one_name_are_kept_apart(
    tmp_path: Path, label: str
) -> None:
    def own(metric: str, at: str, values: str, **labels: str) -> Series:
        told = {"flow": FLOW, label: at} | labels
        inside = ", ".join(f'{name}="{of}"' for name, of in told.items())
        return {"series": f"{metric}{{{inside}}}", "values": values}

    broken, well = "3x40", "0x40"
    (alert,) = (a for a in ALERTS if a.name == "MirrorwatchPositionStalled")
    page = "https://a.example.org"
    input_series = [
        own("mirrorwatch_check_health", "a", broken, check="lag"),
        own("mirrorwatch_check_health", "b", well, check="lag"),
        own("mirrorwatch_maintenance", "a", "0x40"),
        # A silence is that of one agent.
        own("mirrorwatch_maintenance", "b", "1x40"),
        own("mirrorwatch_flow_info", "a", "1x40", page=page),
        own("mirrorwatch_flow_info", "b", "1x40", page="https://b"),
        own("mirrorwatch_time_to_loss_seconds", "a", "7200x40"),
        own("mirrorwatch_time_to_loss_seconds", "b", "60x40"),
        own("mirrorwatch_lag_seconds", "a", "90x40", topic="t"),
        own("mirrorwatch_lag_seconds", "a", "150x40", topic="u"),
        own("mirrorwatch_lag_seconds", "a", "0x40", topic="even"),
        own("mirrorwatch_lag_seconds", "b", "60x40", topic="v"),
    ]
    told = {
        "exp_labels": {
            "flow": FLOW,
            "check": "lag",
            label: "a",
            "severity": "critical",
            "service": "mirrorwatch",
            "symptom": "true",
        },
        "exp_annotations": {
            "summary": f"{FLOW}: {alert.summary}",
            "runbook_url": f"{page}/runbook#lag",
            "page": f"{page}/",
            "time_to_loss": "2h 0m 0s",
            "cause": "not known",
            "description": "Oldest records not copied: u 2m 30s, t 1m 30s",
        },
    }
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": input_series,
                "alert_rule_test": [
                    {
                        "eval_time": "5m",
                        "alertname": alert.name,
                        "exp_alerts": [told],
                    }
                ],
            }
        ],
    }
    play(document, tmp_path)


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


LEVEL = ("mirrorwatch_level_good_total", "mirrorwatch_level_bad_total")


def test_the_good_share_of_probes_is_recorded_of_each_flow(
    tmp_path: Path,
) -> None:
    counts = {FLOW: ("0+999x20", "0+1x20"), OTHER: ("0+5x20", "7x20")}
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "4m",
        "tests": [
            {
                "interval": "4m",
                "input_series": [
                    {
                        "series": f'{name}{{flow="{flow}"}}',
                        "values": values,
                    }
                    for flow, both in counts.items()
                    for name, values in zip(LEVEL, both, strict=True)
                ],
                "promql_expr_test": [
                    {
                        "expr": "round(mirrorwatch:level:ratio_rate30d, 1e-6)",
                        "eval_time": "80m",
                        "exp_samples": [
                            {
                                "labels": f'{{flow="{flow}"}}',
                                "value": share,
                            }
                            for flow, share in ((FLOW, 0.999), (OTHER, 1))
                        ],
                    }
                ],
            }
        ],
    }
    play(document, tmp_path)


def test_a_loss_is_told_at_once_with_its_numbers_and_topics(
    tmp_path: Path,
) -> None:
    lost = "mirrorwatch_lost_records_total"

    def series(topic: str, values: str, flow: str = FLOW) -> Series:
        labels = f'flow="{flow}", topic="{topic}", kind="dropped"'
        return {"series": f"{lost}{{{labels}}}", "values": values}

    (alert,) = (a for a in ALERTS if a.name == "MirrorwatchRecordsDropped")
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": LAST_TICK, "values": "0+60x80"},
                    {"series": health_of("skips"), "values": "0x69 3x10"},
                    series("a", "0x69 7x10"),
                    series("b", "3x69 615x10"),
                    series("quiet", "9x80"),
                    series("other", "0x69 4x10", flow=OTHER),
                ],
                "promql_expr_test": [
                    {
                        "expr": FIRING,
                        "eval_time": eval_time,
                        "exp_samples": [
                            {
                                "labels": f'{{alertname="{name}", '
                                f'flow="{FLOW}"}}',
                                "value": 1,
                            }
                            for name in names
                        ],
                    }
                    for eval_time, names in (
                        ("69m", []),
                        ("70m", [alert.name]),
                    )
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "70m",
                        "alertname": alert.name,
                        "exp_alerts": [
                            {
                                "exp_labels": {
                                    "flow": FLOW,
                                    "check": "skips",
                                    "severity": "critical",
                                    "service": "mirrorwatch",
                                },
                                "exp_annotations": {
                                    "summary": f"{FLOW}: {alert.summary}",
                                    "runbook_url": f"{PAGE}/runbook#skips",
                                    "page": f"{PAGE}/",
                                    "description": "Records lost within an "
                                    "hour: b 612, a 7",
                                    "time_to_loss": "not known",
                                    "cause": "not known",
                                },
                            }
                        ],
                    }
                ],
            }
        ],
    }
    play(document, tmp_path)
