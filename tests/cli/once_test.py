"""What `mirrorwatch once` says of the last report."""

import json
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.doctor.examination import Diagnosis
from mirrorwatch.web.app import LatestReport
from tests.support.builders import a_report, a_verdict

pytestmark = pytest.mark.slow


CONFIG = """
clusters:
  summit: {kafka: {bootstrap.servers: "127.0.0.1:1"}}
  ldf: {kafka: {bootstrap.servers: "127.0.0.1:2"}}
flows: [{source: summit, target: ldf}]
"""


def stand_in(monkeypatch: pytest.MonkeyPatch, latest: LatestReport) -> None:
    """Put an agent there that has made these reports."""
    once = "mirrorwatch.cli.once"
    monkeypatch.setattr(
        f"{once}.build_agent", lambda *_, **__: SimpleNamespace(latest=latest)
    )
    monkeypatch.setattr(f"{once}.Daemon", lambda *_, **__: nullcontext())
    monkeypatch.setattr(f"{once}.wait_for_signal", lambda _: None)
    nothing = Diagnosis(findings=(), checked=(), seconds=0)
    monkeypatch.setattr(f"{once}.examine", lambda *_, **__: nothing)


@pytest.mark.parametrize(
    ("age", "health", "status"), [(1, "ok", 0), (15, "unknown", 3)]
)
def test_a_report_that_is_too_old_is_not_ok(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    age: int,
    health: str,
    status: int,
) -> None:
    # As of an agent whose ticks hung after one that was ok.
    latest = LatestReport()
    report = a_report(
        at=utc_now() - timedelta(seconds=age), verdicts=[a_verdict()]
    )
    latest.publish(report)
    stand_in(monkeypatch, latest)
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)

    result = CliRunner().invoke(
        main, ["once", "--config", str(file), "--json"]
    )

    (flow,) = json.loads(result.stdout)["flows"]
    assert flow["health"] == health
    assert result.exit_code == status


def test_that_nothing_was_measured_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, LatestReport())
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    result = CliRunner().invoke(
        main, ["once", "--config", str(file), "--for", "0s"]
    )
    assert "observe for longer, such as --for 60s" in result.stdout
    assert result.exit_code == 3
