"""Results that audits elsewhere post to the agent."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from mirrorwatch.config.audit import AuditPost
from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audits import (
    latest_audit,
    read_audit,
    read_audits,
    to_versioned,
)
from mirrorwatch.web.audits import MOST_BYTES, AuditInbox
from mirrorwatch.web.login import Credentials
from mirrorwatch.web.server import Server
from mirrorwatch_audit import post
from mirrorwatch_audit.post import post_result
from tests.support.audit import (
    NIGHT,
    a_finding,
    a_finished,
    a_result,
    write_audit,
    write_report,
)
from tests.support.http import HTTP
from tests.support.stage import Stage, serve_stage

TOKEN = "of-the-audit-0123456789"  # noqa: S105
DAY = timedelta(days=1)
FOUND = a_finished(a_result(a_finding()))
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Return a server with a login, which audits do not need."""
    inbox = AuditInbox(tmp_path, TOKEN, 30 * DAY)
    login = Credentials({}, {"page": "5f0c0ffee5f0c0ff" * 4})
    with serve_stage(Stage(inbox=inbox, credentials=login)) as server:
        yield server


def send(
    server: Server,
    content: str = to_versioned(FOUND),
    headers: dict[str, str] = BEARER,
) -> httpx.Response:
    address = f"{server.url}/api/audit/results"
    return HTTP.post(address, content=content, headers=headers, timeout=60)


def test_a_result_is_kept_once_however_often_it_is_posted(
    server: Server, tmp_path: Path
) -> None:
    first = send(server)
    (file,) = tmp_path.glob("runs/*/result.json")
    os.utime(file, (1e9, 1e9))
    again = send(server)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == {"run": FOUND.result.id}
    assert [*read_audits(tmp_path)] == [FOUND]
    assert file.stat().st_mtime == 1e9
    # A night that is compared again has another result.
    clean = a_finished(a_result())
    assert send(server, to_versioned(clean)).status_code == 200
    assert latest_audit(tmp_path) == clean


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (to_versioned(FOUND), {}, 401),
        (to_versioned(FOUND), {"Authorization": f"Basic {TOKEN}"}, 401),
        (to_versioned(FOUND), {"Authorization": f"Bearer {TOKEN}x"}, 401),
        ("x" * (MOST_BYTES + 1), BEARER, 413),
        ("{", BEARER, 400),
        ('{"schema_version": 99, "value": {}}', BEARER, 400),
        (
            to_versioned(
                replace(FOUND, result=replace(FOUND.result, id="../x"))
            ),
            BEARER,
            400,
        ),
    ],
)
def test_all_else_is_refused(
    server: Server,
    tmp_path: Path,
    content: str,
    headers: dict[str, str],
    status: int,
) -> None:
    assert send(server, content, headers).status_code == status
    assert not [*tmp_path.iterdir()]


def test_an_agent_without_a_token_takes_none(tmp_path: Path) -> None:
    for inbox in (None, AuditInbox(tmp_path), AuditInbox(None, TOKEN)):
        with serve_stage(Stage(inbox=inbox)) as server:
            assert send(server).status_code == 404
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    inbox = AuditInbox(tmp_path, TOKEN)
    with serve_stage(Stage(inbox=inbox)) as server:
        assert send(server).status_code == 503


def test_old_results_go_and_runs_of_audits_here_stay(
    server: Server, tmp_path: Path
) -> None:
    posted, own, recent = (
        a_finished(a_result(at=NIGHT - n * DAY)) for n in (3, 2, 1)
    )
    for audit in (posted, own, recent):
        write_audit(tmp_path, audit)
    write_report(tmp_path, own.result.id, "<!doctype html>")
    for audit in (posted, own):
        file = tmp_path / "runs" / audit.result.id / "result.json"
        os.utime(file, (1e9, 1e9))
    assert send(server).status_code == 200
    assert read_audit(tmp_path, posted.result.id) is None
    assert len([*read_audits(tmp_path)]) == 3


def test_an_audit_posts_its_result_and_tries_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post, "PAUSES", (0.0, 0.0))
    to = AuditPost(url=f"{server.url}/", token=SecretStr(TOKEN))
    post_result(FOUND, to)
    assert latest_audit(tmp_path) == FOUND
    wrong = AuditPost(url=server.url, token=SecretStr(TOKEN + "x"))
    with pytest.raises(AuditError, match="HTTP 401"):
        post_result(FOUND, wrong)
    nobody = AuditPost(url="http://127.0.0.1:1", token=SecretStr(TOKEN))
    with pytest.raises(AuditError, match="did not take nightly-2026-11-21"):
        post_result(FOUND, nobody)
