"""`mirrorwatch ack`, beside an agent."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from mirrorwatch.cli.root import main
from mirrorwatch.domain.finding import Health
from mirrorwatch.domain.skips import texts as skips
from mirrorwatch.state import Database
from mirrorwatch.state.events import EventStore
from tests.support.builders import NOON, a_cause, a_verdict


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """State of an agent that saw a loss (1 or 2) during an outage."""
    path = tmp_path / "state.db"
    database = Database(path)
    store = EventStore(database, {})
    lost = skips.DROPPED.found(
        Health.CRITICAL, {"topic": "a"}, records=7, ranges="0: 3"
    )
    verdict = replace(
        a_verdict(Health.CRITICAL, check="skips"), findings=(lost,)
    )
    store.take([verdict], [a_cause()], NOON)
    store.save(NOON)
    database.close()
    return path


@pytest.mark.parametrize(
    ("ids", "exit_code", "said"),
    [
        (["2"], 0, "Acknowledged 2"),
        (["1"], 1, "not over"),
        (["3"], 1, "no event 3"),
        ([], 2, "ID"),
        (["x"], 2, "x"),
    ],
)
def test_losses_are_acknowledged_by_number(
    state: Path, tmp_path: Path, ids: list[str], exit_code: int, said: str
) -> None:
    file = tmp_path / "config.yaml"
    kafka = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    config = {
        "clusters": {"summit": kafka, "ldf": kafka},
        "flows": [{"source": "summit", "target": "ldf"}],
        "state": {"path": str(state)},
    }
    file.write_text(yaml.safe_dump(config))
    found = CliRunner().invoke(main, ["ack", *ids, "--config", str(file)])
    assert found.exit_code == exit_code, found.output
    assert said in found.output
    database = Database(state)
    known = EventStore(database, {}).acknowledged
    database.close()
    assert known.keys() == ({2} if exit_code == 0 else set())
