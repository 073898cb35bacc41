"""What keeps an agent from running audits is said, never passed over."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import Agent
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.factory import build_agent
from mirrorwatch.state import Database

DATA: dict[str, Any] = {
    "clusters": {
        alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
        for alias in ("summit", "ldf")
    },
    "flows": [{"source": "summit", "target": "ldf"}],
    "web": {"listen": "127.0.0.1:0"},
}


def a_config(folder: Path, **audit: Any) -> Config:
    file = folder / "config.yaml"
    state = {"state": {"path": str(folder / "state.db")}}
    file.write_text(yaml.safe_dump(DATA | state | {"audit": audit}))
    return Config.from_file(file)


@contextmanager
def built(config: Config, **more: Any) -> Iterator[Agent]:
    agent = build_agent(
        config,
        database=Database(None),
        clock=Clock(),
        logger=structlog.get_logger(),
        serve=False,
        **more,
    )
    try:
        yield agent
    finally:
        agent.database.close()


def verdict(config: Config, **more: Any) -> Verdict:
    with built(config, **more) as agent:
        for worker in agent.workers:
            if worker.name == "audit":
                worker.step()
        report = agent.pipeline.tick()
    (found,) = (v for v in report.verdicts if v.check == "audit")
    return found


def test_it_waits_for_the_first_night(tmp_path: Path) -> None:
    found = verdict(a_config(tmp_path))
    assert found.health is Health.UNKNOWN
    assert found.codes == ("audit.no-data",)


def test_without_a_block_audit_there_is_none() -> None:
    config = Config.from_mapping(DATA)
    assert verdict(config).health is Health.OFF
    with built(config) as agent:
        assert "audit" not in {worker.name for worker in agent.workers}


def test_a_configuration_that_is_no_file_cannot_be_audited(
    tmp_path: Path,
) -> None:
    data = DATA | {"audit": {"out": str(tmp_path)}}
    found = verdict(Config.from_mapping(data))
    assert found.health is Health.UNKNOWN
    assert found.code == "audit.unreadable"
    # Where something else runs it, or nobody is to, that is no trouble.
    data["audit"]["start"] = False
    found = verdict(Config.from_mapping(data))
    assert found.codes == ("audit.no-data",)


def test_without_pyspark_no_audit_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = a_config(tmp_path)
    assert verdict(config).codes == ("audit.no-data",)
    # What Python itself takes for "not installed".
    monkeypatch.setitem(sys.modules, "pyspark", None)
    found = verdict(config)
    assert found.health is Health.UNKNOWN
    assert found.code == "audit.unreadable"


def test_a_folder_elsewhere_cannot_be_read(tmp_path: Path) -> None:
    found = verdict(a_config(tmp_path, out="hdfs://nn/audits"))
    assert found.health is Health.UNKNOWN
    assert found.code == "audit.unreadable"


def test_looking_once_starts_no_audit(tmp_path: Path) -> None:
    data = DATA | {"audit": {"out": str(tmp_path)}}
    found = verdict(Config.from_mapping(data), audits=False)
    assert found.codes == ("audit.no-data",)
