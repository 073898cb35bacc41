"""Reports of audits: theirs, and nothing else of the machine."""

import socket
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from mirrorwatch.domain.report import Health
from mirrorwatch.web.server import Server
from tests.support.audit import an_audit
from tests.support.builders import NOON, a_report, a_verdict
from tests.support.http import HTTP
from tests.support.page import a_tick, wait_for
from tests.support.stage import SetClock, SharedServer, Stage, serve_stage

RUN = "nightly-2026-01-02"
PAGE = "<!doctype html><title>Audit</title>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one report, and secrets around it."""
    out = tmp_path / "audit"
    (out / "runs" / RUN).mkdir(parents=True)
    (out / "runs" / RUN / "report.html").write_text(PAGE)
    (out / "runs" / "nightly-2026-01-03").mkdir()
    (out / "report.html").write_text("secret")
    (tmp_path / "report.html").write_text("secret")
    return out


@pytest.fixture
def stage(folder: Path) -> Stage:
    return Stage(clock=SetClock(NOON), audits=folder)


@pytest.fixture
def server(stage: Stage, shared_server: SharedServer) -> Server:
    return shared_server.serve(stage)


def get(server: Server, path: str) -> httpx.Response:
    return HTTP.get(server.url + path, timeout=60)


def test_a_report_is_shown_without_any_right(server: Server) -> None:
    answer = get(server, f"/audit/{RUN}")
    assert (answer.status_code, answer.text) == (200, PAGE)
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "script-src" not in policy
    assert answer.headers["cache-control"] == "no-store"


def test_the_latest_report_is_that_of_the_last_audit(
    server: Server, stage: Stage
) -> None:
    assert get(server, "/audit/latest").status_code == 404
    stage.latest.publish(a_report(observations=[an_audit()]))
    assert get(server, "/audit/latest").text == PAGE
    silent = replace(an_audit(), report=None)
    stage.latest.publish(a_report(observations=[silent]))
    answer = get(server, "/audit/latest")
    assert answer.status_code == 404
    assert "No audit has written a report yet" in answer.text


@pytest.mark.parametrize(
    "run",
    ["nightly-2026-01-03", "nightly-2026-01-04", "runs", "a b", "<b>", "%00"],
)
def test_no_report_is_said_in_words(server: Server, run: str) -> None:
    answer = get(server, f"/audit/{run}")
    assert answer.status_code == 404
    assert answer.text.startswith("No report of audit")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    "path",
    [
        "/audit/..",
        "/audit/%2e%2e",
        "/audit/.",
        "/audit/..%2f..",
        "/audit/../../report.html",
        f"/audit/{RUN}%2f..%2f..%2f..",
        "/audit/%2e%2e%2f%2e%2e%2freport.html",
        "/audit//",
    ],
)
def test_no_path_leads_out_of_the_folder(server: Server, path: str) -> None:
    # As it stands: a client would tidy the path up.
    with socket.create_connection(("127.0.0.1", server.port), 60) as line:
        asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        line.sendall(asked.encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split()[1] == b"404"
    assert b"secret" not in answer


def test_no_link_leads_out_of_the_folder(server: Server, folder: Path) -> None:
    (folder / "runs" / "linked").symlink_to(folder)
    assert get(server, "/audit/linked").status_code == 404


def test_an_agent_without_audits_says_so() -> None:
    with serve_stage(Stage(clock=SetClock(NOON))) as server:
        answer = get(server, "/audit/latest")
    assert answer.status_code == 404
    assert "No folder for audit reports is configured" in answer.text


@pytest.mark.browser
def test_the_page_leads_to_the_report_that_may_style_itself(
    browser: Chrome, folder: Path
) -> None:
    styled = "<style>body { color: rgb(1, 2, 3) }</style><p>Clean</p>"
    script = "<script>document.body.append('scripted')</script>"
    file = folder / "runs" / RUN / "report.html"
    file.write_text(f"<!doctype html>{styled}{script}")
    stage = Stage(audits=folder)
    evidence = {"report": f"/audit/{RUN}"}
    tick = a_tick()
    verdicts = [
        a_verdict(Health.CRITICAL, check="audit", evidence=evidence),
        a_verdict(Health.WARNING, evidence={"report": "/audit/../x"}),
    ]
    stage.tick(replace(tick, verdicts=tuple(verdicts)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".checks", "Full report")
        links = browser.find_elements(By.CSS_SELECTOR, ".check-report")
        shown = [link for link in links if link.is_displayed()]
        assert len(shown) == 1
        shown[0].click()
        wait_for(browser, "p", "Clean")
        assert browser.current_url == f"{server.url}/audit/{RUN}"
        body = browser.find_element(By.CSS_SELECTOR, "body")
        assert "1, 2, 3" in body.value_of_css_property("color")
        assert "scripted" not in body.text
