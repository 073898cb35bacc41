"""The runbook that the agent serves, and links into it."""

import re

from mirrorwatch.domain.checks import CHECKS, CODES
from mirrorwatch.domain.runbook import runbook_link
from mirrorwatch.web.runbook import runbook_html

ANCHORS = re.findall(r' id="([^"]+)"', runbook_html())


def test_each_code_links_to_an_entry() -> None:
    entries = {f"/runbook#{anchor}" for anchor in ANCHORS}
    assert {runbook_link(code, "lag") for code in CODES} <= entries


def test_a_verdict_without_a_code_links_to_its_check() -> None:
    for check in (*CHECKS, "cause"):
        assert runbook_link(None, check) == f"/runbook#{check}"
        assert check in ANCHORS


def test_anchors_are_unique_and_links_within_lead_to_them() -> None:
    assert len(set(ANCHORS)) == len(ANCHORS)
    links = re.findall(r' href="#([^"]+)"', runbook_html())
    assert set(links) <= set(ANCHORS)


def test_links_to_other_pages_are_only_words() -> None:
    links = re.findall(r'<a href="([^"]*)"', runbook_html())
    assert all(link.startswith(("#", "https://", ".")) for link in links)
