"""The commands of the audit, as far as they need no Spark."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from mirrorwatch.cli.audit_options import as_request, require
from mirrorwatch.cli.audit_page import print_crossing
from mirrorwatch.cli.root import main
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.plan import Unverifiable
from mirrorwatch.domain.audit.result import Crossing
from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch.state.audits import write_file
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_result,
    write_audit,
)

pytestmark = pytest.mark.slow


WINDOW = ["--from", "2026-11-20T00:00Z", "--to", "2026-11-21T00:00Z"]


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "mirrorwatch.yaml"
    path.write_text(f"""
clusters:
  summit: {{kafka: {{bootstrap.servers: "127.0.0.1:1"}}}}
  ldf: {{kafka: {{bootstrap.servers: "127.0.0.1:2"}}}}
flows:
  - source: summit
    target: ldf
    topics: {{include: ["a"]}}
    mirror: {{kind: mirrormaker2}}
state: {{path: "{tmp_path}/state.db"}}
""")
    return str(path)


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(
        main,
        ["audit", *arguments],
        env={"MIRRORWATCH_CONFIG": None, "COLUMNS": "120"},
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2026-11-20T00:00", *WINDOW[2:]], "has no time zone"),
        (["--from", "yesterday", *WINDOW[2:]], "is not a time of ISO 8601"),
        (WINDOW[:2], "--from and --to need each other"),
        (WINDOW[2:], "--from and --to need each other"),
        ([*WINDOW[:3], "2026-11-19T00:00Z"], "is not before --to"),
        ([*WINDOW, "--date", "2026-11-20"], "--date names a night"),
        (["--date", "20 Nov"], "--date"),
        (["--flow", "up"], "there are summit->ldf"),
        (["--topics", "["], "is no regex"),
        (["--topics", "a"], "need --from and --to: a night is of all"),
        (["--flow", "summit->ldf"], "need --from and --to"),
    ],
)
def test_what_makes_no_sense_is_refused_before_spark_is_started(
    config: str, arguments: list[str], said: str
) -> None:
    result = audit("run", "--config", config, *arguments)

    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_a_window_is_parted_at_whole_milliseconds_as_records_are() -> None:
    config = Config.from_mapping(
        {
            "clusters": {
                "summit": {"kafka": {"bootstrap.servers": "h:1"}},
                "ldf": {"kafka": {"bootstrap.servers": "h:2"}},
            },
            "flows": [{"source": "summit", "target": "ldf"}],
        }
    )
    window = as_request(
        config,
        start=NIGHT + timedelta(microseconds=1),
        end=NIGHT + timedelta(milliseconds=5),
        flow=None,
        topics=None,
    ).window
    assert window is not None
    assert window.start == NIGHT + timedelta(milliseconds=1)
    assert window.end == NIGHT + timedelta(milliseconds=5)


def test_a_package_that_is_missing_is_named_with_the_remedy() -> None:
    with pytest.raises(
        AuditError, match=r"needs not_there: pip install '.\[spark"
    ):
        require("json", "not_there")


class SparkJob:
    """Stands for the module that runs audits."""

    def __init__(self, error: AuditError) -> None:
        self.error = error

    def opened(self, *_: Any, **__: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"), [(AuditRefusedError, 5), (AuditError, 1)]
)
def test_one_beside_another_has_a_status_of_its_own(
    config: str,
    monkeypatch: pytest.MonkeyPatch,
    error: type[AuditError],
    status: int,
) -> None:
    job = SparkJob(error("said"))
    monkeypatch.setattr("mirrorwatch.cli.audit_options.spark_job", lambda: job)

    result = audit("run", "--config", config)

    assert (result.exit_code, result.stderr) == (status, "Error: said\n")


def test_java_that_is_missing_gives_status_1_and_the_remedy(
    config: str,
) -> None:
    command = [sys.executable, "-m", "mirrorwatch", "audit", "run", *WINDOW]
    ran = subprocess.run(
        [*command, "--config", config],
        env=os.environ | {"JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "Spark needs Java 17 or newer: install it" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_night_that_was_clean_gives_status_0(
    config: str, tmp_path: Path
) -> None:
    write_audit(tmp_path / "audit", a_finished())

    result = audit("report", "--config", config)

    assert result.exit_code == 0
    assert (
        "✓ Clean: 1,000 records of 1 topic arrived once and unaltered"
        in result.stdout
    )
    assert "nightly-2026-11-21" in result.stdout


def test_findings_give_status_3_and_are_named_by_their_offsets(
    config: str, tmp_path: Path
) -> None:
    write_audit(
        tmp_path / "audit", a_finished(a_result(a_finding(first=42, last=58)))
    )

    result = audit("report", "--config", config, "nightly-2026-11-21")

    assert result.exit_code == 3
    assert "✗ 17 records dropped in events" in result.stdout
    assert "42-58" in result.stdout


def test_the_last_night_is_shown_with_all_of_its_pieces(
    config: str, tmp_path: Path
) -> None:
    """The last piece of a night that was missed is not all of it."""
    found = a_result(a_finding(first=42, last=58))
    clean = replace(
        a_result(at=NIGHT + timedelta(minutes=5)), id=f"{found.id}-2"
    )
    for result in (found, clean):
        write_audit(tmp_path / "audit", a_finished(result))
    page = tmp_path / "report.html"

    both = audit("report", "--config", config, "--html", str(page))
    assert both.exit_code == 3
    assert "17 records dropped in events" in both.stdout
    assert "17 records dropped in events" in page.read_text()
    assert audit("report", "--config", config, clean.id).exit_code == 0


def test_what_could_not_be_verified_gives_status_3_too(
    config: str, tmp_path: Path
) -> None:
    gap = Unverifiable(flow="f", topic="t", partition=1, reason="it expired")
    write_audit(tmp_path / "audit", a_finished(a_result(unverifiable=(gap,))))

    result = audit("report", "--config", config)

    assert result.exit_code == 3
    assert "? No errors found, but t could not be verified" in result.stdout
    assert "it expired" in result.stdout


def test_the_report_is_one_file_of_html(config: str, tmp_path: Path) -> None:
    finished = a_finished(a_result(a_finding()))
    write_audit(tmp_path / "audit", finished)
    file = tmp_path / "report.html"

    result = audit("report", "--config", config, "--html", str(file))

    assert result.exit_code == 3
    page = file.read_text()
    assert page.startswith("<!doctype html>")
    assert "1 record dropped in events" in page


def test_the_history_has_a_line_for_each_run_the_newest_last(
    config: str, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    for days, finding in enumerate([(a_finding(),), (), ()]):
        at = NIGHT - timedelta(days=days)
        write_audit(folder, a_finished(a_result(*finding, at=at)))

    result = audit(
        *("history", "--config", config, "--out", str(folder)), "--last", "2"
    )

    assert result.exit_code == 0
    lines = result.stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [
        "nightly-2026-11-20",
        "nightly-2026-11-21",
    ]
    assert "Clean" in lines[0]
    assert "1 record dropped in events" in lines[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report"], "No nightly run is finished in"),
        (["report", "nightly-2026-11-21"], "no finished run"),
        (["history"], "No run is finished in"),
    ],
)
def test_a_folder_without_runs_gives_status_1_and_says_so(
    config: str, arguments: list[str], said: str
) -> None:
    result = audit(*arguments, "--config", config)

    assert result.exit_code == 1
    assert said in result.stderr


def test_results_of_another_version_are_not_guessed_at(
    config: str, tmp_path: Path
) -> None:
    file = tmp_path / "audit/runs/nightly-2026-11-21/result.json"
    write_file(file, json.dumps({"schema_version": 99, "value": {}}))

    result = audit("report", "--config", config)

    assert result.exit_code == 1
    assert "has version 99" in result.stderr


def test_a_topic_cannot_steer_the_terminal(
    config: str, tmp_path: Path
) -> None:
    finding = a_finding(topic="x\x1b[2J[bold]")
    write_audit(tmp_path / "audit", a_finished(a_result(finding)))

    result = audit("report", "--config", config)

    assert "\x1b[2J" not in result.stdout
    assert "[bold]" in result.stdout


def test_a_sentence_is_one_line_for_the_program_that_reads_it() -> None:
    narrow = Console(file=StringIO(), width=40)
    crossing = Crossing(
        side="source",
        records=1_000_000,
        read_bytes=250_000_000,
        digest_bytes=12_345,
    )

    print_crossing(crossing, narrow)

    assert isinstance(narrow.file, StringIO)
    assert narrow.file.getvalue() == (
        "Digest of the source: 12.3 kB for 1,000,000 records of 250 MB, "
        "0.00494 % of what was read\n"
    )
