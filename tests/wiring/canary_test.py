"""Who works for the canary of a flow."""

import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.factory import build_agent
from mirrorwatch.sources.canary.producer import AckWorker
from mirrorwatch.state import Database


def test_somebody_waits_for_the_acknowledgements_of_each_canary() -> None:
    clusters = {
        alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
        for alias in ("summit", "ldf", "cloud")
    }
    flows = [
        {"source": "summit", "target": "ldf"},
        {"source": "ldf", "target": "cloud", "canary": {"enabled": False}},
    ]
    agent = build_agent(
        Config.from_mapping({"clusters": clusters, "flows": flows}),
        database=Database(None),
        clock=Clock(),
        logger=structlog.get_logger(),
        serve=False,
    )
    waiting = [each for each in agent.workers if isinstance(each, AckWorker)]
    agent.database.close()
    assert [each.name for each in waiting] == [
        "acknowledgements canary summit->ldf"
    ]
