import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import bcrypt
import pytest
import trustme
from click.testing import CliRunner, Result

from mirrorwatch.cli.root import main
from mirrorwatch.domain.canary.model import CanaryCounts
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.recovery import RecoveryPoint
from mirrorwatch.domain.losses import texts
from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.report import Health
from mirrorwatch.web.login import Credentials
from mirrorwatch.web.server import Server
from mirrorwatch.web.tls import ServerTLS
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_cause,
    a_partition,
    a_report,
    a_verdict,
    a_window,
    an_arrival,
    some_losses,
)
from tests.support.stage import SetClock, SharedServer, Stage, serve_stage

MS = timedelta(milliseconds=1)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOON)


@pytest.fixture
def stage(clock: SetClock) -> Stage:
    return Stage(clock=clock)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[SharedServer]:
    with SharedServer() as server:
        yield server


@pytest.fixture
def server(stage: Stage, shared_server: SharedServer) -> Server:
    return shared_server.serve(stage)


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(
        main,
        ["status", *arguments],
        env={"MIRRORWATCH_CONFIG": None, "COLUMNS": "100", **environment},
    )


def test_a_healthy_agent_gives_status_0_and_its_figures(
    stage: Stage, server: Server
) -> None:
    canary = a_canary(
        partitions=[
            a_partition(counts=CanaryCounts(delivered=2), outstanding=3),
            a_partition(1, counts=CanaryCounts(late=4, duplicates=5)),
        ],
        arrivals=[an_arrival(NOON, 20 * MS), an_arrival(NOON, 1500 * MS)],
    )
    since = NOON - timedelta(minutes=90)
    stage.tick(
        a_report(observations=[canary], verdicts=[a_verdict(since=since)])
    )

    result = run("--url", server.url)

    assert result.exit_code == 0
    # Not its two ends as well, which its name tells.
    assert "✓ ok  summit->ldf\n" in result.stdout
    assert "median 20 ms, p99 1.5 s, worst 1.5 s" in result.stdout
    assert "3 in flight, 0 lost, 4 late, 5 duplicates" in result.stdout
    assert "Every probe arrives" in result.stdout
    assert "1.5 h" in result.stdout


def test_maintenance_is_shown_with_its_reason(
    stage: Stage, server: Server
) -> None:
    window = a_window(NOON - timedelta(hours=1), reason="MM2\x1b[2J to 4.3")
    stage.tick(a_report(maintenance=[window]))

    result = run("--url", server.url)

    assert result.exit_code == 0
    assert (
        "in maintenance for 1 h more: MM2\N{REPLACEMENT CHARACTER}[2J to"
        in (result.stdout)
    )


def test_the_cause_comes_before_the_checks(
    stage: Stage, server: Server
) -> None:
    stage.tick(
        a_report(
            verdicts=[a_verdict(Health.CRITICAL, reason="Probes are overdue")],
            causes=[a_cause(reason="No way\x1b to summit")],
        )
    )
    result = run("--url", server.url)
    _, _, rest = result.stdout.partition(
        "cause: link. No way\N{REPLACEMENT CHARACTER} to summit\n"
    )
    assert "Probes are overdue" in rest


def test_lost_records_come_before_everything_else(
    stage: Stage, server: Server
) -> None:
    recovery = RecoveryPoint(at=NOON, records=2, complete_until=NOON)
    failover = FailoverObservation(flow=FLOW.name, at=NOON, recovery=recovery)
    lost = some_losses(NOON)
    stage.tick(
        a_report(
            observations=[failover],
            causes=[a_cause()],
            losses=[lost],
            unacknowledged={FLOW.name: [13, 12]},
        )
    )
    before, _, rest = run("--url", server.url).stdout.partition("cause: ")
    words = " ".join(before.split())
    assert f"{texts.title(lost.day)}: {texts.describe(lost)}" in words
    assert f"known: {texts.acknowledge([12, 13])}" in words
    assert f", {texts.exception(lost.total)}" in rest
    described = texts.describe(lost)
    none = LostRecords()
    lost = replace(lost, hour=none, day=none, topics=())
    stage.tick(a_report(observations=[failover], losses=[lost]))
    rest = run("--url", server.url).stdout
    assert described
    assert "known: " not in rest
    assert described not in " ".join(rest.split())
    assert f", {texts.exception(lost.total)}" in rest


@pytest.mark.parametrize(
    "health", [Health.CRITICAL, Health.WARNING, Health.UNKNOWN, Health.OFF]
)
def test_anything_but_ok_gives_status_3(
    stage: Stage, server: Server, health: Health
) -> None:
    stage.tick(
        a_report(verdicts=[a_verdict(health, reason="The mirror stopped")])
    )

    result = run("--url", server.url)

    assert result.exit_code == 3
    assert health.label in result.stdout
    assert "The mirror stopped" in result.stdout


def test_an_old_report_gives_status_3_and_is_said_to_be_old(
    stage: Stage, server: Server, clock: SetClock
) -> None:
    stage.tick(a_report())
    clock.now = NOON + timedelta(seconds=45)

    result = run("--url", server.url)

    assert result.exit_code == 3
    assert "The last report is 45 s old" in result.stdout


def test_a_reason_cannot_steer_the_terminal(
    stage: Stage, server: Server
) -> None:
    reason = "topic \x1b[2J[bold]gone[/bold]"
    stage.tick(a_report(verdicts=[a_verdict(reason=reason)]))

    result = run("--url", server.url)

    assert "\x1b[2J" not in result.stdout
    assert "[bold]gone[/bold]" in result.stdout


def test_a_password_in_the_address_is_not_shown(stage: Stage) -> None:
    with serve_stage(stage) as server:
        port = server.port

    result = run("--url", f"http://me:hunter2@127.0.0.1:{port}")

    assert result.exit_code == 1
    assert "hunter2" not in result.output


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host", "http://"])
def test_an_address_that_is_none_gives_status_2(url: str) -> None:
    result = run("--url", url)

    assert result.exit_code == 2
    assert "--url" in result.stderr


def configured(folder: Path, listen: str) -> str:
    path = folder / "mirrorwatch.yaml"
    path.write_text(f"""
clusters:
  summit: {{kafka: {{bootstrap.servers: "127.0.0.1:1"}}}}
  ldf: {{kafka: {{bootstrap.servers: "127.0.0.1:2"}}}}
flows:
  - source: summit
    target: ldf
    topics: {{include: ["a"]}}
    mirror: {{kind: mirrormaker2}}
web: {{listen: "{listen}"}}
""")
    return str(path)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_the_address_comes_from_the_configuration(
    tmp_path: Path, stage: Stage, server: Server, host: str
) -> None:
    stage.tick(a_report())
    file = configured(tmp_path, f"{host}:{server.port}")

    assert run("--config", file).exit_code == 0
    assert run(MIRRORWATCH_CONFIG=file).exit_code == 0


def test_a_port_that_the_agent_chooses_must_be_given(tmp_path: Path) -> None:
    result = run("--config", configured(tmp_path, "127.0.0.1:0"))

    assert result.exit_code == 1
    assert "--url" in result.stderr


@pytest.fixture
def guarded(stage: Stage, tmp_path: Path) -> Iterator[Server]:
    """Serve by HTTPS, for a user with a password and for a token."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    issued = authority.issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(
        str(tmp_path / "tls.pem")
    )
    (tmp_path / "password").write_text("hunter2 hunter2\n")
    (tmp_path / "wrong").write_text("hunter3\n")
    (tmp_path / "token").write_text("hunter4")
    pem = tmp_path / "tls.pem"
    stage.tls = ServerTLS(pem, pem)
    password = bcrypt.hashpw(b"hunter2 hunter2", bcrypt.gensalt(4)).decode()
    stage.credentials = Credentials(
        {"operator": password},
        {"one": hashlib.sha256(b"hunter4").hexdigest()},
    )
    stage.tick(a_report())
    with serve_stage(stage) as server:
        yield server


def test_an_agent_with_login_and_tls_is_asked(
    guarded: Server, tmp_path: Path
) -> None:
    asked = "--url", guarded.url, "--cacert", str(tmp_path / "ca.crt")
    user = "--user", "operator", "--password-file"

    known = run(*asked, *user, str(tmp_path / "password"))
    token = run(*asked, "--token-file", str(tmp_path / "token"))
    assert "summit->ldf" in known.output
    assert known.output == token.output

    for refused in (run(*asked), run(*asked, *user, str(tmp_path / "wrong"))):
        assert refused.exit_code == 1
        assert "asks for a login" in refused.stderr
        assert "hunter" not in refused.output + refused.stderr


def test_an_agent_of_an_unknown_ca_is_not_believed(guarded: Server) -> None:
    result = run("--url", guarded.url)

    assert result.exit_code == 1
    assert "CERTIFICATE_VERIFY_FAILED" in result.stderr
    assert "--cacert" in result.stderr


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--user", "x"], "need each other"),
        (["--password-file", "x"], "need each other"),
        (
            ["--user", "x", "--password-file", "x", "--token-file", "x"],
            "not both",
        ),
        (["--token-file", "no-such-file"], "No such file"),
        (["--cacert", "no-such-file"], "no PEM file"),
    ],
)
def test_half_a_login_is_refused(options: list[str], error: str) -> None:
    result = run("--url", "http://127.0.0.1:1", *options)

    assert result.exit_code == 2
    assert error in " ".join(result.stderr.split())
