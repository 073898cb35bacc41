"""The page in a real browser, fed with reports over a real socket."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary.model import canaries
from mirrorwatch.domain.failover import texts as failover_texts
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.recovery import RecoveryPoint
from mirrorwatch.domain.losses import texts as loss_texts
from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.readers.model import (
    LostOffsets,
    ReadersObservation,
)
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import Report
from mirrorwatch.web.server import Server
from tests.support.audit import (
    a_finding,
    a_finished,
    a_result,
    write_audit,
    write_report,
)
from tests.support.builders import (
    FLOW,
    a_cause,
    a_report,
    a_verdict,
    a_window,
    some_losses,
)
from tests.support.http import HTTP
from tests.support.page import (
    OFF,
    OK,
    SECOND,
    WRONG,
    a_tick,
    a_tick_with_topics,
    colours,
    come_back,
    complaints,
    content_width,
    emulate,
    lines,
    screenshot,
    text,
    until,
    wait_for,
    wait_for_charts,
)
from tests.support.page_scenes import STOOD, broken, healthy
from tests.support.reports import some_readers, some_topic_lags
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser

NONE = "\N{EN DASH}"
"""What stands where nothing is known."""


@pytest.mark.parametrize("path", ["", "/apps/mirrorwatch"])
def test_the_page_says_that_everything_arrives_and_how_late(
    browser: Chrome, page: Server, path: str
) -> None:
    browser.get(page.url + path)

    wait_for(browser, "h1", "summit → ldf: replication is healthy")
    wait_for_charts(browser)

    assert text(browser, ".flow-health") == "ok"
    assert text(browser, ".lead") == "Every probe arrives."
    assert "since" in text(browser, ".lead-more")
    # 12 ms to 72 ms over 5 minutes, of which a tick or two have gone by.
    median, unit = text(browser, ".figure.median .value").split()
    assert 38 <= int(median) <= 43
    assert unit == "ms"
    assert browser.title.startswith("ok: ")
    assert complaints(browser) == []


def test_the_charts_and_their_table_hold_the_history(
    browser: Chrome, page: Server
) -> None:
    browser.get(page.url)
    wait_for_charts(browser)

    assert colours(browser, ".latency canvas") > 3
    assert colours(browser, ".probes canvas") > 3
    browser.find_element(By.CSS_SELECTOR, ".table-fold summary").click()
    wait_for(browser, ".history-table", "ms")
    rows = text(browser, ".history-table tbody").splitlines()
    seen = [row for row in rows if " ms" in row]
    # 300 s of ticks in points of 20 s; the first one may be begun.
    assert 15 <= len(seen) <= 17
    assert any("72 ms" in row for row in seen)


def test_the_page_follows_the_verdict_by_itself(
    browser: Chrome, stage_with_history: Stage, page: Server
) -> None:
    browser.get(page.url)
    wait_for(browser, ".flow-health", "ok")

    stage_with_history.tick(
        a_tick(
            health=Health.CRITICAL,
            reason="The mirror has stopped",
            latency=None,
            lost=3,
        )
    )

    wait_for(browser, ".flow-health", "critical")
    wait_for(browser, "h1", "The mirror has stopped")
    wait_for(browser, "#answer-detail", "summit → ldf is critical")
    wait_for(browser, ".lead", "The mirror has stopped.")
    wait_for(browser, ".figure.lost .value", "3")
    assert "40" in text(browser, ".figure.waiting")
    assert browser.title.startswith("critical: ")
    announced = browser.find_element(By.ID, "announcer")
    assert "is now critical" in str(announced.get_attribute("textContent"))
    browser.find_element(By.CSS_SELECTOR, ".check .evidence summary").click()
    assert "lost last hour\n3" in text(browser, ".check .evidence")

    stage_with_history.tick(a_tick())

    wait_for(browser, ".flow-health", "ok")
    # What was opened stays open while the page refreshes itself.
    assert "leader\nunknown" in text(browser, ".check .evidence")
    assert complaints(browser) == []


def test_the_part_at_fault_is_named_above_the_checks(
    browser: Chrome, stage_with_history: Stage, page: Server
) -> None:
    browser.get(page.url)
    wait_for(browser, ".flow-health", "ok")
    hidden = browser.find_element(By.CSS_SELECTOR, ".cause")
    assert not hidden.is_displayed()

    sick = a_tick(health=Health.CRITICAL, reason="Probes are overdue")
    cause = replace(a_cause(reason="No way to <b>summit</b>"), since=sick.at)
    stage_with_history.tick(replace(sick, causes=(cause,)))

    wait_for(browser, "h1", cause.headline)
    wait_for(browser, ".cause", "Cause: link, since")
    assert "No way to <b>summit</b>." in text(browser, ".cause")
    assert text(browser, ".cause-seen") == (
        "Seen: 12 records wait at summit; no consumer of MirrorMaker is "
        "connected to summit."
    )
    link = browser.find_element(By.CSS_SELECTOR, ".cause-help")
    assert str(link.get_attribute("href")).endswith("/runbook#linkbroken")
    top, first = (
        browser.find_element(By.CSS_SELECTOR, found).location["y"]
        for found in (".cause", ".checks")
    )
    assert top < first

    stage_with_history.tick(a_tick())

    wait_for(browser, ".flow-health", "ok")
    assert not hidden.is_displayed()
    assert complaints(browser) == []


def test_an_agent_that_stops_answering_is_never_shown_as_healthy(
    browser: Chrome, stage_with_history: Stage
) -> None:
    with serve_stage(stage_with_history) as server:
        port = server.port
        browser.get(server.url)
        wait_for(browser, ".flow-health", "ok")

    wait_for(browser, "#banner", "mirrorwatch is unreachable since")
    assert text(browser, ".flow-health") == "unknown"
    assert "Last known (ok)" in text(browser, ".lead")
    assert "Cannot verify" in text(browser, "h1")
    assert "may be outdated" in text(browser, "#banner")

    stage_with_history.tick(a_tick())
    with serve_stage(stage_with_history, port):
        wait_for(browser, ".flow-health", "ok")
        assert text(browser, "#banner") == ""


def test_a_report_that_grows_old_is_never_shown_as_healthy(
    browser: Chrome,
) -> None:
    stage = Stage(interval=SECOND, clock=utc_now)
    stage.tick(a_tick())
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, "#banner", "its reports are not updated")
        assert text(browser, ".flow-health") == "unknown"
        assert "old and may be outdated" in text(browser, "#banner")

        def is_shown_as_healthy_again(_: Chrome) -> bool:
            # On and on, or it grew old while the browser was busy.
            stage.tick(a_tick())
            return text(browser, ".flow-health") == "ok"

        until(browser, is_shown_as_healthy_again)


def test_an_agent_that_has_just_started_says_so(browser: Chrome) -> None:
    with serve_stage(Stage()) as server:
        browser.get(server.url)

        wait_for(browser, "#fresh", "mirrorwatch is starting")
        wait_for(browser, "h1", "Waiting for the first report")


def test_what_is_fine_or_off_is_one_line_that_the_keyboard_opens(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topic_lags(), WRONG))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".quiet-fold", "6 checks are ok, 3 are off")

        shown = lines(browser, ".checks")
        assert shown[:3] == [
            "critical",
            "lag",
            "Something is wrong with lag",
        ]
        assert "Something is wrong with retention" in shown
        assert not any("Nothing is wrong" in line for line in shown)
        fold = browser.find_element(By.CSS_SELECTOR, ".quiet-fold summary")
        fold.send_keys(Keys.ENTER)
        for check in (*OK, *OFF):
            told = f"Nothing is wrong with {check}"
            if check not in WRONG and check not in OFF:
                wait_for(browser, ".checks.quiet", told)
        wait_for(browser, ".checks.quiet", "Nothing tells bottleneck")

        stage.tick(a_tick_with_topics(some_topic_lags()))
        come_back(browser)

        wait_for(browser, ".quiet-fold", "All 8 checks are ok, 3 are off")
        assert text(browser, ".checks") == ""
        # What was opened stays open.
        assert "Nothing is wrong with lag" in text(browser, ".checks.quiet")


def test_evidence_is_told_in_words_and_offsets_as_they_are_looked_up(
    browser: Chrome,
) -> None:
    tick = a_tick()
    verdict = a_verdict(
        Health.CRITICAL,
        check="lag",
        since=tick.at,
        evidence={
            "lag_records": 1234567,
            "worst_position": 1234567,
            "lag_seconds": 10800.5,
            "p99_seconds": 0.25,
            "drain_seconds": None,
            "read_at": "2026-01-02T12:34:56.789+00:00",
            "is_estimated": False,
            "my_Connector-0": "RUNNING <b>",
        },
    )
    stage = Stage()
    stage.tick(replace(tick, verdicts=(verdict,)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".checks", "lag")
        summary = browser.find_element(By.CSS_SELECTOR, ".evidence summary")
        # By ear, it says of what.
        assert summary.get_property("textContent") == "Evidence of lag"

        summary.send_keys(Keys.ENTER)

        wait_for(browser, ".evidence dl", "my_Connector-0")
        told = lines(browser, ".evidence dl")
        assert dict(zip(told[::2], told[1::2], strict=True)) == {
            "lag records": "1,234,567",
            "worst position": "1234567",
            "lag": "3 h (10,800.5 s)",
            "p99": "250 ms",
            "drain": "unknown",
            "read at": "2026-01-02 12:34:56",
            "is estimated": "no",
            "my_Connector-0": "RUNNING <b>",
        }


def test_verdicts_are_told_while_topics_cannot_be_had(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topic_lags(), WRONG))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".loss-time", "1 h")
        browser.execute_cdp_cmd("Network.enable", {})
        blocked = {"urls": ["*api/topics*"]}
        browser.execute_cdp_cmd("Network.setBlockedURLs", blocked)

        stage.tick(a_tick_with_topics([]))
        come_back(browser)

        wait_for(browser, ".quiet-fold", "All 8 checks are ok")
        # The topics are those of before; the page is not cut off for it.
        assert text(browser, ".loss-time") == "1 h"
        assert text(browser, "#banner") == ""


def test_verdicts_are_told_while_the_history_cannot_be_had(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick())
    with serve_stage(stage) as server:
        browser.execute_cdp_cmd("Network.enable", {})
        blocked = {"urls": ["*api/history*"]}
        browser.execute_cdp_cmd("Network.setBlockedURLs", blocked)
        browser.get(server.url)
        browser.execute_script(NOTE_LINKS)
        wait_for(browser, ".flow-health", "ok")

        def has_asked_often(_: Chrome) -> bool:
            come_back(browser)
            return len(browser.execute_script("return asked()")) > 3

        until(browser, has_asked_often)
        links = browser.execute_script("return links")
        # The agent answers: only its history is missing.
        assert "unreachable" not in links
        # No probe is known to be lost, and none not to be.
        for name in ("lost", "late", "duplicates"):
            assert text(browser, f".figure.{name} .value") == NONE


def test_lost_records_are_in_the_first_lines_for_a_day(
    browser: Chrome,
) -> None:
    now = utc_now()
    lost, none = some_losses(now), LostRecords()
    other = Flow(name="commands", source="summit", target="ldf")
    point = RecoveryPoint(at=now, records=0, complete_until=now)
    failover = FailoverObservation(flow=FLOW.name, at=now, recovery=point)
    tick = a_report(now, observations=[failover], losses=[lost])
    with shown(browser, tick) as stage:
        told = f"{loss_texts.title(lost.day)}. {loss_texts.describe(lost)}."
        wait_for(browser, "#lost", told)
        link = browser.find_element(By.CSS_SELECTOR, "#lost a")
        href = str(link.get_attribute("href"))
        assert href.endswith("/runbook#positionexpired-unread")
        but = f"except {lost.total.missing} lost records"
        assert but in text(browser, ".lead-recovery")
        assert "Known" not in text(browser, "#lost")

        stage.tick(replace(tick, unacknowledged={FLOW.name: [13, 12]}))
        wait_for(browser, "#lost code", "mirrorwatch ack 12 13")

        two = replace(tick, flows=(FLOW, other))
        stage.tick(two)
        wait_for(browser, "#lost", f"summit → ldf: {told}")

        # Flows stay as long as the agent runs.
        old = replace(lost, hour=none, day=none, topics=())
        stage.tick(replace(two, losses=(old,)))
        until(browser, lambda b: text(b, "#lost") == "")
        assert but in text(browser, ".lead-recovery")
        assert complaints(browser) == []


NOTE_LINKS = """
const root = document.documentElement;
window.links = [];
window.asked = () => performance.getEntriesByType("resource")
  .filter(({ name }) => name.includes("api/history")).map(({ name }) => name);
new MutationObserver(() => window.links.push(root.dataset.link))
  .observe(root, { attributeFilter: ["data-link"] });
"""


def part(name: str) -> str:
    return f".part[data-part='{name}']"


@contextmanager
def shown(browser: Chrome, tick: Report, **more: Any) -> Iterator[Stage]:
    """Show what a tick told, of a stage that is given the rest."""
    stage = Stage(**more)
    stage.tick(tick)
    with serve_stage(stage) as server:
        browser.get(server.url)
        yield stage


def open_part(browser: Chrome, name: str) -> None:
    summary = browser.find_element(By.CSS_SELECTOR, f"{part(name)} > summary")
    summary.send_keys(Keys.ENTER)


def test_each_part_says_in_a_line_how_it_is_and_opens_by_keyboard(
    browser: Chrome,
) -> None:
    with shown(browser, broken(utc_now())):
        wait_for(
            browser,
            part("tasks"),
            "1 of 3 source tasks RUNNING · 1 FAILED · 1 UNASSIGNED",
        )
        wait_for(
            browser,
            part("parity"),
            "9 topics · 2 missing · 3 with different partitions · "
            "4 configs differ · 2 schemas cannot be resolved",
        )
        assert "17 missing" in text(browser, part("audit"))
        wait_for(
            browser,
            part("failover"),
            "4 consumer groups · 2 without a start at the target",
        )
        assert text(browser, f"{part('failover')} .part-health") == ""
        open_part(browser, "failover")
        for name in ("tasks", "parity", "audit"):
            assert text(browser, f"{part(name)} .part-health") == "critical"
            assert text(browser, f"{part(name)} .part-body") == ""
            open_part(browser, name)

        wait_for(browser, f"{part('tasks')} .facts", "10.1.2.4:8083")
        worst = text(browser, f"{part('tasks')} tbody tr:first-child")
        assert "FAILED" in worst
        assert f"stuck at {STOOD}[1] offset 4711" in worst
        assert f"not copied: {STOOD}[0-3] (4 partitions)" in worst
        parity = text(browser, f"{part('parity')} .part-body")
        assert "Missing at the target" in parity
        assert "a\ta\t1 h\toverdue" in parity
        assert "c\t3\t2\t1 h\toverdue" in parity
        assert "a\tretention.ms\t2\t1\t1 h\toverdue" in parity
        missing = r"events\tvalue\tschema id 7\t4 min[^\t]*\tmissing at the"
        assert re.search(missing, parity)
        assert "summit.events-value" in parity
        starts = text(browser, f"{part('failover')} .part-body")
        assert "archiver\tsummit.events[0]\t40\t35\tsync\t0" in starts
        assert "efd-loader\tsummit.events[0]\t12\t9\tsync\t≤ 1" in starts
        assert "viewer\tsummit.commands[1]\t7\t" in starts
        assert failover_texts.NO_SYNCS in starts
        assert "groups filter excludes it" in text(
            browser, f"{part('failover')} tbody tr:first-child"
        )
        audit = text(browser, f"{part('audit')} .part-body")
        assert "events\t3\tmissing\t17\t42 to 57, 99" in audit
        assert "expired at the source" in audit
        link = browser.find_element(By.LINK_TEXT, "Full report")
        assert str(link.get_attribute("href")).endswith(
            "/audit/nightly-2026-01-02"
        )
        assert complaints(browser) == []


def test_groups_whose_committed_offsets_are_gone_are_named(
    browser: Chrome,
) -> None:
    tick, hour = healthy(utc_now()), timedelta(hours=1)
    readers = some_readers(tick.at)
    lost = tuple(
        LostOffsets(group=g, topics=t, records=r, missed_at=tick.at - hour)
        for g, t, r in (("<i>loader", 1, 3), ("archiver", 2, 1_234))
    )

    def with_groups(seen: ReadersObservation) -> Report:
        return replace(tick, observations=(*tick.observations, seen))

    with shown(browser, with_groups(readers)) as stage:
        wait_for(browser, part("readers"), "3 groups")
        open_part(browser, "readers")
        note = f"{part('readers')} .facts ~ .part-note"
        wait_for(browser, note, "Without committed offsets: connect-gone.")
        assert "gone." not in text(browser, part("readers")).replace(
            "connect-gone.", ""
        )

        stage.tick(with_groups(replace(readers, lost=lost)))
        come_back(browser)

        wait_for(browser, part("readers"), "offsets of 2 groups gone")
        named = text(browser, note)
        assert named.startswith(
            "Committed offsets are gone: archiver with lag 1,234 records on "
            "2 topics, first missed at "
        )
        assert "; <i>loader with lag 3 records on 1 topic, first" in named
        assert complaints(browser) == []


def test_what_is_well_is_said_without_a_sign_and_what_is_not_known_with_one(
    browser: Chrome,
) -> None:
    with shown(browser, healthy(utc_now())) as stage:
        wait_for(browser, "h1", "replication is healthy")
        wait_for(browser, part("tasks"), "3 of 3 source tasks RUNNING")
        wait_for(
            browser,
            part("parity"),
            "1,172 topics · all present with matching partitions · "
            "configs match",
        )
        wait_for(browser, part("audit"), "none missing, altered or duplicated")
        for name in ("tasks", "parity", "audit"):
            assert text(browser, f"{part(name)} .part-health") == ""

        tick = broken(utc_now())
        stage.tick(
            type(tick)(
                at=tick.at,
                flows=tick.flows,
                observations=(),
                verdicts=tick.verdicts,
            )
        )
        come_back(browser)

        wait_for(browser, part("failover"), "not read yet")
        wait_for(browser, part("tasks"), "not read yet")
        wait_for(browser, part("parity"), "topics not compared yet")
        assert text(browser, f"{part('tasks')} .part-health") == "critical"


def test_no_part_of_an_agent_that_is_gone_is_shown_as_well(
    browser: Chrome,
) -> None:
    with shown(browser, healthy(utc_now())):
        wait_for(browser, part("tasks"), "3 of 3 source tasks RUNNING")

    come_back(browser)
    wait_for(browser, f"{part('tasks')} .part-health", "unknown")
    assert text(browser, f"{part('audit')} .part-health") == "unknown"


def test_the_last_nights_are_listed_with_their_reports(
    browser: Chrome, tmp_path: Path
) -> None:
    write_audit(tmp_path, a_finished(a_result(a_finding(last=58))))
    write_report(tmp_path, "nightly-2026-11-21", "<!doctype html>")
    with shown(browser, healthy(utc_now()), audits=tmp_path):
        wait_for(browser, part("audit"), "none missing")
        open_part(browser, "audit")

        wait_for(browser, f"{part('audit')} .part-body", "Last audits")
        nights = "[aria-label='Last audits']"
        night = text(browser, f"{nights} tbody")
        assert night.endswith("\t1,000\t17\t0\t0\t0\t0\t0")
        link = browser.find_element(By.CSS_SELECTOR, f"{nights} th a")
        assert str(link.get_attribute("href")).endswith(
            "/audit/nightly-2026-11-21"
        )


def test_every_verdict_links_to_a_place_in_the_runbook_that_is_there(
    browser: Chrome,
) -> None:
    with shown(browser, broken(utc_now())):
        wait_for(browser, ".checks", "retention")
        links = browser.execute_script(
            "return [...document.querySelectorAll('.check-help, .lead-help')]"
            ".map((link) => link.getAttribute('href'))"
        )
        book = HTTP.get(urljoin(browser.current_url, "runbook")).text
        anchors = set(re.findall(r' id="([^"]+)"', book))
        # Sixteen checks, and the one that leads.
        assert len(links) == 17
        for link in links:
            address, _, anchor = link.partition("#")
            assert (address, anchor in anchors) == ("runbook", True), link

        browser.find_element(By.CSS_SELECTOR, ".lead-help").click()

        wait_for(browser, "h1", "Runbook")
        assert text(browser, ":target") == "canary.overdue"
        assert complaints(browser) == []


def test_maintenance_is_said_and_the_agents_own_state(
    browser: Chrome,
) -> None:
    now = utc_now()
    tick = broken(now)
    stage = Stage()
    stage.tick(
        type(tick)(
            at=now,
            flows=tick.flows,
            observations=tick.observations,
            verdicts=tick.verdicts,
            agent=tick.agent,
            maintenance=(a_window(now, timedelta(hours=2)),),
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, "#maintenance", "notifications are silenced until")
        assert "MirrorMaker 3.9 to 4.3" in text(browser, "#maintenance")
        assert text(browser, ".flow-health") == "critical"
        state = text(browser, "#agent summary")
        assert "down: jmx, influxdb" in state
        assert "84,211 points queued · 3 points lost" in state
        browser.find_element(By.CSS_SELECTOR, "#agent summary").click()
        wait_for(browser, "#agent", "influxdb\tsink\tdown\t84,211\t3")

        stage.tick(healthy(utc_now()))
        come_back(browser)

        wait_for(browser, "h1", "replication is healthy")
        assert text(browser, "#maintenance") == ""
        assert "down:" not in text(browser, "#agent summary")


def test_words_from_outside_stay_words(browser: Chrome) -> None:
    evil = Flow(
        name="<img src=x onerror=alert(1)>", source="<b>a</b>", target="&lt;"
    )
    reason = "<script>document.title = 'owned'</script>"
    stage = Stage()
    stage.tick(a_tick(health=Health.WARNING, reason=reason, flow=evil))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".lead", reason)

        assert "<b>a</b>" in text(browser, ".flow h2")
        assert "&lt;" in text(browser, ".flow h2")
        assert evil.name in text(browser, ".alias")
        wait_for_charts(browser)
        assert complaints(browser) == []


@pytest.mark.parametrize("health", [Health.OK, Health.CRITICAL])
def test_a_phone_shows_it_without_scrolling_sideways(
    browser: Chrome, stage_with_history: Stage, page: Server, health: Health
) -> None:
    reason = f"Topic {'lsst.sal.MTMount.logevent_' * 6} is missing"
    stage_with_history.tick(a_tick(health=health, reason=reason, lost=1))
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get(page.url)
    wait_for_charts(browser)
    for fold in browser.find_elements(By.CSS_SELECTOR, "summary"):
        if fold.is_displayed():
            fold.click()

    assert content_width(browser) <= 360


def test_it_works_with_the_keyboard_alone(
    browser: Chrome, page: Server
) -> None:
    browser.get(page.url)
    wait_for_charts(browser)
    quarter = browser.find_element(By.CSS_SELECTOR, "[data-seconds='900']")

    quarter.send_keys(Keys.ENTER)

    wait_for(browser, ".range-text", "over the last 15 minutes")
    assert quarter.get_attribute("aria-pressed") == "true"
    plot = browser.find_element(By.CSS_SELECTOR, ".latency .plot")
    newest = text(browser, ".latency .readout")
    plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    until(browser, lambda b: text(b, ".latency .readout") != newest)


def test_a_chosen_theme_is_kept(browser: Chrome, page: Server) -> None:
    browser.get(page.url)
    wait_for_charts(browser)
    theme = browser.find_element(By.ID, "theme")
    theme.click()
    theme.click()
    assert theme.text == "Theme: dark"

    browser.refresh()

    wait_for(browser, "#theme", "Theme: dark")
    body = browser.find_element(By.TAG_NAME, "body")
    assert body.value_of_css_property("background-color") == (
        "rgba(12, 17, 23, 1)"
    )


def test_several_flows_have_an_overview(browser: Chrome) -> None:
    other = Flow(name="commands", source="summit", target="ldf")
    stage = Stage()
    fine, bad = a_tick(), a_tick(health=Health.WARNING, flow=other)
    stage.tick(
        a_report(
            fine.at,
            flows=[FLOW, other],
            observations=canaries(fine.observations + bad.observations),
            verdicts=[*fine.verdicts, *bad.verdicts],
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)

        wait_for(browser, "#answer-detail", "commands has a warning")
        wait_for(browser, "#overview", "warning\ncommands")
        assert len(browser.find_elements(By.CSS_SELECTOR, ".flow")) == 2


# The page as people see it, on wide screens and on phones.
#
# The pictures are left in ``build/screenshots`` to be looked at.


FOLDER = Path(__file__).parents[2] / "build" / "screenshots"
WIDTHS = {"wide": 1280, "phone": 390}
SCENES = {"healthy": healthy, "broken": broken}

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")
"""Finds words that are hard to read on what lies behind them."""


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Serve a flow that was well, and is so or not by now."""
    stage = Stage()
    seen: Callable[[datetime], Report] = SCENES[request.param]
    for tick in range(60, -1, -1):
        at = utc_now() - 5 * tick * SECOND
        stage.tick(healthy(at) if tick > 20 else seen(at))
    with serve_stage(stage) as server:
        yield request.param, server.url


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_all_of_it_can_be_read(
    browser: Chrome, scene: tuple[str, str], device: str, theme: str
) -> None:
    name, url = scene
    emulate(browser, WIDTHS[device], theme)
    browser.get(url)
    wait_for(browser, ".latency .readout", ":")
    wait_for(browser, ".part[data-part='tasks']", "source tasks RUNNING")
    screenshot(browser, FOLDER / f"{name}-{device}-{theme}.png")
    for summary in browser.find_elements(By.TAG_NAME, "summary"):
        if summary.is_displayed():
            browser.execute_script("arguments[0].click()", summary)
    wait_for(browser, ".history-table tbody", "ms")
    screenshot(browser, FOLDER / f"{name}-{device}-{theme}-open.png")

    assert content_width(browser) <= WIDTHS[device]
    assert browser.execute_script(CONTRAST) == []
    assert complaints(browser) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_the_runbook_can_be_read(
    browser: Chrome, device: str, theme: str
) -> None:
    emulate(browser, WIDTHS[device], theme)
    with serve_stage(Stage()) as server:
        browser.get(f"{server.url}/runbook#tasks")
        wait_for(browser, "h1", "Runbook")
        screenshot(browser, FOLDER / f"runbook-{device}-{theme}.png", 1600)

        assert content_width(browser) <= WIDTHS[device]
        assert browser.execute_script(CONTRAST) == []
        assert complaints(browser) == []
