"""A password that is rotated under a running agent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mirrorwatch_lab import Lab
from tests.support.http import HTTP
from tests.support.influx import PORTS
from tests.support.rights import RIGHTS, expect
from tests.support.run_command import PATIENCE, begins, running
from tests.support.secured import secrets, secured
from tests.support.series import prometheus_series
from tests.support.watch import describe, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(secured()) as lab:
        for side, place in (("source", lab.source), ("target", lab.target)):
            place.grants.grant([r for r in RIGHTS if r.side == side])
        for right in RIGHTS:
            expect(lab, right, None)
        yield lab


def total(config: dict[str, Any], name: str) -> float:
    """Return a counter of the canary, of all its partitions."""
    url = f"http://{config['web']['listen']}/metrics"
    try:
        text = HTTP.get(url, timeout=PATIENCE).text
    except httpx.TransportError:
        return 0.0  # it is starting
    wanted = f"mirrorwatch_canary_{name}_total"
    series = prometheus_series(text)
    return sum(value for (n, _), value in series.items() if n == wanted)


def test_probes_go_on_with_the_new_password_and_none_is_lost(
    lab: Lab, tmp_path: Path
) -> None:
    config = describe(lab)
    security = lab.source.security
    assert security is not None
    kafka = config["clusters"]["summit"]["kafka"]
    kafka["sasl.password"] = f"${{file:{security.password_file()}}}"
    config |= {
        "interval": "1s",
        "state": {"path": str(tmp_path / "state.db")},
        "web": {"listen": f"127.0.0.1:{PORTS.take()}"},
    }
    log, old = tmp_path / "log", secrets(lab)

    def lines(event: str) -> list[dict[str, Any]]:
        found = map(json.loads, log.read_text().splitlines())
        return [line for line in found if line["event"] == event]

    with (
        log.open("wb") as file,
        running(tmp_path, config, file.fileno()) as process,
    ):
        begins(process, config)
        wait_until(lambda: total(config, "delivered") > 10)
        security.change_password(lab.source.topics.admin)
        before = total(config, "delivered")
        wait_until(lambda: len(lines("Starting")) == 2)
        begins(process, config)
        wait_until(lambda: total(config, "delivered") > before + 20)
        lost = total(config, "lost")
    assert lost == 0
    bad = [
        line
        for line in lines("Verdict changed")
        if line["health"] in {"warning", "critical"}
    ]
    assert bad == []
    said = log.read_text()
    assert not any(secret in said for secret in (*old, *secrets(lab)))
