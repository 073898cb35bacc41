"""What is kept in ``alerts/`` is made from the one table, and holds."""

import re
import subprocess
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirrorwatch.domain.canary.check import CanaryLimits
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.notices.model import RECOVERY, Severity
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import AGENT_METRICS, FLOW_CAUSE, SOURCE_UP
from mirrorwatch_alerting.__main__ import files
from mirrorwatch_alerting.alerts import (
    ALERTS,
    Above,
    AtFault,
    WhenHealth,
    subject_of,
)
from mirrorwatch_alerting.kapacitor import FRESH
from mirrorwatch_alerting.prometheus import rules as prometheus_rules
from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.programs import program

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
KEPT = bundled_folder("alerts")
PROMETHEUS = KEPT / "prometheus" / "mirrorwatch.yaml"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
DOMAIN = ROOT / "agent" / "mirrorwatch" / "domain"


def rules() -> list[dict[str, Any]]:
    group, _ = yaml.safe_load(PROMETHEUS.read_text("utf-8"))["groups"]
    return [rule for rule in group["rules"] if "alert" in rule]


def anchors() -> set[str]:
    headings = re.findall(r"^#+ (.+)$", RUNBOOK, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def test_the_kept_files_are_those_that_the_table_makes() -> None:
    for name, text in files().items():
        kept = (KEPT / name).read_text("utf-8")
        assert kept == text, "run: make alerts"
    tasks = {f"kapacitor/{f.name}" for f in KEPT.glob("kapacitor/*")}
    assert tasks | {"prometheus/mirrorwatch.yaml"} == files().keys()


def test_every_check_has_alerts_and_no_other_has() -> None:
    judged = [a.when for a in ALERTS if isinstance(a.when, WhenHealth)]
    for health in (Health.WARNING, Health.UNKNOWN):
        named = [c for w in judged if w.health is health for c in w.checks]
        assert sorted(named) == sorted(CHECKS)


def test_what_the_agent_says_is_down_has_an_alert() -> None:
    says = {m for m in AGENT_METRICS if m.name.endswith("_up")}
    has = {a.when.metric for a in ALERTS if isinstance(a.when, Above)}
    # Checks without facts of a source are unknown, and have alerts of theirs.
    assert says - has == {SOURCE_UP}


def test_a_check_has_a_critical_alert_if_it_can_be_critical() -> None:
    for name, check in CHECKS.items():
        can = any(
            "Health.CRITICAL" in file.read_text("utf-8")
            for file in _sources_of(name)
        )
        assert (check.alarms.symptom is not None) is can, name
        assert bool(check.alarms.critical) is can, name


def test_each_alert_says_what_whom_and_where() -> None:
    for alert in ALERTS:
        checks = (
            alert.when.checks if isinstance(alert.when, WhenHealth) else ()
        )
        sections = {alert.section.replace("{check}", c) for c in checks}
        assert (sections or {alert.section}) <= anchors(), alert
        assert len(alert.summary) >= 20
        assert not alert.summary.endswith(".")
    named = {alert.name: alert.summary for alert in ALERTS}
    assert len({*named.values()}) == len(named)
    # One meaning, whatever the check: as a page, a ticket, and after a day.
    several = Counter(alert.name for alert in ALERTS)
    assert {n: k for n, k in several.items() if k > 1} == {
        "MirrorwatchBlind": 3
    }


def test_about_fifteen_alerts_on_flows_page_by_symptom() -> None:
    pages = {
        alert.name
        for alert in ALERTS
        if alert.severity is Severity.PAGE and subject_of(alert) == "flow"
    }
    assert len(pages) <= 16
    for check in CHECKS:
        assert f"Mirrorwatch{check.capitalize()}Critical" not in pages


def test_only_a_proved_loss_is_told_at_once() -> None:
    at_once = {a.name for a in ALERTS if a.hold < timedelta(minutes=1)}
    assert at_once == {"MirrorwatchRecordsDropped", "MirrorwatchPositionReset"}


def test_points_that_come_late_neither_make_nor_end_an_alert() -> None:
    assert RECOVERY >= FRESH
    for alert in ALERTS:
        if isinstance(alert.when, WhenHealth) and alert.hold:
            assert alert.hold > FRESH


def test_a_single_sample_is_nothing_whatever_is_missing_around_it() -> None:
    for alert in ALERTS:
        assert not alert.hold or max(alert.gap, alert.recent) < alert.hold


def _sources_of(check: str) -> list[Path]:
    found = [
        file
        for place in (f"{check}.py", f"{check}/check.py", f"*/{check}.py")
        for file in DOMAIN.glob(place)
    ]
    assert found, check
    return found


def test_one_late_probe_makes_no_ticket() -> None:
    for alert in ALERTS:
        if isinstance(alert.when, WhenHealth):
            remembered = CanaryLimits().warning_window
            warning = alert.when.health is Health.WARNING
            assert not warning or alert.hold > remembered


def test_prometheus_has_every_alert_with_its_texts() -> None:
    assert [rule["alert"] for rule in rules()] == [a.name for a in ALERTS]
    for rule, alert in zip(rules(), ALERTS, strict=True):
        annotations = rule["annotations"]
        symptom = {"symptom": "true"} if alert.is_symptom else {}
        assert rule["labels"] == symptom | {
            "severity": alert.severity,
            "service": "mirrorwatch",
        }
        labelled = "{{ $labels.check }}"
        summary = alert.summary.replace("{check}", labelled)
        section = alert.section.replace("{check}", labelled)
        assert annotations["summary"].endswith(summary)
        is_page = alert.severity is Severity.PAGE
        on_flow = isinstance(alert.when, WhenHealth | AtFault)
        assert ("description" in annotations) is (is_page and on_flow)
        # The page of the agent, as it says itself; else what is shipped.
        assert "mirrorwatch_flow_info{" in annotations["runbook_url"]
        link = f"http://mirrorwatch:8080{{{{ end }}}}/runbook#{section}"
        assert annotations["runbook_url"].endswith(link)


def test_mirrormaker_is_named_only_where_no_other_mirror_is_judged() -> None:
    others = [t for kind, t in KINDS.items() if kind != "mirrormaker2"]
    own = set(CHECKS).intersection(*(set(traits.off) for traits in others))
    named = {
        check
        for alert in ALERTS
        if isinstance(alert.when, WhenHealth) and "Mirror" in alert.summary
        for check in alert.when.checks
    }
    assert named
    assert named <= own


def test_a_page_that_is_given_is_that_of_every_alert() -> None:
    given = yaml.safe_load(prometheus_rules(ALERTS, page="https://x"))
    group, _ = given["groups"]
    links = [r["annotations"]["page"] for r in group["rules"] if "alert" in r]
    assert set(links) == {"https://x/"}


def test_every_metric_that_prometheus_asks_for_is_exported() -> None:
    text = PROMETHEUS.read_text("utf-8")
    named = set(re.findall(r"(?<!/)\bmirrorwatch_[a-z_]+\b", text))
    assert len(named) >= 8
    known = {metric.name for metric in CATALOGUE}
    assert {name.removesuffix("_bucket") for name in named} <= known
    asked = re.findall(r'check=~"([\w|]+)"', text)
    assert {c for checks in asked for c in checks.split("|")} == CHECKS.keys()


def test_promtool_accepts_the_rules() -> None:
    ran = subprocess.run(
        [program("promtool"), "check", "rules", PROMETHEUS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_field_and_tag_that_kapacitor_asks_for_is_written() -> None:
    written = {metric.measurement for metric in CATALOGUE}
    fields = {metric.field for metric in CATALOGUE}
    texts = [f.read_text("utf-8") for f in KEPT.glob("kapacitor/*.tick")]
    assert len(texts) == 5
    for text in texts:
        assert set(re.findall(r"measurement\('(\w+)'\)", text)) <= written
        asked = re.findall(r'isPresent\("(\w+)"\)', text)
        assert set(asked) <= fields | {"flow"}
    cause = (KEPT / "kapacitor" / "mirrorwatch-cause.tick").read_text("utf-8")
    assert f'"{FLOW_CAUSE.field}" >= 3.0' in cause
    tags = ", ".join(f"'{label}'" for label in FLOW_CAUSE.labels)
    assert cause.count(f".groupBy({tags})") == 2
    flow = (KEPT / "kapacitor" / "mirrorwatch-flow.tick").read_text("utf-8")
    assert set(re.findall(r'"(\w+)\.raised"', flow)) == CHECKS.keys()
    assert {"check_health", "maintenance"} <= fields


def test_kapacitor_has_the_text_of_every_alert() -> None:
    texts = "".join(
        f.read_text("utf-8").replace("\\'", "'")
        for f in KEPT.glob("kapacitor/*.tick")
    )
    # An agent that hangs writes nothing: it is silent there.
    missing = set()
    for alert in ALERTS:
        checks = (
            alert.when.checks if isinstance(alert.when, WhenHealth) else [""]
        )
        for check in checks:
            if alert.summary.replace("{check}", check) not in texts:
                missing.add(alert.name)
            section = alert.section.replace("{check}", check)
            assert f"/runbook#{section}" in texts
    assert missing == {"MirrorwatchAgentStuck"}


def test_amtool_accepts_the_example_for_alertmanager() -> None:
    example = KEPT / "alertmanager.example.yaml"
    ran = subprocess.run(
        [program("amtool"), "check-config", example],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    kept = yaml.safe_load(example.read_text("utf-8"))["inhibit_rules"]
    composed = (ROOT / "compose" / "alertmanager.yaml").read_text("utf-8")
    assert yaml.safe_load(composed)["inhibit_rules"] == kept
    tickets, symptoms = kept
    # A label that both lack counts as equal there.
    assert 'flow=~".+"' in tickets["source_matchers"]
    agent = ["job", "namespace", "cluster"]
    assert tickets["equal"] == [*agent, "flow"]
    assert symptoms["equal"] == [*agent, "flow", "severity"]
    documented = (ROOT / "docs" / "alerts.md").read_text("utf-8")
    _, _, shown = documented.partition("\ninhibit_rules:")
    shown, _, _ = shown.partition("\n```")
    assert yaml.safe_load(shown) == kept


def test_what_may_follow_from_a_cause_is_a_symptom_and_nothing_else() -> None:
    own = {a.name for a in ALERTS if not a.is_symptom}
    assert own == {
        a.name for a in ALERTS if not isinstance(a.when, WhenHealth)
    } | {
        *("MirrorwatchRecordsDropped", "MirrorwatchSkipsWarning"),
        *("MirrorwatchPositionReset", "MirrorwatchPositionWarning"),
        *("MirrorwatchTopicsMissing", "MirrorwatchTopicsWarning"),
        *("MirrorwatchConfigsWarning", "MirrorwatchTaskErrors"),
        *("MirrorwatchRecordsUndecodable", "MirrorwatchSchemasWarning"),
        *("MirrorwatchAuditFindings", "MirrorwatchAuditWarning"),
        # That of the audit.
        "MirrorwatchBlind",
        # Who reads the target is not stopped by what is before it.
        *("MirrorwatchReadersStopped", "MirrorwatchReadersWarning"),
    }
