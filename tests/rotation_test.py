"""The agent uses other secrets when their files change, under its number."""

import json
import signal
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
import structlog
import trustme
import yaml
from structlog.testing import capture_logs

from mirrorwatch.config import Config
from mirrorwatch.factory import check_agent
from mirrorwatch.rotation import Rotation, SecretFiles
from tests.support.influx import PORTS
from tests.support.run_command import begins, running
from tests.support.tcp import closed_port
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


def test_a_change_counts_when_two_looks_find_it(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a")
    files = SecretFiles([one, other])
    assert files.look() == []
    one.write_text("b")
    assert files.look() == []
    assert files.look() == [one]
    assert files.look() == []
    # Half written at one look, whole at the next.
    other.write_text("x")
    assert files.look() == []
    other.write_text("xy")
    assert files.look() == []
    assert files.look() == [other]


def test_what_is_written_as_it_was_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "one"
    file.write_text("a")
    files = SecretFiles([file])
    file.unlink()
    assert files.look() == []
    file.write_text("a")
    assert [files.look(), files.look(), files.look()] == [[], [], []]
    # A link that leads elsewhere, as Kubernetes replaces a mounted secret.
    (tmp_path / "..new").write_text("b")
    file.unlink()
    file.symlink_to(tmp_path / "..new")
    files.look()
    assert files.look() == [file]


def test_every_file_of_a_secret_or_certificate_is_known(
    tmp_path: Path,
) -> None:
    files = {}
    for name in ("password", "ca", "key", "hook", "token", "sink-ca"):
        files[name] = tmp_path / name
        files[name].write_text("x")
    document = {
        "clusters": {
            "a": {
                "kafka": {
                    "bootstrap.servers": "a:9092",
                    "ssl.ca.location": str(files["ca"]),
                    "ssl.key.location": str(files["key"]),
                    "sasl.password": f"${{file:{files['password']}}}",
                }
            },
            "b": {"kafka": {"bootstrap.servers": "b:9092"}},
        },
        "flows": [{"source": "a", "target": "b"}],
        "sinks": {
            "influxdb": {
                "url": "https://i",
                "org": "o",
                "bucket": "b",
                "token": f"${{file:{files['token']}}}",
                "ca": str(files["sink-ca"]),
            },
            "notify": {
                "receivers": [
                    {
                        "name": "r",
                        "kind": "webhook",
                        "url": f"http://h/${{file:{files['hook']}}}",
                    }
                ]
            },
        },
    }
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(document))
    assert Config.from_file(file).secret_files == frozenset(files.values())


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    secret = tmp_path / "secret"
    secret.write_text("first")
    server = f"127.0.0.1:{closed_port()}"
    kafka = {
        "bootstrap.servers": server,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "mirrorwatch",
        "sasl.password": f"${{file:{secret}}}",
    }
    return {
        "interval": "1s",
        "clusters": {"summit": {"kafka": kafka}, "ldf": {"kafka": kafka}},
        "flows": [{"source": "summit", "target": "ldf"}],
        "web": {"listen": f"127.0.0.1:{PORTS.take()}"},
        "state": {"path": str(tmp_path / "state.db")},
    }


def test_a_running_audit_is_waited_for(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    rotation = Rotation(Config.from_file(file), structlog.get_logger())
    (tmp_path / "secret").write_text("second")
    with capture_logs() as logs:
        looks = [rotation.look(busy=True) for _ in range(4)]
    assert looks == [False] * 4
    assert [line["files"] for line in logs] == [[str(tmp_path / "secret")]]
    # It ended: what was found meanwhile still stands.
    assert rotation.look()


def test_what_became_unusable_while_an_audit_ran_is_not_started(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    rotation = Rotation(Config.from_file(file), structlog.get_logger())
    assert not rotation.look(asked=True, busy=True)
    file.write_text("clusters: {summit: ")  # half of it
    with capture_logs() as logs:
        looks = [rotation.look() for _ in range(3)]
    assert looks == [False] * 3
    assert [line["event"] for line in logs] == [
        "Changed configuration cannot be used, the old one stays"
    ]
    # Who wrote it asks again when it is whole.
    file.write_text(yaml.safe_dump(config))
    assert not rotation.look()
    assert rotation.look(asked=True)


@pytest.mark.parametrize(
    "block",
    [
        {"sinks": {"influxdb": {"url": "https://h", "database": "m"}}},
        {
            "sinks": {
                "notify": {
                    "receivers": [
                        {"name": "r", "kind": "webhook", "url": "https://h"}
                    ]
                }
            }
        },
    ],
    ids=["influxdb", "notify"],
)
def test_a_certificate_that_nobody_can_use_is_not_started_with(
    tmp_path: Path, config: dict[str, Any], block: dict[str, Any]
) -> None:
    ca, file = tmp_path / "ca.pem", tmp_path / "config.yaml"
    trustme.CA().cert_pem.write_to_path(str(ca))
    (sink,) = block["sinks"].values()
    place = sink["receivers"][0] if "receivers" in sink else sink
    place["ca"] = str(ca)
    file.write_text(yaml.safe_dump(config | block))
    logger = structlog.get_logger()
    rotation = Rotation(
        Config.from_file(file),
        logger,
        lambda changed: check_agent(changed, logger),
    )
    whole = ca.read_text()
    ca.write_text(whole[:100])
    with capture_logs() as logs:
        looks = [rotation.look() for _ in range(3)]
    assert looks == [False] * 3
    assert [line["event"] for line in logs] == [
        "Changed configuration cannot be used, the old one stays"
    ]
    ca.write_text(whole + "\n")
    assert [rotation.look() for _ in range(2)] == [False, True]


def test_an_authority_that_became_none_ends_nothing(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    ca = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(ca))
    config["sinks"] = {
        "influxdb": {"url": "https://h", "database": "m", "ca": str(ca)}
    }
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    rotation = Rotation(Config.from_file(file), structlog.get_logger())
    ca.write_text("")
    with capture_logs() as logs:
        assert [rotation.look() for _ in range(4)] == [False] * 4
    (line,) = logs
    assert "sinks.influxdb.ca: cannot be used" in str(line)
    trustme.CA().cert_pem.write_to_path(str(ca))
    assert [rotation.look() for _ in range(2)] == [False, True]


def open_files(process: Popen[bytes]) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def test_it_starts_again_by_itself_and_under_the_same_number(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    log, secret = tmp_path / "log", tmp_path / "secret"

    def told(event: str) -> int:
        lines = map(json.loads, log.read_text().splitlines())
        return sum(line["event"] == event for line in lines)

    with (
        log.open("wb") as file,
        running(tmp_path, config, file.fileno()) as process,
    ):
        begins(process, config)
        secret.write_text("second\x01")
        kept = "Changed configuration cannot be used, the old one stays"
        wait_until(lambda: told(kept) == 1)
        assert told("Starting") == 1
        secret.write_text("third-hunter")
        wait_until(lambda: told("Starting") == 2)
        begins(process, config)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: told("Starting") == 3)
        begins(process, config)
        assert told("Stopped") == 2
        # It opens its connections one by one.
        looks: list[int] = []

        def has_looked() -> bool:
            looks.append(open_files(process))
            return len(looks) > 30

        wait_until(has_looked)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: told("Starting") == 4)
        begins(process, config)
        # Nothing of those before is left open.
        wait_until(
            lambda: open_files(process) <= max(looks) + 5,
            what=lambda: (looks, open_files(process)),
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert "hunter" not in log.read_text()
    assert str(secret) in log.read_text()


@pytest.mark.long
def test_asked_again_while_it_starts_again_it_goes_on(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    log = tmp_path / "log"

    def told(event: str) -> int:
        lines = log.read_text().splitlines()
        return sum(f'"event": "{event}"' in line for line in lines)

    with (
        log.open("wb") as file,
        running(tmp_path, config, file.fileno()) as process,
    ):
        begins(process, config)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: told("Stopping") == 1)

        def asked_until_it_starts() -> bool:
            assert process.poll() is None
            process.send_signal(signal.SIGHUP)
            return told("Starting") == 2

        wait_until(asked_until_it_starts)
        # What was asked meanwhile is not forgotten.
        wait_until(lambda: told("Starting") == 3)
        begins(process, config)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
