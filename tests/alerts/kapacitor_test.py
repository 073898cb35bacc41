"""The scripts on a real Kapacitor, fed with the points of the real sink."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.notices.model import Severity
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import AgentState, Report
from mirrorwatch_alerting.alerts import (
    AGENT_ALERTS,
    ALERTS,
    Alert,
    WhenHealth,
)
from mirrorwatch_alerting.kapacitor import scripts
from tests.support.builders import a_report
from tests.support.kapacitor import (
    BY_CHECK,
    PATIENCE,
    RECOVERY,
    TICK,
    AlertingKapacitor,
    Story,
    play,
    reports,
)
from tests.support.watch import wait_until

pytestmark = pytest.mark.kapacitor

HOUR = timedelta(hours=1)
LEVEL = {Severity.PAGE: "CRITICAL", Severity.TICKET: "WARNING"}
CRITICAL = Health.CRITICAL


def told(message: str) -> list[str]:
    """Return the summaries that a message has."""
    summaries = [a.summary.replace("{check}", c) for a, c in BY_CHECK]
    return [text for text in summaries if f" {text} (" in message]


def fault(alert: Alert, check: str) -> Story:
    """One bad sample, then a lasting fault, then it is mended."""
    assert isinstance(alert.when, WhenHealth)
    bad = {check: alert.when.health}
    lasts = alert.hold // TICK + 3
    # One sample is enough for what is proved.
    once = bad if alert.hold else {}
    return [*[{}] * 3, once, *[{}] * 3, *[bad] * lasts, {}]


def test_each_check_is_told_for_its_fault_only_and_when_it_is_well_again(
    kapacitor: AlertingKapacitor,
) -> None:
    heard = play(
        kapacitor, {f"{a.name} {c}": fault(a, c) for a, c in BY_CHECK}
    )
    for alert, check in BY_CHECK:
        hold = alert.hold // TICK
        (raised, well) = heard[f"{alert.name} {check}"]
        assert raised[:2] == (7 + hold, LEVEL[alert.severity])
        assert told(raised[2]) == [alert.summary.replace("{check}", check)]
        section = alert.section.replace("{check}", check)
        assert f"/runbook#{section})" in raised[2]
        assert well[:2] == (7 + hold + 3 + RECOVERY, "OK")
        assert told(well[2]) == []


def test_another_check_that_joins_is_told_under_the_same_name(
    kapacitor: AlertingKapacitor,
) -> None:
    canary, lag = {"canary": CRITICAL}, {"lag": CRITICAL}
    story = [{}, *[canary] * 5, *[canary | lag] * 5, *[lag] * 3, {}, {}]
    heard = play(kapacitor, {"joined": story})["joined"]
    assert [(tick, level, len(told(text))) for tick, level, text in heard] == [
        (3, "CRITICAL", 1),
        (8, "CRITICAL", 2),
        (11, "CRITICAL", 1),
        (14 + RECOVERY, "OK", 0),
    ]


def test_maintenance_holds_what_is_new_and_takes_nothing_back(
    kapacitor: AlertingKapacitor,
) -> None:
    canary, lag = {"canary": CRITICAL}, {"lag": CRITICAL}
    quiet: Story = [{}] * 10
    heard = play(
        kapacitor,
        {
            "in it only": [*quiet, *[canary] * 8, *quiet],
            "beyond it": [*quiet, *[canary] * 20, *quiet],
            "before it": [*[canary] * 20, {}, *quiet],
            "joined in it": [*[canary] * 10, *[canary | lag] * 20],
            "well in it": [*[canary] * 12, *quiet],
        },
        held=range(8, 22),
    )
    short = {
        name: [(tick, level, len(told(text))) for tick, level, text in events]
        for name, events in heard.items()
    }
    assert short == {
        "in it only": [],
        "beyond it": [(24, "CRITICAL", 1), (30 + RECOVERY, "OK", 0)],
        "before it": [(2, "CRITICAL", 1), (20 + RECOVERY, "OK", 0)],
        "joined in it": [
            (2, "CRITICAL", 1),
            (24, "CRITICAL", 2),
            (30 + RECOVERY, "OK", 0),
        ],
        "well in it": [(2, "CRITICAL", 1), (12 + RECOVERY, "OK", 0)],
    }


@pytest.mark.parametrize("off", [-HOUR, HOUR])
def test_points_of_another_time_raise_nothing(
    kapacitor: AlertingKapacitor, off: timedelta
) -> None:
    name = f"off by {off}"
    kapacitor.feed(
        replace(report, at=report.at + off)
        for report in reports({name: [{"canary": CRITICAL}] * 30})
    )
    assert play(kapacitor, {f"{name}, now": [{}]}) == {f"{name}, now": []}
    assert [t for t in kapacitor.told if t.id == f"mirrorwatch/{name}"] == []


# The dead-man's switches and what is said of sinks, on a real Kapacitor.
#
# The switches look at the clock of the machine, and wait for seconds here.


AGENT_TICK = timedelta(seconds=1)
AGENT_PATIENCE = 120.0
"""Seconds for what takes ten."""

JUDGED = [alert for alert in ALERTS if isinstance(alert.when, WhenHealth)]
OWN = [
    replace(alert, hold=max(alert.hold / 60, 3 * AGENT_TICK))
    for alert in AGENT_ALERTS
]

GAP_SECONDS = 2
"""How long silence is no break: less than what is told as such."""

BY_NAME = {alert.name: alert for alert in OWN}
SILENT, UNWATCHED = "mirrorwatch/agent", "mirrorwatch/unwatched/"


@pytest.fixture(scope="module")
def agent_kapacitor(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[AlertingKapacitor]:
    server = AlertingKapacitor(
        tmp_path_factory.mktemp("kapacitor"),
        {
            name: text.replace("idle(300s)", f"idle({GAP_SECONDS}s)")
            for name, text in scripts([*JUDGED, *OWN]).items()
            if not name.endswith("-flow")
        },
    )
    try:
        server.start()
        server.install()
        yield server
        assert server.problems == []
    finally:
        server.kill()


def a_tick(at: datetime, *flows: str, agent: AgentState) -> Report:
    return a_report(
        at,
        flows=[Flow(name=f, source="a", target="b") for f in flows],
        verdicts=[],
        agent=agent,
    )


def levels(kapacitor: AlertingKapacitor, name: str) -> list[str]:
    return [told.level for told in kapacitor.told if told.id == name]


def sinks(**sink: tuple[bool, int, int]) -> AgentState:
    """Return sinks with whether they are up, what waits, what is lost."""
    return AgentState(
        sinks_up={name: up for name, (up, _, _) in sink.items()},
        spooled_points={name: n for name, (_, n, _) in sink.items()},
        lost_points={name: n for name, (_, _, n) in sink.items()},
    )


def test_each_trouble_of_a_sink_or_the_state_is_told_and_its_end_too(
    agent_kapacitor: AlertingKapacitor,
) -> None:
    well = (True, 0, 7)

    def at(tick: int) -> AgentState:
        bad = tick == 3 or 6 <= tick < 40
        agent = sinks(
            well=well,
            away=(not bad, 0, 7),
            behind=(True, 100 if bad else 0, 7),
            losing=(True, 0, 9 if tick >= 6 else 7),
            # An agent that is started again has lost nothing since.
            restarted=(True, 0, 0 if tick >= 6 else 7),
        )
        return replace(agent, problems=("The disk is full",) if bad else ())

    begin = utc_now() - 20 * AGENT_TICK
    agent_kapacitor.feed(
        a_tick(begin + n * AGENT_TICK, agent=at(n)) for n in range(60)
    )
    expected = {
        ("SinkDown", "away"): (6 + hold("SinkDown"), 40),
        ("SinkBehind", "behind"): (6 + hold("SinkBehind"), 40),
        # It had grown from one tick to the next, and is told for its window:
        # of 15 minutes, which nobody hurries.
        ("SinkLosesPoints", "losing"): (6,),
        ("StateDown",): (6 + hold("StateDown"), 40),
    }

    def heard() -> Mapping[tuple[str, ...], tuple[int, ...]]:
        found: dict[tuple[str, ...], tuple[int, ...]] = {}
        for told in agent_kapacitor.told:
            _, name, *sink = told.id.split("/")
            if name.startswith(("Sink", "State")):
                tick = round((told.at - begin) / AGENT_TICK)
                of = (name, *sink)
                found[of] = (*found.get(of, ()), tick)
        return found

    wait_until(lambda: heard() == expected, within=AGENT_PATIENCE, what=heard)


def hold(name: str) -> int:
    return BY_NAME[f"Mirrorwatch{name}"].hold // AGENT_TICK


def live(
    kapacitor: AlertingKapacitor, flows: list[str], name: str, level: str
) -> None:
    """Report again and again, until something was told."""

    def is_told() -> bool:
        kapacitor.feed([a_tick(utc_now(), *flows, agent=AgentState())])
        return levels(kapacitor, name)[-1:] == [level]

    wait_until(is_told, within=AGENT_PATIENCE, what=lambda: kapacitor.told)


def wait_for_silence(kapacitor: AlertingKapacitor) -> None:
    wait_until(
        lambda: levels(kapacitor, SILENT)[-1:] == ["CRITICAL"],
        within=AGENT_PATIENCE,
        what=lambda: kapacitor.told,
    )


def test_what_was_so_before_a_silence_and_is_after_it_did_not_last(
    agent_kapacitor: AlertingKapacitor,
) -> None:
    def down(ago: timedelta) -> list[Report]:
        begin = utc_now() - ago
        agent = sinks(gone=(False, 0, 7))
        return [a_tick(begin + n * AGENT_TICK, agent=agent) for n in range(3)]

    wait_for_silence(agent_kapacitor)
    live(agent_kapacitor, [], SILENT, "OK")
    agent_kapacitor.feed(down(ago=(hold("SinkDown") + 10) * AGENT_TICK))
    wait_for_silence(agent_kapacitor)
    agent_kapacitor.feed(down(ago=3 * AGENT_TICK))
    live(agent_kapacitor, [], SILENT, "OK")
    assert levels(agent_kapacitor, "mirrorwatch/SinkDown/gone") == []


def test_silence_is_told_once_for_all_flows_and_so_is_its_end(
    agent_kapacitor: AlertingKapacitor,
) -> None:
    wait_for_silence(agent_kapacitor)
    live(agent_kapacitor, ["one", "two"], SILENT, "OK")
    wait_for_silence(agent_kapacitor)
    (*_, last) = (told for told in agent_kapacitor.told if told.id == SILENT)
    assert BY_NAME["MirrorwatchAgentSilent"].summary in last.message
    assert last.message.endswith("/runbook#the-agent-itself")
    live(agent_kapacitor, ["one", "two"], SILENT, "OK")
    # The flows were silent too, and nobody was woken for each.
    assert "CRITICAL" not in levels(agent_kapacitor, UNWATCHED + "one")


def test_a_flow_that_is_watched_no_more_is_told_by_name(
    agent_kapacitor: AlertingKapacitor,
) -> None:
    wait_for_silence(agent_kapacitor)
    live(agent_kapacitor, ["three", "four"], SILENT, "OK")
    live(agent_kapacitor, ["three"], UNWATCHED + "four", "CRITICAL")
    assert levels(agent_kapacitor, UNWATCHED + "three") == []
    live(agent_kapacitor, ["three", "four"], UNWATCHED + "four", "OK")


def test_no_alert_of_the_agent_was_left_out() -> None:
    assert {type(alert.when).__name__ for alert in OWN} == {
        *("Silent", "Vanished", "Above", "Grows"),
        "Old",  # one that makes no ticks is silent in InfluxDB
    }


UNKNOWN, WARNING, CRITICAL_LEVEL = (
    Health.UNKNOWN,
    Health.WARNING,
    Health.CRITICAL,
)


def test_what_is_not_known_any_more_is_not_called_well(
    kapacitor: AlertingKapacitor,
) -> None:
    bad, blind = {"tasks": CRITICAL_LEVEL}, {"tasks": UNKNOWN}
    heard = play(
        kapacitor,
        {
            "short": [{}, *[bad] * 5, *[blind] * 5, {}, {}],
            "long": [{}, *[bad] * 5, *[blind] * 20, {}, {}],
            "milder": [{}, *[bad] * 5, *[{"tasks": WARNING}] * 20, {}, {}],
            # Which waits a day, not minutes, until it says so.
            "audit": [
                {},
                *[{"audit": CRITICAL_LEVEL}] * 5,
                *[{"audit": UNKNOWN}] * 22,
                *[{}] * 2,
            ],
        },
    )

    def told(name: str) -> list[tuple[int, str]]:
        return [(tick, level) for tick, level, _ in heard[name]]

    assert told("short") == [(3, "CRITICAL"), (11 + RECOVERY, "OK")]
    assert told("audit") == [(3, "CRITICAL"), (28 + RECOVERY, "OK")]
    for name in ("long", "milder"):
        assert [level for _, level, _ in heard[name]] == [
            "CRITICAL",
            "WARNING",
            "OK",
        ]


def test_what_goes_to_and_fro_is_told_once(
    kapacitor: AlertingKapacitor,
) -> None:
    bad, blind = {"tasks": CRITICAL_LEVEL}, {"tasks": UNKNOWN}
    heard = play(
        kapacitor,
        {
            "bad and well": [{}, *[bad] * 5, {}, *[bad] * 5, {}, *[bad] * 5],
            "bad and unknown": [{}, *[bad, blind, blind] * 7],
            "bad once": [{}, bad, *[blind] * 14],
            "well now and then": [{}, *[bad, blind, {}] * 7],
        },
    )
    short = {
        name: [(tick, level) for tick, level, _ in events]
        for name, events in heard.items()
    }
    assert short == {
        "bad and well": [(3, "CRITICAL"), (18 + RECOVERY, "OK")],
        "bad and unknown": [(16, "WARNING"), (22 + RECOVERY, "OK")],
        "bad once": [],
        "well now and then": [],
    }


def test_half_a_tick_does_not_say_that_all_is_well(
    kapacitor: AlertingKapacitor,
) -> None:
    ticks = reports({"halved": [{"tasks": CRITICAL_LEVEL}] * 5})
    halves = [
        replace(
            report,
            verdicts=tuple(v for v in report.verdicts if v.check == "lag"),
        )
        for report in reports({"halved": [{}] * 5})
    ]

    def heard() -> list[str]:
        name = "mirrorwatch/halved"
        return [told.level for told in kapacitor.told if told.id == name]

    kapacitor.feed(ticks[:5])
    wait_until(lambda: heard() == ["CRITICAL"], within=PATIENCE)
    kapacitor.feed(halves[5:])
    assert play(kapacitor, {"after halves": [{}]}) == {"after halves": []}
    assert heard() == ["CRITICAL"]


def test_a_restart_of_kapacitor_tells_nobody_that_all_is_well(
    kapacitor: AlertingKapacitor,
) -> None:
    ticks = reports({"restarted": [{"skips": CRITICAL_LEVEL}] * 14})

    def heard() -> list[str]:
        name = "mirrorwatch/restarted"
        return [told.level for told in kapacitor.told if told.id == name]

    kapacitor.feed(ticks[:5])
    wait_until(lambda: heard() == ["CRITICAL"], within=PATIENCE)
    kapacitor.restart_tasks()
    kapacitor.feed(ticks[5:7])
    assert play(kapacitor, {"afterwards": [{}]}) == {"afterwards": []}
    assert heard() == ["CRITICAL"]
    kapacitor.feed(ticks[7:])
    wait_until(lambda: heard()[-1] == "OK", within=PATIENCE, what=heard)
    assert heard() == ["CRITICAL", "CRITICAL", "OK"]
