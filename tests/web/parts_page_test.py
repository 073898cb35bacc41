"""What stands behind the verdicts: tasks, parity, audit, in a browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mirrorwatch.clock import utc_now
from mirrorwatch.ports import Report
from mirrorwatch.state.audits import write_audit, write_report
from tests.support.audits import a_finding, a_finished, a_result
from tests.support.builders import a_window
from tests.support.page import come_back, complaints, text, wait_for
from tests.support.page_scenes import STOOD, broken, healthy
from tests.support.plain_http import HTTP
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser


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
            "1 of 3 that copy say RUNNING · 1 FAILED · 1 UNASSIGNED",
        )
        wait_for(
            browser,
            part("parity"),
            "9 topics · 2 missing · 3 with other partitions · "
            "4 settings differ",
        )
        assert "17 missing" in text(browser, part("audit"))
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
        audit = text(browser, f"{part('audit')} .part-body")
        assert "events\t3\tmissing\t17\t42 to 57, 99" in audit
        assert "expired at the source" in audit
        link = browser.find_element(By.LINK_TEXT, "Full report")
        assert str(link.get_attribute("href")).endswith(
            "/audit/nightly-2026-01-02"
        )
        assert complaints(browser) == []


def test_what_is_well_is_said_without_a_sign_and_what_is_not_known_with_one(
    browser: Chrome,
) -> None:
    with shown(browser, healthy(utc_now())) as stage:
        wait_for(browser, "h1", "arriving as it should")
        wait_for(browser, part("tasks"), "3 of 3 that copy say RUNNING")
        wait_for(
            browser,
            part("parity"),
            "1,172 topics · all there, divided alike · configured alike",
        )
        wait_for(browser, part("audit"), "none missing, altered or doubled")
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

        wait_for(browser, part("tasks"), "not looked at")
        wait_for(browser, part("parity"), "topics not compared yet")
        assert text(browser, f"{part('tasks')} .part-health") == "critical"


def test_no_part_of_an_agent_that_is_gone_is_shown_as_well(
    browser: Chrome,
) -> None:
    with shown(browser, healthy(utc_now())):
        wait_for(browser, part("tasks"), "3 of 3 that copy say RUNNING")

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

        wait_for(browser, f"{part('audit')} .part-body", "The last nights")
        nights = "[aria-label='The last nights']"
        night = text(browser, f"{nights} tbody")
        assert night.endswith("\t1,000\t17\t0\t0\t0\t0")
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
        # Thirteen checks, and the one that leads.
        assert len(links) == 14
        for link in links:
            address, _, anchor = link.partition("#")
            assert (address, anchor in anchors) == ("runbook", True), link

        browser.find_element(By.CSS_SELECTOR, ".lead-help").click()

        wait_for(browser, "h1", "Runbook")
        # The row that says what to do about just this.
        assert "It is stuck at" in text(browser, ":target")
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
        wait_for(browser, "#maintenance", "notices are held until")
        assert "MirrorMaker 3.9 to 4.3" in text(browser, "#maintenance")
        assert text(browser, ".flow-health") == "critical"
        state = text(browser, "#agent summary")
        assert "not working: jmx, influxdb" in state
        assert "84,211 points wait to be written · 3 points lost" in state
        browser.find_element(By.CSS_SELECTOR, "#agent summary").click()
        wait_for(browser, "#agent", "influxdb\tsink\tnot working\t84,211\t3")

        stage.tick(healthy(utc_now()))
        come_back(browser)

        wait_for(browser, "h1", "arriving as it should")
        assert text(browser, "#maintenance") == ""
        assert "not working" not in text(browser, "#agent summary")
