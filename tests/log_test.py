"""What the agent writes on stderr."""

import json
import logging
from typing import Any

import pytest
import structlog

from mirrorwatch.log import configure_logging, redact_secrets

SECRET = "s3cret-of-the-test"  # noqa: S105


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    out, err = capsys.readouterr()
    assert not out
    return [json.loads(line) for line in err.splitlines()]


def test_each_event_is_one_json_line_on_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(json=True)
    logger = structlog.get_logger().bind(sink="influxdb")
    logger.info("Sink available again", points=3)
    logger.debug("Too fine")
    (line,) = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "Sink available again",
        "level": "info",
        "sink": "influxdb",
        "points": 3,
    }


def test_libraries_log_the_same_way_from_warning_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging(json=True, level="debug")
    logging.getLogger("apscheduler").warning("Missed %s", "a run")
    logging.getLogger("apscheduler").info("Chatter")
    (line,) = lines(capsys)
    assert (line["event"], line["logger"]) == ("Missed a run", "apscheduler")


def fail_at(url: str) -> None:
    """Have the secret in a local variable and in the message."""
    raise ValueError(f"Cannot read {url}")


@pytest.mark.parametrize("as_json", [True, False])
def test_no_secret_is_written(
    capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    configure_logging(json=as_json)
    logger = structlog.get_logger()
    logger.info("Bound", token=SECRET, kafka={"sasl.password": SECRET})
    logger.info("Deep", clusters=[{"ssl.key.pem": SECRET}], user="efd")
    logger.info("Address", url=f"http://efd:{SECRET}@influxdb:8086/x")
    logging.getLogger("lib").warning("At http://u:%s@host", SECRET)
    try:
        fail_at(f"http://efd:{SECRET}@influxdb")
    except ValueError:
        logger.exception("Bug")
        logging.getLogger("lib").exception("Bug of a library")
    written = capsys.readouterr().err
    assert SECRET not in written
    assert "efd" in written
    assert written.count("Traceback") == 2


@pytest.mark.parametrize(
    "name",
    ["password", "sasl.password", "token", "client_secret", "Authorization",
     "sasl.jaas.config", "ssl.key.pem", "api_key", "credentials"],
)  # fmt: skip
def test_names_that_smell_of_a_secret_hide_their_value(name: str) -> None:
    assert redact_secrets(None, "info", {name: 1}) == {name: "***"}


@pytest.mark.parametrize("name", ["key", "topic", "partition", "error"])
def test_other_names_do_not(name: str) -> None:
    assert redact_secrets(None, "info", {name: "x"}) == {name: "x"}
