"""A site with one of everything, in a browser: it is told as one."""

from dataclasses import replace

import pytest
from selenium.webdriver import Chrome

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.flow_result import TopicTally
from mirrorwatch.domain.lag.model import LagStatus
from mirrorwatch.ports import AgentState
from tests.support.audit_report import a_night, an_audit
from tests.support.builders import FLOW, a_canary, a_partition, a_report
from tests.support.page import complaints, text, wait_for
from tests.support.page_facts import all_topics, tasks_in
from tests.support.parity_report import some_configs
from tests.support.stage import Stage, serve_stage
from tests.support.topics_report import a_lag, a_topic

pytestmark = pytest.mark.browser

ONE = AgentState(spooled_points={"influxdb": 1}, lost_points={"influxdb": 1})


def test_one_of_everything_is_told_in_the_singular(browser: Chrome) -> None:
    at = utc_now()
    topic = a_topic("t", records=1, seconds=90, status=LagStatus.STALLED)
    configs = some_configs(at)
    night = a_night(
        at,
        topics=(TopicTally(topic="t", source_records=1, target_records=1),),
    )
    stage = Stage()
    stage.tick(
        a_report(
            at,
            flows=[FLOW],
            observations=[
                a_canary(at, partitions=[a_partition(last_arrival=at)]),
                replace(a_lag([topic], at), unknown_partitions=1),
                replace(all_topics(at), carried=1),
                replace(configs, compared=1, drifts=configs.drifts[:1]),
                replace(
                    tasks_in(at, ["RUNNING"]), unassigned=frozenset({("t", 0)})
                ),
                replace(an_audit(at), night=night),
            ],
            agent=ONE,
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(
            browser,
            ".lead-topics",
            "1 of 1 topic behind, the oldest record waits 1 min 30 s (t) · "
            "1 partition not known",
        )
        for name, told in (
            ("tasks", "1 partition given to no task"),
            ("parity", "1 topic · all there, divided alike · "),
            ("parity", "1 setting differs"),
            ("audit", "1 record compared up to"),
        ):
            wait_for(browser, f".part[data-part='{name}']", told)
        assert text(browser, ".topics-more") == "Show the topic"
        fold = text(browser, ".partitions-fold > summary")
        assert fold.startswith("Canary on 1 partition of ")
        state = text(browser, "#agent-state")
        assert "1 point waits to be written · 1 point lost" in state
        assert complaints(browser) == []
