import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from mirrorwatch.domain.audit.plan import Stated, Unverifiable
from mirrorwatch.domain.audit.result import AuditResult, FinishedAudit
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import (
    from_versioned,
    latest_audit,
    local_path,
    read_audit,
    read_audits,
    to_document,
    to_url,
    to_versioned,
    write_file,
)
from mirrorwatch.state.documents import from_json, to_json
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_result,
    write_audit,
    write_report,
)

FULL = a_finished(
    a_result(
        a_finding(),
        a_finding("extra"),
        stated=(
            Stated(
                flow="f", topic="t", partition=1, kind="in_flight", count=3
            ),
        ),
        unverifiable=(
            Unverifiable(flow="f", topic="t", partition=None, reason="gone"),
        ),
    )
)


RESULT = f"runs/{FULL.result.id}/result.json"


def test_an_audit_survives_its_text() -> None:
    text = to_versioned(FULL)
    assert "\n" not in text
    assert from_versioned(FinishedAudit, text, "here") == FULL


def test_an_audit_is_read_back_by_its_name(tmp_path: Path) -> None:
    write_audit(tmp_path, FULL)
    assert read_audit(tmp_path, FULL.result.id) == FULL
    assert latest_audit(tmp_path) == FULL
    assert list(read_audits(tmp_path)) == [FULL]


def test_the_report_of_a_run_lies_beside_it(tmp_path: Path) -> None:
    write_audit(tmp_path, FULL)
    write_report(tmp_path, FULL.result.id, "<!doctype html>")
    report = tmp_path / "runs" / FULL.result.id / "report.html"
    assert report.read_text() == "<!doctype html>"


def test_a_folder_without_audits_has_none(tmp_path: Path) -> None:
    assert latest_audit(tmp_path / "none") is None
    assert read_audit(tmp_path, "nightly-2026-11-21") is None
    assert list(read_audits(tmp_path)) == []


def test_an_older_night_that_is_run_again_is_not_the_latest(
    tmp_path: Path,
) -> None:
    older = a_finished(a_result(at=NIGHT - timedelta(days=1)))
    newer = a_finished(a_result(at=NIGHT))
    again = a_finished(a_result(a_finding(), at=NIGHT))
    write_audit(tmp_path, newer)
    write_audit(tmp_path, older)
    assert latest_audit(tmp_path) == newer
    write_audit(tmp_path, again)
    assert latest_audit(tmp_path) == again


def test_an_ad_hoc_run_is_never_the_latest(tmp_path: Path) -> None:
    write_audit(tmp_path, a_finished(a_result(nightly=False)))
    assert latest_audit(tmp_path) is None


def test_another_version_is_refused_with_a_remedy(tmp_path: Path) -> None:
    write_file(
        tmp_path / RESULT, json.dumps({"schema_version": 99, "value": {}})
    )
    with pytest.raises(AuditError, match="version 99, and this mirrorwatch"):
        latest_audit(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema_version": 4}',
        '{"schema_version": 4, "value": {}}',
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    write_file(tmp_path / RESULT, text)
    with pytest.raises(AuditError, match=r"result\.json is not what an audit"):
        latest_audit(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(AuditError, match="Cannot write"):
        write_audit(tmp_path, FULL)


@pytest.mark.parametrize("name", ["a", "a b", "a%20b", "a#b?c"])
def test_a_folder_of_this_machine_is_the_same_as_a_path_and_as_a_url(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    for written in (
        str(folder),
        folder.as_uri(),
        f"file:{quote(str(folder))}/",
    ):
        assert local_path(written) == folder
        # Hadoop decodes nothing.
        assert to_url(written) == f"file://{tmp_path}/{name}"


def test_a_relative_path_is_taken_from_where_one_stands() -> None:
    assert local_path("audit") == Path.cwd() / "audit"


@pytest.mark.parametrize("url", ["hdfs://name/a", "s3a://bucket/a"])
def test_a_url_stays_what_it_is_and_is_elsewhere(url: str) -> None:
    assert to_url(url) == url
    assert local_path(url) is None


def test_a_file_url_may_have_one_slash(tmp_path: Path) -> None:
    assert local_path(f"file:{tmp_path}") == tmp_path


def test_the_document_has_these_keys_for_other_programs() -> None:
    gap = Unverifiable(flow="f", topic="t", partition=None, reason="gone")
    untimed = replace(a_finding("extra"), start=None, end=None)
    result = a_result(a_finding(), untimed, unverifiable=(gap,))
    document = json.loads(to_document(result))
    assert (document["from"], document["to"], document["clean"]) == (
        "2026-11-20T02:00:00+00:00",
        "2026-11-21T02:00:00+00:00",
        False,
    )
    (topic,) = document["topics"]
    assert (
        topic.items()
        >= {
            "flow": "summit->ldf",
            "topic": "events",
            "source_count": 1000,
            "target_count": 1000,
        }.items()
    )
    finding, other = document["findings"]
    assert finding == {
        "flow": "summit->ldf",
        "topic": "events",
        "partition": 0,
        "kind": "dropped",
        "count": 1,
        "source_offsets": [[42, 42]],
        "target_offsets": [],
        "from": "2026-11-20T23:00:00+00:00",
        "to": "2026-11-20T23:00:02+00:00",
    }
    assert (other["from"], other["to"]) == (None, None)
    assert document["unverifiable"] == [
        {
            "flow": "f",
            "topic": "t",
            "partition": None,
            "reason": "gone",
            "records": None,
        }
    ]
    assert from_json(AuditResult, to_json(result)) == result
