"""Configurations that nobody can use end soon, and say what to do."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli import main
from mirrorwatch.config.base import MOST_BYTES
from tests.support.bad_configs import (
    SECRET,
    BadConfig,
    by_hand,
    from_schema,
    put,
    whole,
)

pytestmark = pytest.mark.slow


DEADLINE = 20
"""Seconds of the processor for one configuration: ten times what the slowest
takes on an idle machine. What hangs takes any time."""

REMEDY = re.compile(
    r"must|needs?\b|needed|allowed|required|remove|correct|set |write|choose"
    r"|exclude|here it is|owns this|go together|goes with|drop|one of"
    r"|not YAML|cannot read|aliases count|at most|names must|no value"
    r"|twice|save it|copy it|is not set|unknown kind|leave out"
)
"""What tells how to go on."""


@contextmanager
def deadline() -> Iterator[None]:
    """Fail after `DEADLINE` seconds of computing, or 120 of waiting."""

    def stop(number: int, _: object) -> None:
        raise AssertionError(f"hangs ({signal.Signals(number).name})")

    for number in (signal.SIGVTALRM, signal.SIGALRM):
        signal.signal(number, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
    signal.setitimer(signal.ITIMER_REAL, 120)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def check(path: Path, text: str, *options: str) -> Result:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    arguments = ["check-config", "--config", str(path), *options]
    with deadline():
        return CliRunner(env={"COLUMNS": "300"}).invoke(main, arguments)


def find_fault(path: Path, bad: BadConfig) -> str | None:
    """Return what is wrong with how a configuration is refused."""
    result = check(path, bad.text)
    if not isinstance(result.exception, SystemExit):
        return f"ends with {result.exception!r}"
    if SECRET in result.output:
        return f"shows the secret: {result.output}"
    if result.exit_code != 2:
        return f"exit status {result.exit_code}"
    lines = result.stderr.removeprefix("Error: ").splitlines()
    if not any(bad.key in line for line in lines):
        return f"does not name {bad.key}: {lines}"
    return next(filter(None, (find_gap(path, line) for line in lines)), None)


def find_gap(path: Path, line: str) -> str | None:
    """Return what a line of an error lacks."""
    # A file that is too large is not read, so it has no lines.
    number = "" if "at most 128 KiB" in line else r":\d+"
    if not re.match(f"{re.escape(str(path))}{number}: ", line):
        return f"no file or line: {line}"
    return None if REMEDY.search(line) else f"no remedy: {line}"


def test_no_bad_configuration_hangs_crashes_leaks_or_is_accepted(
    tmp_path: Path,
) -> None:
    corpus = [*from_schema(), *by_hand()]
    assert len(corpus) >= 400
    assert len({bad.name for bad in corpus}) == len(corpus)
    path = tmp_path / "config.yaml"
    faults, slowest = {}, (0.0, "")
    for bad in corpus:
        before = time.process_time()
        fault = find_fault(path, bad)
        slowest = max(slowest, (time.process_time() - before, bad.name))
        if fault is not None:
            faults[bad.name] = fault
    assert not faults, "\n".join(f"{k}: {v}" for k, v in faults.items())
    print(f"{len(corpus)} configurations, the slowest {slowest}")


def test_the_configuration_that_they_are_made_of_is_accepted(
    tmp_path: Path,
) -> None:
    result = check(tmp_path / "config.yaml", yaml.safe_dump(whole()))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "/dev/tty", "inside"])
def test_what_has_no_end_is_not_read(tmp_path: Path, kind: str) -> None:
    path = Path(kind)
    if kind in {"fifo", "inside"}:
        path = tmp_path / "fifo"
        os.mkfifo(path)
    if kind == "inside":
        text = yaml.safe_dump(
            put(whole(), ("sinks", "influxdb", "token"), f"${{file:{path}}}")
        )
        path = tmp_path / "config.yaml"
        path.write_text(text)
    command = [sys.executable, "-m", "mirrorwatch", "check-config"]
    ended = subprocess.run(
        [*command, "--config", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert str(path) in ended.stderr
    assert re.search("regular file|cannot read", ended.stderr)


def test_the_largest_file_is_read_in_time(tmp_path: Path) -> None:
    data = put(whole(), ("flows", 0, "topics", "include"), [])
    topics = data["flows"][0]["topics"]["include"]
    topics += ["mirrorwatch[.]canary"]
    while len(topics) < 2000:
        topics.append(f"y.some.topic.of.a.site.with.a.long.name{len(topics)}")
    text = yaml.safe_dump(data)
    assert len(text) < MOST_BYTES
    assert check(tmp_path / "config.yaml", text).exit_code == 0


OAUTH = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "agent",
    "sasl.oauthbearer.client.secret": SECRET,
}


def test_no_token_is_asked_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        # A client with that mechanism asks within milliseconds.
        server.settimeout(1)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/token"
        properties = OAUTH | {
            "bootstrap.servers": "a:9092",
            "sasl.oauthbearer.token.endpoint.url": url,
        }
        data = put(whole(), ("clusters", "a", "kafka"), properties)
        result = check(tmp_path / "config.yaml", yaml.safe_dump(data))
        assert result.exit_code == 0, result.output
        assert SECRET not in result.output
        with pytest.raises(TimeoutError):
            server.accept()


PREFIX = "sasl.oauthbearer."
URL = {f"{PREFIX}token.endpoint.url": "http://127.0.0.1:1/token"}


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({f"{PREFIX}method": "default"}, "method"),
        ({f"{PREFIX}client.secret": ""}, "client.secret"),
        ({f"{PREFIX}client.id": ""}, "client.id"),
    ],
)
def test_a_login_that_gets_no_token_is_refused(
    tmp_path: Path, changed: dict[str, str], key: str
) -> None:
    properties = OAUTH | URL | {"bootstrap.servers": "a:9092"} | changed
    data = put(whole(), ("clusters", "a", "kafka"), properties)
    result = check(tmp_path / "config.yaml", yaml.safe_dump(data))
    assert result.exit_code == 2
    assert f'["{PREFIX}{key}"]: ' in result.stderr


@pytest.mark.parametrize(
    "properties",
    [
        {f"{PREFIX}metadata.authentication.type": "azure_imds"},
        URL
        | {
            f"{PREFIX}grant.type": "urn:ietf:params:oauth:"
            "grant-type:jwt-bearer"
        },
        URL
        | {
            f"{PREFIX}client.credentials.client.id": "agent",
            f"{PREFIX}client.credentials.client.secret": SECRET,
        },
    ],
)
def test_other_ways_to_a_token_are_taken(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    login = {k: v for k, v in OAUTH.items() if ".client." not in k}
    login |= properties | {"bootstrap.servers": "a:9092"}
    data = put(whole(), ("clusters", "a", "kafka"), login)
    result = check(tmp_path / "config.yaml", yaml.safe_dump(data))
    assert result.exit_code == 0, result.output


def test_what_a_token_needs_is_still_asked_for(tmp_path: Path) -> None:
    properties = OAUTH | {"bootstrap.servers": "a:9092", "linger.ms": "x"}
    data = put(whole(), ("clusters", "a", "kafka"), properties)
    result = check(tmp_path / "config.yaml", yaml.safe_dump(data))
    assert result.exit_code == 2
    assert '["sasl.oauthbearer.token.endpoint.url"]: is miss' in result.stderr
    assert '["linger.ms"]: Invalid value' in result.stderr


@pytest.mark.parametrize(
    ("path", "value", "note"),
    [
        (
            ("clusters", "a", "kafka", "enable.ssl.certificate.verification"),
            False,
            "is off: anyone in between",
        ),
        (
            (
                *("clusters", "a", "kafka"),
                "ssl.endpoint.identification.algorithm",
            ),
            "none",
            "is off: any certificate",
        ),
        (("clusters", "a", "kafka", "sasl.username"), "u", "without SASL"),
        (
            ("clusters", "b", "kafka", "bootstrap.servers"),
            "c:1,A:9092",
            "a bootstrap server of the source",
        ),
        (
            ("clusters", "b", "kafka", "bootstrap.servers"),
            "[::1]:1,d,[::1]",
            "has no port for broker 2, 3 of the list: 9092 is used",
        ),
        (
            ("flows", 0, "topics", "exclude"),
            ["mirrorwatch.*"],
            "canary.topic is none of the flow's topics",
        ),
    ],
)
def test_what_may_be_meant_is_noted(
    tmp_path: Path, path: tuple[str | int, ...], value: object, note: str
) -> None:
    text = yaml.safe_dump(put(whole(), path, value))
    result = check(tmp_path / "config.yaml", text)
    assert result.exit_code == 0, result.output
    assert note in result.output
