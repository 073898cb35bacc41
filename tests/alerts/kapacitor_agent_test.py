"""The dead-man's switches and what is said of sinks, on a real Kapacitor.

The switches look at the clock of the machine, and wait for seconds here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Flow
from mirrorwatch.ports import AgentState, Report
from mirrorwatch_alerting import ALERTS
from mirrorwatch_alerting.alerts import WhenHealth
from mirrorwatch_alerting.kapacitor import scripts
from tests.support.builders import a_report
from tests.support.kapacitor_alerts import AlertingKapacitor
from tests.support.watch import wait_until

pytestmark = pytest.mark.kapacitor

TICK = timedelta(seconds=1)
PATIENCE = 120.0
"""Seconds for what takes ten."""

JUDGED = [alert for alert in ALERTS if isinstance(alert.when, WhenHealth)]
OWN = [
    replace(alert, hold=max(alert.hold / 60, 3 * TICK))
    for alert in ALERTS
    if alert not in JUDGED
]
"""A minute is a second."""

GAP_SECONDS = 2
"""How long silence is no break: less than what is told as such."""

BY_NAME = {alert.name: alert for alert in OWN}
SILENT, UNWATCHED = "mirrorwatch/agent", "mirrorwatch/unwatched/"


@pytest.fixture(scope="module")
def kapacitor(
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


def test_each_trouble_of_a_sink_is_told_alone_and_its_end_too(
    kapacitor: AlertingKapacitor,
) -> None:
    well = (True, 0, 7)

    def at(tick: int) -> dict[str, tuple[bool, int, int]]:
        once, lasts = tick == 3, 6 <= tick < 40
        return {
            "well": well,
            "away": (not (once or lasts), 0, 7),
            "behind": (True, 100 if once or lasts else 0, 7),
            "losing": (True, 0, 9 if tick >= 6 else 7),
            # An agent that is started again has lost nothing since.
            "restarted": (True, 0, 0 if tick >= 6 else 7),
        }

    begin = utc_now() - 20 * TICK
    kapacitor.feed(
        a_tick(begin + n * TICK, agent=sinks(**at(n))) for n in range(60)
    )
    expected = {
        ("SinkDown", "away"): (6 + hold("SinkDown"), 40),
        ("SinkBehind", "behind"): (6 + hold("SinkBehind"), 40),
        # It had grown from one tick to the next, and is told for its window:
        # of 15 minutes, which nobody hurries.
        ("SinkLosesPoints", "losing"): (6,),
    }

    def heard() -> Mapping[tuple[str, str], tuple[int, ...]]:
        found: dict[tuple[str, str], tuple[int, ...]] = {}
        for told in kapacitor.told:
            _, name, *sink = told.id.split("/")
            if name.startswith("Sink"):
                tick = round((told.at - begin) / TICK)
                of = (name, sink[0])
                found[of] = (*found.get(of, ()), tick)
        return found

    wait_until(lambda: heard() == expected, within=PATIENCE, what=heard)


def hold(name: str) -> int:
    return BY_NAME[f"Mirrorwatch{name}"].hold // TICK


def live(
    kapacitor: AlertingKapacitor, flows: list[str], name: str, level: str
) -> None:
    """Report again and again, until something was told."""

    def is_told() -> bool:
        kapacitor.feed([a_tick(utc_now(), *flows, agent=AgentState())])
        return levels(kapacitor, name)[-1:] == [level]

    wait_until(is_told, within=PATIENCE, what=lambda: kapacitor.told)


def wait_for_silence(kapacitor: AlertingKapacitor) -> None:
    wait_until(
        lambda: levels(kapacitor, SILENT)[-1:] == ["CRITICAL"],
        within=PATIENCE,
        what=lambda: kapacitor.told,
    )


def test_what_was_so_before_a_silence_and_is_after_it_did_not_last(
    kapacitor: AlertingKapacitor,
) -> None:
    def down(ago: timedelta) -> list[Report]:
        begin = utc_now() - ago
        agent = sinks(gone=(False, 0, 7))
        return [a_tick(begin + n * TICK, agent=agent) for n in range(3)]

    wait_for_silence(kapacitor)
    live(kapacitor, [], SILENT, "OK")
    kapacitor.feed(down(ago=(hold("SinkDown") + 10) * TICK))
    wait_for_silence(kapacitor)
    kapacitor.feed(down(ago=3 * TICK))
    live(kapacitor, [], SILENT, "OK")
    assert levels(kapacitor, "mirrorwatch/SinkDown/gone") == []


def test_silence_is_told_once_for_all_flows_and_so_is_its_end(
    kapacitor: AlertingKapacitor,
) -> None:
    wait_for_silence(kapacitor)
    live(kapacitor, ["one", "two"], SILENT, "OK")
    wait_for_silence(kapacitor)
    (*_, last) = (told for told in kapacitor.told if told.id == SILENT)
    assert BY_NAME["MirrorwatchAgentSilent"].summary in last.message
    assert last.message.endswith("/runbook#the-agent-itself")
    live(kapacitor, ["one", "two"], SILENT, "OK")
    # The flows were silent too, and nobody was woken for each.
    assert "CRITICAL" not in levels(kapacitor, UNWATCHED + "one")


def test_a_flow_that_is_watched_no_more_is_told_by_name(
    kapacitor: AlertingKapacitor,
) -> None:
    wait_for_silence(kapacitor)
    live(kapacitor, ["three", "four"], SILENT, "OK")
    live(kapacitor, ["three"], UNWATCHED + "four", "CRITICAL")
    assert levels(kapacitor, UNWATCHED + "three") == []
    live(kapacitor, ["three", "four"], UNWATCHED + "four", "OK")


def test_no_alert_of_the_agent_was_left_out() -> None:
    assert {type(alert.when).__name__ for alert in OWN} == {
        *("Silent", "Vanished", "Above", "Grows"),
        "Old",  # one that makes no ticks is silent in InfluxDB
    }
