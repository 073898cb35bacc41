"""What does not stay as it is, on a real Kapacitor: told once, or not."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.report import Health
from tests.support.kapacitor_alerts import AlertingKapacitor
from tests.support.kapacitor_stories import (
    PATIENCE,
    RECOVERY,
    play,
    reports,
)
from tests.support.watch import wait_until

pytestmark = pytest.mark.kapacitor

UNKNOWN, WARNING, CRITICAL = Health.UNKNOWN, Health.WARNING, Health.CRITICAL


def test_what_is_not_known_any_more_is_not_called_well(
    kapacitor: AlertingKapacitor,
) -> None:
    bad, blind = {"tasks": CRITICAL}, {"tasks": UNKNOWN}
    heard = play(
        kapacitor,
        {
            "short": [{}, *[bad] * 5, *[blind] * 5, {}, {}],
            "long": [{}, *[bad] * 5, *[blind] * 20, {}, {}],
            "milder": [{}, *[bad] * 5, *[{"tasks": WARNING}] * 20, {}, {}],
            # Which waits a day, not minutes, until it says so.
            "audit": [
                {},
                *[{"audit": CRITICAL}] * 5,
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
    bad, blind = {"tasks": CRITICAL}, {"tasks": UNKNOWN}
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
    ticks = reports({"halved": [{"tasks": CRITICAL}] * 5})
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
    ticks = reports({"restarted": [{"skips": CRITICAL}] * 14})

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
